"""NMF-NCW.

With documents as rows (the paper has them as columns), X ≈ V Uᵀ, where neither U (terms x
factors) nor V (documents x factors) has a negative entry. The documents are weighted first:

    X' = D^(-1/2) X,   D = diag(X Xᵀ e),   J = |X' - V Uᵀ|²

D_i is the degree of document i in the complete graph of inner products, which X Xᵀ itself is not
needed for. The multiplicative updates of the paper, and coordinate descent (HALS), which moves
one column of V or U at a time to where J is least, both never raise J.

W. Xu, X. Liu, Y. Gong: Document clustering based on non-negative matrix factorization, SIGIR
2003. HALS: A. Cichocki, R. Zdunek, S. Amari, 2007.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from lpisearch.methods.base import FactorShares, NotConverged, generator, warn_of_fewer
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import product, transposed
from lpisearch.methods.placement import sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix
    from lpisearch.methods.catalogue import Method


WEIGHTINGS = ("ncw", "none")
# The products with X cost more than sweeps with what they give, so there are some sweeps to each.
SWEEPS = 2
# Rounds linger on plateaus: gains are averaged over so many.
PATIENCE = 3
# Rounds that each start takes before the best goes on.
RACE_ROUNDS = 5


class NMF(FactorShares):
    """Non-negative matrix factorisation, with documents weighted as for a normalised cut.

    Documents are rows here; they are compared by the cosine of their parts of the factors.

    Parameters
    ----------
    n_components
        Number of factors.
    weighting
        "ncw": documents count by the inverse root of their degree; "none": all the same.
    solver
        "hals" (coordinate descent) or "multiplicative" (the updates of the paper, slower).
    n_init
        Starts. Each takes some rounds, and the one with the least J goes on.
    max_iter
        Rounds at most; each improves V, then U.
    tolerance
        It has converged when the last rounds lowered J, on average, by less than this share of
        |X'|².
    random_state
        Seed of the starts: random U.

    Attributes
    ----------
    embedding_
        Documents x n_components_: the parts of the factors in each document at unit length.
    factors_
        Uᵀ, n_components_ x n_terms, rows of unit length.
    objectives_
        J after each round.
    n_iter_
        Rounds.
    clusters_
        The factor with the largest part in each fitted document, as Xu et al. take it.

    Notes
    -----
    Documents, new and fitted, are folded in: `transform` gives the v ≥ 0 with the least
    |x - U v|², for x at unit length. The length of a document and its normalised-cut weight only
    scale its v (V is `embedding_` with scaled rows once it has converged), so its cluster and
    its cosines do without.

    References
    ----------
    W. Xu, X. Liu, Y. Gong: Document clustering based on non-negative matrix factorization, SIGIR
    2003.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.nmf import NMF
    >>> X = np.array([[3.0, 3, 0, 0], [2, 2, 0, 0], [0, 0, 0, 4]])
    >>> np.sort(NMF(n_components=2).fit_transform(X)).round(3)
    array([[0., 1.],
           [0., 1.],
           [0., 1.]])
    """

    about: ClassVar[Method] = CATALOGUE["nmf"]
    placement: ClassVar[str] = "nmf"

    def __init__(
        self,
        n_components: int = DIMENSIONS,
        *,
        weighting: str = "ncw",
        solver: str = "hals",
        n_init: int = 3,
        max_iter: int = 500,
        tolerance: float = 1e-5,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.weighting = weighting
        self.solver = solver
        self.n_init = n_init
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.random_state = random_state

    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return U and UᵀU."""
        double = self.factors_.astype(np.float64)
        return {"factors": np.ascontiguousarray(self.factors_.T), "gram": double @ double.T}

    def _learn(self, X: sparse.csr_array, n_factors: int) -> None:
        rng = generator(self.random_state)
        weighted = normalised_cut(X) if self.weighting == "ncw" else X
        scale = weighted.data.max()  # squares of very small weights would be 0
        run = self._raced(weighted / scale, n_factors, rng)
        lengths = np.sqrt(np.einsum("ij,ij->i", run.factors, run.factors))
        kept = lengths > 0
        self.n_components_ = int(np.count_nonzero(kept))
        if self.n_components_ < n_factors:
            warn_of_fewer(n_factors, self.n_components_)
        self.factors_ = run.factors[kept] / lengths[kept, np.newaxis]
        self.objectives_ = np.array(run.objectives) * float(scale) ** 2
        self.n_iter_ = len(run.objectives)
        if not run.gain <= self.tolerance:
            warnings.warn(NotConverged("NMF", self.n_iter_, run.gain, self.tolerance), stacklevel=3)

    def _raced(self, X: sparse.csr_array, n_factors: int, rng: np.random.Generator) -> _Run:
        """Let every start take some rounds, and the best of them go on to the end."""
        starts = (self._start(X, n_factors, rng) for _ in range(self.n_init))
        if self.n_init == 1:
            return self._run(X, next(starts), self.max_iter)
        rounds = min(RACE_ROUNDS, self.max_iter)
        best = min((self._run(X, start, rounds) for start in starts), key=_last_objective)
        return self._run(X, best, self.max_iter)

    def _start(self, X: sparse.csr_array, n_factors: int, rng: np.random.Generator) -> _Run:
        """Draw a random U. Both factors are kept with a row a factor."""
        U = rng.random((n_factors, X.shape[1])).astype(X.dtype)
        return _Run(U, np.ones((n_factors, X.shape[0]), dtype=X.dtype), [], np.inf)

    def _run(self, X: sparse.csr_array, start: _Run, rounds: int) -> _Run:
        """Improve V and U in turn until J hardly falls, or there were so many rounds in all."""
        improve = SOLVERS[self.solver]
        Xt = transposed(X)
        whole = float(np.dot(X.data, X.data.astype(np.float64)))
        U, V, objectives, gain = (
            start.factors.copy(),
            start.parts.copy(),
            [*start.objectives],
            np.inf,
        )
        while gain > self.tolerance and len(objectives) < rounds:
            improve(V, U @ U.T, _products(X, U))
            gram, target = V @ V.T, _products(Xt, V)
            improve(U, gram, target)
            objectives.append(whole + _quadratic(U, gram, target))
            before = objectives[-1 - PATIENCE] if len(objectives) > PATIENCE else whole
            gain = (before - objectives[-1]) / whole / min(PATIENCE, len(objectives))
        return _Run(U, V, objectives, gain)

    def _check(self) -> None:
        super()._check()
        for name, known in (("weighting", WEIGHTINGS), ("solver", tuple(SOLVERS))):
            value = getattr(self, name)
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}.")


