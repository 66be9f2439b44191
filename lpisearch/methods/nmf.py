"""Non-negative matrix factorisation (NMF), weighted as for a normalised cut.

With documents as rows (the paper writes them as columns), X ≈ V Uᵀ, where neither U (terms x
factors) nor V (documents x factors) has a negative entry. The documents are weighted first:

    X' = D^(-1/2) X,   D = diag(X Xᵀ e),   J = |X' - V Uᵀ|²

D_i is the degree of document i in the complete graph of inner products; X Xᵀ itself is not needed.
Neither the multiplicative updates of the paper nor coordinate descent (HALS), which minimises J by
one column of V or U at a time, ever raises J.

W. Xu, X. Liu, Y. Gong: Document clustering based on non-negative matrix factorization, SIGIR
2003. HALS: A. Cichocki, R. Zdunek, S. Amari, 2007.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from lpisearch.methods.base import (
    FactorShares,
    NotConverged,
    check_choice,
    generator,
    warn_of_fewer,
)
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import product, transposed
from lpisearch.methods.placement import sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix


WEIGHTINGS = ("ncw", "none")
# Products with X cost more than sweeps, so each product is used for several sweeps.
SWEEPS = 2
# Gains are averaged over so many rounds, because there are plateaus.
PATIENCE = 3
# Rounds of each start before the best one continues.
RACE_ROUNDS = 5


@dataclass(eq=False, repr=False)
class NMF(FactorShares):
    """Non-negative matrix factorisation, with documents weighted as for a normalised cut.

    Documents are rows here; they are compared by the cosine of their parts of the factors.

    Parameters
    ----------
    n_components
        Number of factors.
    weighting
        "ncw": documents are weighted by the inverse root of their degree; "none": equally.
    solver
        "hals" (coordinate descent) or "multiplicative" (the updates of the paper, slower).
    n_init
        Number of starts. Each takes some rounds, and the one with the least J continues.
    max_iter
        Limit of rounds; each improves V, then U.
    tolerance
        Converged when the last rounds lowered J, on average, by less than this share of |X'|².
    random_state
        Seed of the random U of each start.

    Attributes
    ----------
    embedding_
        Documents x n_components_: the parts of the factors in each document at unit length.
    factors_
        Uᵀ, n_components_ x n_terms, rows of unit length.
    objectives_
        J after each round.
    n_iter_
        Number of rounds.
    clusters_
        The factor with the largest part in each fitted document, as by Xu et al.

    Notes
    -----
    Documents, new and fitted, are folded in: `transform` returns the v ≥ 0 with the least
    |x - U v|², for x at unit length. The length of a document and its normalised-cut weight only
    scale its v (converged, V is `embedding_` with scaled rows): they change neither its cluster
    nor its cosines.

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

    about = CATALOGUE["nmf"]
    placement = "nmf"

    n_components: int = DIMENSIONS
    _: KW_ONLY
    weighting: str = "ncw"
    solver: str = "hals"
    n_init: int = 3
    max_iter: int = 500
    tolerance: float = 1e-5
    random_state: Any = 0

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
        used = lengths > 0
        self.n_components_ = int(np.count_nonzero(used))
        if self.n_components_ < n_factors:
            warn_of_fewer(n_factors, self.n_components_)
        self.factors_ = run.factors[used] / lengths[used, np.newaxis]
        self.objectives_ = np.array(run.objectives) * float(scale) ** 2
        self.n_iter_ = len(run.objectives)
        if not run.gain <= self.tolerance:
            warnings.warn(NotConverged("NMF", self.n_iter_, run.gain, self.tolerance), stacklevel=4)

    def _raced(self, X: sparse.csr_array, n_factors: int, rng: np.random.Generator) -> _Run:
        """Run each start for some rounds, and the best one to the end."""
        starts = (self._start(X, n_factors, rng) for _ in range(self.n_init))
        if self.n_init == 1:
            return self._run(X, next(starts), self.max_iter)
        rounds = min(RACE_ROUNDS, self.max_iter)
        best = min((self._run(X, start, rounds) for start in starts), key=_last_objective)
        return self._run(X, best, self.max_iter)

    def _start(self, X: sparse.csr_array, n_factors: int, rng: np.random.Generator) -> _Run:
        """Draw a random U; both matrices have one row per factor."""
        U = rng.random((n_factors, X.shape[1])).astype(X.dtype)
        return _Run(U, np.ones((n_factors, X.shape[0]), dtype=X.dtype), [], np.inf)

    def _run(self, X: sparse.csr_array, start: _Run, rounds: int) -> _Run:
        """Improve V and U in turn until J hardly falls, up to a total number of rounds."""
        improve = SOLVERS[self.solver]
        Xt = transposed(X)
        whole = float(np.dot(X.data, X.data.astype(np.float64)))
        U, V = start.factors.copy(), start.parts.copy()
        objectives, gain = [*start.objectives], np.inf
        while gain > self.tolerance and len(objectives) < rounds:
            improve(V, U @ U.T, _products(X, U))
            gram, target = V @ V.T, _products(Xt, V)
            improve(U, gram, target)
            objectives.append(whole + _quadratic(U, gram, target))
            before = objectives[-1 - PATIENCE] if len(objectives) > PATIENCE else whole
            gain = (before - objectives[-1]) / whole / min(PATIENCE, len(objectives))
        return _Run(U, V, objectives, gain)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("weighting", self.weighting, WEIGHTINGS)
        check_choice("solver", self.solver, tuple(SOLVERS))


class _Run(NamedTuple):
    """Uᵀ, Vᵀ, J after each round, and how far the last ones lowered it, as a share of |X'|²."""

    factors: Floats
    parts: Floats
    objectives: list[float]
    gain: float


def _last_objective(run: _Run) -> float:
    return run.objectives[-1]


def normalised_cut(X: sparse.csr_array) -> sparse.csr_array:
    """Weight each document by the inverse root of its degree in the graph of inner products."""
    # Scaled by a power of two, which the weights undo: products of tiny numbers would be 0.
    double = X.astype(np.float64) * 2.0 ** -np.frexp(X.data.max(initial=0))[1]
    degrees = np.asarray(double @ np.asarray(double.sum(axis=0)).ravel())
    weights = np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    data = (np.repeat(weights, np.diff(X.indptr)) * double.data).astype(X.dtype)
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def _coordinates(parts: Floats, gram: Floats, target: Floats) -> None:
    """Minimise J by the parts of one factor at a time, in several sweeps."""
    for _ in range(SWEEPS):
        sweep(gram, target, parts)


def _multiplicative(parts: Floats, gram: Floats, target: Floats) -> None:
    """Multiply each part by the ratio of its target to its present value."""
    present = gram @ parts
    parts *= np.divide(target, present, out=np.zeros_like(present), where=present > 0)


SOLVERS: dict[str, Callable[[Floats, Floats, Floats], None]] = {
    "hals": _coordinates,
    "multiplicative": _multiplicative,
}


def _products(X: Matrix, parts: Floats) -> Floats:
    """Multiply rows of X by factors; both have one row per factor."""
    # Contiguous, or each thread of the product would copy it.
    return np.ascontiguousarray(product(X, np.ascontiguousarray(parts.T)).T)


def _quadratic(parts: Floats, gram: Floats, target: Floats) -> float:
    """Return J - |X'|² from the products of the last update: tr(Uᵀ U Vᵀ V) - 2 tr(Uᵀ X'ᵀ V)."""
    square = np.sum((parts @ parts.T).astype(np.float64) * gram)
    return float(square - 2 * np.einsum("ij,ij->", parts, target, dtype=np.float64))
