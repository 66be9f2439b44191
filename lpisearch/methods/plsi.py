"""PLSI, tempered EM.

With documents d as rows of X and terms w as columns (x_dw counts, or any weights that are not
negative), PLSI models P(w|d) = Σ_z P(z|d) P(w|z) and maximises

    L = Σ_dw x_dw log Σ_z P(z|d) P(w|z).

Tempered EM weakens the E-step to keep the model from learning its documents by heart:
P(z|d,w) ∝ P(z) [P(d|z) P(w|z)]^β with β ≤ 1.

T. Hofmann: Probabilistic latent semantic indexing, SIGIR 1999.

Documents are rows of X, a csr_array of counts or other positive weights x. With
A = P(z)^(1 - β) P(z|d)^β and B = P(w|z)^β, the E-step gives the weights of the factors

    P(z|d,w) = A_dz B_wz / Σ_z A_dz B_wz

and the M-step sums x P(z|d,w) over terms, documents or both. Neither is ever written out: with
S = x / Σ_z A_dz B_wz the sums are A ∘ (S B) and
B ∘ (Sᵀ A).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

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
    from lpisearch.methods.catalogue import Method


# Steps of EM that each start takes before the best goes on, and over how many gains are averaged.
RACE_STEPS = 20
PATIENCE = 5


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
        goes on with all entries at the best β.
    held_out, cooling
        The share that is held out, and the factor of β, where β is "auto".
    n_init
        Starts. Each takes some steps, and the one with the largest L goes on; where β is "auto",
        all go to their end, and the least perplexity of what was held out decides. From a single
        start the clusters of a few hundred documents were 60 to 100 % right; L tells which.
    max_iter
        Steps of EM at most.
    tolerance
        EM has converged when the last steps gained less than this, on average, in L / Σ x, the
        logarithm of the perplexity.
    random_state
        Seed of the starts: equal shares, random terms.

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
        Of the entries that were held out, where β is "auto": at the end of the schedule.
    log_likelihoods_
        The objective before each step of EM on all entries, and at the end; L if β is 1.
    n_iter_
        Steps of EM on all entries.
    clusters_
        The most probable factor of each fitted document.

    Notes
    -----
    New documents, and the fitted ones at the end, are folded in: EM on P(z|d) alone, at the same
    β. So `transform` gives for fitted documents what `embedding_` holds. A term that no fitted
    document has counts for nothing. Of very few and short documents nothing can be held out;
    "auto" is then 1.

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

    about: ClassVar[Method] = CATALOGUE["plsi"]
    placement: ClassVar[str] = "plsi"

    def __init__(
        self,
        n_components: int = DIMENSIONS,
        *,
        beta: float | str = 1.0,
        held_out: float = 0.1,
        cooling: float = 0.9,
        n_init: int = 5,
        max_iter: int = 500,
        tolerance: float = 1e-5,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.held_out = held_out
        self.cooling = cooling
        self.n_init = n_init
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.random_state = random_state

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
            kept, held = map(Observed.of, split(X, self.held_out, rng))
            cooled = [self._cooled(kept, held, start) for start in starts]
            best = min(cooled, key=lambda found: found.log_perplexity)
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
                NotConverged("EM of PLSI", self.n_iter_, run.gain, self.tolerance), stacklevel=3
            )

    def _raced(self, seen: Observed, starts: Iterable[Factors]) -> _Run:
        """Let every start take some steps, and the best of them go on to the end."""
        if self.n_init == 1:
            return self._run(seen, next(iter(starts)))
        races = (self._run(seen, start, min(RACE_STEPS, self.max_iter)) for start in starts)
        best = max(races, key=lambda run: run.objectives[-1])
        rest = self._run(seen, best.factors, self.max_iter - len(best.objectives) + 1)
        return rest._replace(objectives=[*best.objectives[:-1], *rest.objectives])

    def _run(self, seen: Observed, factors: Factors, steps: int | None = None) -> _Run:
        """Take steps of EM at one β until they gain next to nothing.

        EM lingers on plateaus, so what counts is the mean gain of the last few steps.
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

    def _cooled(self, kept: Observed, held: Observed, factors: Factors) -> _Cooled:
        """Lower β each time the held-out perplexity stops falling; give the best that was met."""
        best = _Cooled(factors, 1.0, log_perplexity(held, factors))
        beta, helped = 1.0, True
        for _ in range(self.max_iter):
            factors, _ = em_step(kept, factors, beta)
            found = _Cooled(factors, beta, log_perplexity(held, factors))
            if found.log_perplexity < best.log_perplexity:
                best, helped = found, True
            elif helped:
                beta, helped, factors = beta * self.cooling, False, best.factors
            else:
                break
        return best

    def _check(self) -> None:
        super()._check()
        for name in ("held_out", "cooling"):
            _check_share(name, getattr(self, name))
        if not (isinstance(self.beta, str) and self.beta == "auto"):
            _check_share("beta", self.beta, whole=True)