class _Run(NamedTuple):
    """Uᵀ, Vᵀ, J after each round, and by what share of |X'|² the last ones lowered it."""

    factors: Floats
    parts: Floats
    objectives: list[float]
    gain: float


def _last_objective(run: _Run) -> float:
    return run.objectives[-1]


def normalised_cut(X: sparse.csr_array) -> sparse.csr_array:
    """Weight each document by the inverse root of its degree in the graph of inner products."""
    # By a power of two: the weights undo it, and products of very small numbers would be 0.
    double = X.astype(np.float64) * 2.0 ** -np.frexp(X.data.max(initial=0))[1]
    degrees = np.asarray(double @ np.asarray(double.sum(axis=0)).ravel())
    weights = np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    data = (np.repeat(weights, np.diff(X.indptr)) * double.data).astype(X.dtype)
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def _coordinates(parts: Floats, gram: Floats, target: Floats) -> None:
    """Move the parts of each factor to where J is least, some times over."""
    for _ in range(SWEEPS):
        sweep(gram, target, parts)


def _multiplicative(parts: Floats, gram: Floats, target: Floats) -> None:
    """Multiply each part by the share of what is wanted in what is there."""
    present = gram @ parts
    parts *= np.divide(target, present, out=np.zeros_like(present), where=present > 0)


SOLVERS: dict[str, Callable[[Floats, Floats, Floats], None]] = {
    "hals": _coordinates,
    "multiplicative": _multiplicative,
}


def _products(X: Matrix, parts: Floats) -> Floats:
    """Multiply rows of X by factors, with a row a factor before and after."""
    # Contiguous beforehand, or each thread of the product makes a copy of its own.
    return np.ascontiguousarray(product(X, np.ascontiguousarray(parts.T)).T)


def _quadratic(parts: Floats, gram: Floats, target: Floats) -> float:
    """Give J - |X'|² from what the last update used: tr(Uᵀ U Vᵀ V) - 2 tr(Uᵀ X'ᵀ V)."""
    square = np.sum((parts @ parts.T).astype(np.float64) * gram)
    return float(square - 2 * np.einsum("ij,ij->", parts, target, dtype=np.float64))
