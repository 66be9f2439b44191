"""Probabilistic latent semantic indexing (PLSI) by tempered EM.

With documents d as rows of X and terms w as columns (x_dw counts, or any non-negative weights),
PLSI models P(w|d) = Σ_z P(z|d) P(w|z) and maximises

    L = Σ_dw x_dw log Σ_z P(z|d) P(w|z).

Tempered EM weakens the E-step against overfitting: P(z|d,w) ∝ P(z) [P(d|z) P(w|z)]^β with β ≤ 1.

T. Hofmann: Probabilistic latent semantic indexing, SIGIR 1999.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from lpisearch.methods.base import FactorShares, NotConverged, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import product
from lpisearch.numeric.threads import map_threads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats


# Steps of EM of each start before the best one continues; gains are averaged over PATIENCE steps.
RACE_STEPS = 20
PATIENCE = 5


@dataclass(eq=False, repr=False)
class PLSI(FactorShares):
    """Probabilistic latent semantic indexing by (tempered) EM.

    Documents are rows here; they are compared by the cosine of their shares P(z|d).

    Parameters
    ----------
    n_components
        Number of factors z.
    beta
        Exponent of the E-step, above 0 and at most 1. At 1, the default, this is plain EM. "auto"
        is Hofmann's schedule: a share of the entries is held out; whenever their perplexity
        stops falling, β is multiplied by `cooling`; when a lower β does not help any more, EM
        continues with all entries at the best β.
    held_out, cooling
        The held-out share, and the factor of β, if β is "auto".
    n_init
        Number of starts. Each takes some steps, and the one with the largest L continues; if β is
        "auto", all run to the end, and the least held-out perplexity decides. From a single start
        the clusters of a few hundred documents were 60 to 100 % right; L tells which.
    max_iter
        Limit of EM steps.
    tolerance
        Converged when the last steps gained less than this, on average, in L / Σ x, the
        logarithm of the perplexity.
    random_state
        Seed of the starts, which have equal shares and random terms.

    Attributes
    ----------
    embedding_
        P(z|d), documents x n_components_.
    factors_
        P(w|z), n_components_ x n_terms.
    prior_
        P(z).
    beta_
        The exponent used.
    held_out_perplexity_
        Perplexity of the held-out entries at the end of the schedule, if β is "auto".
    log_likelihoods_
        The objective before each step of EM on all entries, and at the end; L if β is 1.
    n_iter_
        Number of EM steps on all entries.
    clusters_
        The most probable factor of each fitted document.

    Notes
    -----
    New documents, and the fitted ones at the end, are folded in: EM on P(z|d) alone, at the same
    β, so `transform` returns `embedding_` for the fitted documents. A term that no fitted document
    contains has no effect. Very few, short documents have no entries to hold out; "auto" is
    then 1.

    References
    ----------
    T. Hofmann: Probabilistic latent semantic indexing, SIGIR 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.plsi import PLSI
    >>> X = np.array([[3.0, 2, 0, 0], [2, 3, 0, 0], [0, 0, 1, 4]])
    >>> plsi = PLSI(n_components=2).fit(X)
    >>> bool(plsi.clusters_[0] == plsi.clusters_[1] != plsi.clusters_[2])
    True
    """

    about = CATALOGUE["plsi"]
    placement = "plsi"

    n_components: int = DIMENSIONS
    _: KW_ONLY
    beta: float | str = 1.0
    held_out: float = 0.1
    cooling: float = 0.9
    n_init: int = 5
    max_iter: int = 500
    tolerance: float = 1e-5
    random_state: Any = 0

    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return P(w|z)^β, P(z)^(1 - β) and β."""
        terms = np.ascontiguousarray(self.factors_.T)
        return {
            "terms": terms if self.beta_ == 1 else terms**self.beta_,
            "prior": self.prior_ ** (1 - self.beta_),
            "beta": np.array([self.beta_]),
        }

    def _learn(self, X: sparse.csr_array, n_factors: int) -> None:
        rng = generator(self.random_state)
        seen = Observed.of(X)
        starts = (random_factors(X, n_factors, rng) for _ in range(self.n_init))
        if self.beta == "auto":
            training, test = map(Observed.of, split(X, self.held_out, rng))
            cooled = [self._cooled(training, test, start) for start in starts]
            best = min(cooled, key=lambda result: result.log_perplexity)
            self.beta_ = best.beta
            self.held_out_perplexity_ = float(np.exp(best.log_perplexity))
            run = self._run(seen, best.factors)
        else:
            self.beta_ = float(self.beta)
            run = self._raced(seen, starts)
        self.factors_ = np.ascontiguousarray(run.factors.terms.T)
        self.prior_ = run.factors.prior
        self.log_likelihoods_ = np.array(run.objectives)
        self.n_iter_ = len(run.objectives) - 1
        self.n_components_ = n_factors
        if not run.gain <= self.tolerance:
            warnings.warn(
                NotConverged("EM of PLSI", self.n_iter_, run.gain, self.tolerance), stacklevel=4
            )

    def _raced(self, seen: Observed, starts: Iterable[Factors]) -> _Run:
        """Run each start for some steps, and the best one to the end."""
        if self.n_init == 1:
            return self._run(seen, next(iter(starts)))
        races = (self._run(seen, start, min(RACE_STEPS, self.max_iter)) for start in starts)
        best = max(races, key=lambda run: run.objectives[-1])
        rest = self._run(seen, best.factors, self.max_iter - len(best.objectives) + 1)
        return rest._replace(objectives=[*best.objectives[:-1], *rest.objectives])

    def _run(self, seen: Observed, factors: Factors, steps: int | None = None) -> _Run:
        """Run EM at one β until the mean gain of the last few steps is small.

        A single gain can be small on a plateau.
        """
        total, limit = seen.total, self.max_iter if steps is None else steps
        improved, objective = em_step(seen, factors, self.beta_)
        objectives, gain = [objective], np.inf
        while gain > self.tolerance and len(objectives) <= limit:
            factors = improved
            improved, objective = em_step(seen, factors, self.beta_)
            objectives.append(objective)
            before = objectives[max(0, len(objectives) - 1 - PATIENCE)]
            gain = (objective - before) / total / min(PATIENCE, len(objectives) - 1)
        return _Run(factors, objectives, gain)

    def _cooled(self, training: Observed, test: Observed, factors: Factors) -> _Cooled:
        """Lower β each time the held-out perplexity stops falling; return the best result."""
        best = _Cooled(factors, 1.0, log_perplexity(test, factors))
        beta, helped = 1.0, True
        for _ in range(self.max_iter):
            factors, _ = em_step(training, factors, beta)
            current = _Cooled(factors, beta, log_perplexity(test, factors))
            if current.log_perplexity < best.log_perplexity:
                best, helped = current, True
            elif helped:
                beta, helped, factors = beta * self.cooling, False, best.factors
            else:
                break
        return best

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("held_out", "cooling"):
            _check_share(name, getattr(self, name))
        if not (isinstance(self.beta, str) and self.beta == "auto"):
            _check_share("beta", self.beta, whole=True)