class _Run(NamedTuple):
    """Factors, the objective on the way to them, and what the last step gained."""

    factors: Factors
    objectives: list[float]
    gain: float


class _Cooled(NamedTuple):
    """Factors, the β that led to them, and how well they foretell what was held out."""

    factors: Factors
    beta: float
    log_perplexity: float


def _check_share(name: str, value: Any, *, whole: bool = False) -> None:
    """Refuse what is not between 0 and 1; 1 itself only where the whole is meant."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not (0 < value < 1 or (whole and value == 1)):
        limits = 'above 0 and at most 1, or "auto"' if whole else "between 0 and 1"
        raise ValueError(f"{name} must be {limits}, not {value!r}.")


# Numbers of a block of entries x factors: what fits into the cache is several times faster.
BLOCK = 1_000_000


class Factors(NamedTuple):
    """The parameters of PLSI.

    Attributes
    ----------
    shares
        P(z|d), documents x factors.
    terms
        P(w|z), terms x factors.
    prior
        P(z).
    """

    shares: Floats
    terms: Floats
    prior: Floats

    def tempered(self, beta: float) -> tuple[Floats, Floats]:
        """Give A and B."""
        if beta == 1:
            return self.shares, self.terms
        return self.shares**beta * self.prior ** (1 - beta), self.terms**beta


class Observed(NamedTuple):
    """Documents as entries: the document, the term and the weight of each.

    Attributes
    ----------
    X
        The documents as rows.
    rows
        The row of each entry.
    """

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
    """Begin with equal shares and random terms, whatever the order of the documents."""
    shares = np.full((X.shape[0], n_factors), 1 / n_factors, dtype=X.dtype)
    terms = rng.random((X.shape[1], n_factors)).astype(X.dtype)
    return Factors(shares, _divided(terms, terms.sum(axis=0)), shares[0])


def em_step(seen: Observed, factors: Factors, beta: float) -> tuple[Factors, float]:
    """Give better factors, and the objective Σ x log Σ_z A_dz B_wz of those that came in.

    At β = 1 that is the log-likelihood of the terms, given the documents. It never falls.
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
    """Give Σ_z A_dz B_wz for each entry (d, w), some entries at a time."""
    size = max(1, BLOCK // A.shape[1])
    out = np.empty(len(seen.rows), dtype=A.dtype)

    def part(start: int) -> None:
        some = slice(start, start + size)
        # The indices are known to be good. To check them, the default, takes half of the time.
        left = A.take(seen.rows[some], axis=0, mode="clip")
        right = B.take(seen.X.indices[some], axis=0, mode="clip")
        np.einsum("ij,ij->i", left, right, out=out[some])

    map_threads(part, range(0, len(out), size))
    return out


def log_likelihood(seen: Observed, densities: Floats) -> float:
    """Give Σ x log p; minus infinity where something is held to be impossible."""
    if not densities.all():
        return -np.inf
    return float(np.dot(seen.X.data.astype(np.float64), np.log(densities, dtype=np.float64)))


def log_perplexity(seen: Observed, factors: Factors) -> float:
    """Give -Σ x log P(w|d) / Σ x; 0 if there is nothing to foretell."""
    if not seen.X.nnz:
        return 0.0
    densities = mixtures(seen, factors.shares, factors.terms)
    return -log_likelihood(seen, densities) / seen.total


def split(
    X: sparse.csr_array, share: float, rng: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Hold out a share of the entries: give those that are kept, and the others.

    Weights need not be counts, so an entry is held out as a whole. The first entry of each
    document and of each term is kept: nothing could be said of it otherwise.
    """
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = rng.permutation(X.nnz)
    first = np.zeros(X.nnz, dtype=bool)
    for names in (rows, X.indices):
        first[order[np.unique(names[order], return_index=True)[1]]] = True
    held = (rng.random(X.nnz) < share) & ~first
    return _chosen(X, rows, ~held), _chosen(X, rows, held)


def _chosen(X: sparse.csr_array, rows: NDArray[np.integer], chosen: NDArray[np.bool_]) -> Any:
    entries = (X.data[chosen], (rows[chosen], X.indices[chosen]))
    return sparse.csr_array(entries, shape=X.shape)


def _divided(over: Floats, under: Floats) -> Floats:
    """Divide; 0 where the divisor is."""
    under = np.broadcast_to(under, over.shape)
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _without_dust(shares: Floats) -> Floats:
    """Set to 0 what is so small that its square is no normal number: that is slow to reckon."""
    shares[shares < np.sqrt(np.finfo(shares.dtype).tiny)] = 0
    return shares
