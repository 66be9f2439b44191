"""Non-negative factors of documents: X ≈ V Uᵀ, by coordinate descent or multiplicative updates.

With documents as rows (the papers write them as columns), neither U (terms x factors) nor V
(documents x factors) has a negative entry. Both are improved in turn, and neither the
multiplicative updates (Lee, Seung, 2001) nor coordinate descent (HALS), which minimises the
objective by one column of V or U at a time, ever raises it.

HALS: A. Cichocki, R. Zdunek, S. Amari, 2007.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from lpisearch.methods.base import FactorShares, NotConverged, generator, warn_of_fewer
from lpisearch.methods.linalg import product, transposed
from lpisearch.methods.placement import sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.graphs.affinity import Floats, Matrix


# Products with X cost more than sweeps, so each product is used for several sweeps.
SWEEPS = 2
# Gains are averaged over so many rounds, because there are plateaus.
PATIENCE = 3
# Rounds of each start before the best one continues.
RACE_ROUNDS = 5


class Factorisation(FactorShares):
    """Factors U and parts V with the least |X - V Uᵀ|² and, of some methods, a penalty on V.

    Subclasses have the parameters `solver`, `n_init`, `max_iter`, `tolerance` and `random_state`.
    """

    solver: str
    random_state: Any
    converges: ClassVar[bool] = True  # whether the objective has a minimum that it comes to

    def _factors(self, X: sparse.csr_array, n_factors: int) -> Floats:
        """Find Uᵀ with rows of unit length; return Vᵀ for the factors that are used."""
        scale = X.data.max()  # squares of very small weights would be 0
        # By the inverse: SciPy divides in float64.
        run = self._raced(X * (1 / scale), n_factors, generator(self.random_state))
        lengths = np.sqrt(np.einsum("ij,ij->i", run.factors, run.factors))
        used = lengths > 0
        self.n_components_ = int(np.count_nonzero(used))
        if self.n_components_ < n_factors:
            warn_of_fewer(n_factors, self.n_components_)
        self.factors_ = run.factors[used] / lengths[used, np.newaxis]
        self.objectives_ = np.array(run.objectives) * float(scale) ** 2
        self.n_iter_ = len(run.objectives)
        if self.converges and not run.gain <= self.tolerance:
            found = NotConverged(type(self).__name__, self.n_iter_, run.gain, self.tolerance)
            warnings.warn(found, stacklevel=5)
        return np.asarray(run.parts[used] * lengths[used, np.newaxis] * scale)

    def _improve_parts(self, parts: Floats, gram: Floats, target: Floats) -> None:
        """Improve Vᵀ in place, by UᵀU and UᵀXᵀ."""
        SOLVERS[self.solver](parts, gram, target)

    def _penalty(self, parts: Floats) -> float:
        """Return what the objective has beyond |X - V Uᵀ|²."""
        del parts
        return 0.0

    def _raced(self, X: sparse.csr_array, n_factors: int, rng: np.random.Generator) -> Run:
        """Run each start for some rounds, and the best one to the end."""
        starts = (self._start(X, n_factors, rng) for _ in range(self.n_init))
        if self.n_init == 1:
            return self._run(X, next(starts), self.max_iter)
        rounds = min(RACE_ROUNDS, self.max_iter)
        best = min((self._run(X, start, rounds) for start in starts), key=_last_objective)
        return self._run(X, best, self.max_iter)

    def _start(self, X: sparse.csr_array, n_factors: int, rng: np.random.Generator) -> Run:
        """Draw a random U; both matrices have one row per factor."""
        U = rng.random((n_factors, X.shape[1])).astype(X.dtype)
        return Run(U, np.ones((n_factors, X.shape[0]), dtype=X.dtype), [], np.inf)

    def _run(self, X: sparse.csr_array, start: Run, rounds: int) -> Run:
        """Improve V and U in turn until J hardly falls, up to a total number of rounds."""
        improve = SOLVERS[self.solver]
        Xt = transposed(X)
        whole = float(np.dot(X.data, X.data.astype(np.float64)))
        U, V = start.factors.copy(), start.parts.copy()
        objectives, gain = [*start.objectives], np.inf
        while gain > self.tolerance and len(objectives) < rounds:
            self._improve_parts(V, U @ U.T, _products(X, U))
            gram, target = V @ V.T, _products(Xt, V)
            improve(U, gram, target)
            objectives.append(whole + _quadratic(U, gram, target) + self._penalty(V))
            before = objectives[-1 - PATIENCE] if len(objectives) > PATIENCE else np.inf
            gain = (before - objectives[-1]) / whole / PATIENCE
        return Run(U, V, objectives, gain)


class Run(NamedTuple):
    """Uᵀ, Vᵀ, J after each round, and how far the last ones lowered it, as a share of |X'|²."""

    factors: Floats
    parts: Floats
    objectives: list[float]
    gain: float


def _last_objective(run: Run) -> float:
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