class _Run(NamedTuple):
    """Factors, the objectives of all steps, and the gain of the last ones."""

    factors: Factors
    objectives: list[float]
    gain: float


class _Cooled(NamedTuple):
    """Factors, their β, and their held-out perplexity."""

    factors: Factors
    beta: float
    log_perplexity: float


def _check_share(name: str, value: Any, *, whole: bool = False) -> None:
    """Refuse what is not between 0 and 1; 1 itself is allowed if `whole`."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not (0 < value < 1 or (whole and value == 1)):
        limits = 'above 0 and at most 1, or "auto"' if whole else "between 0 and 1"
        raise ValueError(f"{name} must be {limits}, not {value}.")


# Size of a block of entries x factors that fits into the cache: several times faster.
BLOCK = 1_000_000


class Factors(NamedTuple):
    """P(z|d), documents x factors; P(w|z), terms x factors; and P(z)."""

    shares: Floats
    terms: Floats
    prior: Floats

    def tempered(self, beta: float) -> tuple[Floats, Floats]:
        """Return A = P(z)^(1 - β) P(z|d)^β and B = P(w|z)^β."""
        if beta == 1:
            return self.shares, self.terms
        return self.shares**beta * self.prior ** (1 - beta), self.terms**beta


class Observed(NamedTuple):
    """Documents as rows of X, and the row of each entry."""

    X: sparse.csr_array
    rows: NDArray[np.integer]

    @classmethod
    def of(cls, X: sparse.csr_array) -> Observed:
        """Take the documents."""
        return cls(X, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)))

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.X.data.sum(dtype=np.float64))


def random_factors(X: sparse.csr_array, n_factors: int, rng: np.random.Generator) -> Factors:
    """Start from equal shares and random terms, independent of the order of the documents."""
    shares = np.full((X.shape[0], n_factors), 1 / n_factors, dtype=X.dtype)
    terms = rng.random((X.shape[1], n_factors)).astype(X.dtype)
    return Factors(shares, _divided(terms, terms.sum(axis=0)), shares[0])


def em_step(seen: Observed, factors: Factors, beta: float) -> tuple[Factors, float]:
    """Return improved factors, and the objective Σ x log Σ_z A_dz B_wz of the given ones.

    At β = 1 that is the log-likelihood of the terms, given the documents. It never falls. The
    E-step P(z|d,w) = A_dz B_wz / Σ_z A_dz B_wz is never stored: with S = x / Σ_z A_dz B_wz, the
    sums of x P(z|d,w) in the M-step are A ∘ (S B) and B ∘ (Sᵀ A).
    """
    A, B = factors.tempered(beta)
    densities = mixtures(seen, A, B)
    S = sparse.csr_array(
        (_divided(seen.X.data, densities), seen.X.indices, seen.X.indptr), shape=seen.X.shape
    )
    by_document = A * product(S, B)
    by_term = B * np.asarray(S.T @ A)
    by_factor = by_document.sum(axis=0)
    improved = Factors(
        _without_dust(_divided(by_document, by_document.sum(axis=1, keepdims=True))),
        _without_dust(_divided(by_term, by_term.sum(axis=0))),
        by_factor / by_factor.sum(),
    )
    return improved, log_likelihood(seen, densities)


def mixtures(seen: Observed, A: Floats, B: Floats) -> Floats:
    """Return Σ_z A_dz B_wz for each entry (d, w), some entries at a time."""
    size = max(1, BLOCK // A.shape[1])
    out = np.empty(len(seen.rows), dtype=A.dtype)

    def part(start: int) -> None:
        some = slice(start, start + size)
        # The indices are valid. Checking them, the default, takes half of the time.
        left = A.take(seen.rows[some], axis=0, mode="clip")
        right = B.take(seen.X.indices[some], axis=0, mode="clip")
        np.einsum("ij,ij->i", left, right, out=out[some])

    map_threads(part, range(0, len(out), size))
    return out


def log_likelihood(seen: Observed, densities: Floats) -> float:
    """Return Σ x log p; minus infinity if an entry has the probability 0."""
    if not densities.all():
        return -np.inf
    return float(np.dot(seen.X.data.astype(np.float64), np.log(densities, dtype=np.float64)))


def log_perplexity(seen: Observed, factors: Factors) -> float:
    """Return -Σ x log P(w|d) / Σ x; 0 without entries."""
    if not seen.X.nnz:
        return 0.0
    densities = mixtures(seen, factors.shares, factors.terms)
    return -log_likelihood(seen, densities) / seen.total


def split(
    X: sparse.csr_array, share: float, rng: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split the entries at random into training entries and a held-out share.

    Weights need not be counts, so whole entries are held out. The first entry of each document and
    of each term stays in training: otherwise nothing would be learned about it.
    """
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = rng.permutation(X.nnz)
    first = np.zeros(X.nnz, dtype=bool)
    for numbers in (rows, X.indices):
        first[order[np.unique(numbers[order], return_index=True)[1]]] = True
    held = (rng.random(X.nnz) < share) & ~first
    return _chosen(X, rows, ~held), _chosen(X, rows, held)


def _chosen(X: sparse.csr_array, rows: NDArray[np.integer], chosen: NDArray[np.bool_]) -> Any:
    entries = (X.data[chosen], (rows[chosen], X.indices[chosen]))
    return sparse.csr_array(entries, shape=X.shape)


def _divided(over: Floats, under: Floats) -> Floats:
    """Divide; 0 where the divisor is 0."""
    under = np.broadcast_to(under, over.shape)
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _without_dust(shares: Floats) -> Floats:
    """Set numbers to 0 whose squares would be subnormal, which are slow."""
    shares[shares < np.sqrt(np.finfo(shares.dtype).tiny)] = 0
    return shares
