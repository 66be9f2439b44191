"""Ridge regression for many responses at once, and the choice of its strength α.

Documents are rows of X and responses are columns of Y. The map A (terms x responses) minimises
|X A - Y|² + α |A|². With K = X Xᵀ, the dual form is A = Xᵀ (K + αI)⁻¹ Y; the primal form is
A = (Xᵀ X + αI)⁻¹ Xᵀ Y. The one on the smaller side is solved.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from lpisearch.projections.blocks import THREADS, product, transposed

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.graphs.affinity import Floats, Matrix

SOLVERS = ("auto", "cg", "dense")
# Up to this many documents or terms, the Gram matrix is factorised.
DENSE_SIDE = 2000
MAX_STEPS = 50
# Columns at a time on a thread.
PANEL = 40


class Ridge(NamedTuple):
    """The map A, terms x responses, and the steps it took (0: solved directly)."""

    coefficients: Floats
    steps: int


def ridge(
    X: Matrix,
    Y: Floats,
    alpha: float,
    *,
    weights: Floats | None = None,
    tolerance: float = 0.04,
    solver: str = "auto",
) -> Ridge:
    """Regress all responses on the documents together.

    Parameters
    ----------
    alpha
        Strength of the penalty; 0 gives the least squares solution of least norm.
    weights
        How much each response counts where the solver decides to stop.
    tolerance
        Conjugate gradients stop when the residuals, each as a share of its response, have a
        weighted root mean square below this.
    solver
        "cg", "dense" (Cholesky), or "auto": dense when the smaller side is at most 2,000.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, not {solver!r}.")
    dual = X.shape[0] <= X.shape[1]
    if solver == "dense" or (solver == "auto" and min(X.shape) <= DENSE_SIDE):
        return Ridge(_direct(X, Y, alpha, dual=dual), 0)
    first, second = (X, transposed(X)) if dual else (transposed(X), X)
    right = Y if dual else product(first, Y)
    importance = np.ones(Y.shape[1]) if weights is None else weights

    def shifted(block: Floats) -> Floats:
        image = np.asarray(first @ (second @ block))
        image += X.dtype.type(alpha) * block
        return image

    def solve(columns: slice) -> tuple[Floats, int]:
        goal = tolerance**2 * importance[columns].sum()
        return _conjugate_gradients(shifted, right[:, columns], importance[columns], goal)

    # Each thread solves its own columns to the end; how many there are does not depend on the
    # number of threads, so neither do the bits.
    count = -(-Y.shape[1] // PANEL)
    cuts = np.linspace(0, Y.shape[1], count + 1).astype(int)
    with ThreadPoolExecutor(THREADS) as pool:
        solved = list(pool.map(solve, map(slice, cuts[:-1], cuts[1:])))
    solution = np.concatenate([part for part, _ in solved], axis=1)
    steps = max(steps for _, steps in solved)
    return Ridge(product(second, solution) if dual else solution, steps)


def _direct(X: Matrix, Y: Floats, alpha: float, *, dual: bool) -> Floats:
    """Factorise the Gram matrix of the smaller side, in double precision."""
    X64 = X.astype(np.float64)
    is_sparse: bool = sparse.issparse(X)
    gram: Any = X64 @ X64.T if dual else X64.T @ X64
    gram = gram.toarray() if is_sparse else np.asarray(gram)
    right = Y.astype(np.float64) if dual else np.asarray(X64.T @ Y)
    solution = _solve(gram, right, alpha)
    return np.asarray(X64.T @ solution if dual else solution).astype(X.dtype)


def _solve(gram: Floats, right: Floats, alpha: float) -> Floats:
    """Solve (G + αI) Z = R; where that is singular, take the solution of least norm."""
    shifted = gram + alpha * np.eye(len(gram))
    try:
        factor = linalg.cho_factor(shifted)
    except linalg.LinAlgError:
        factor = None
    if factor is not None:
        pivots = np.abs(np.diagonal(factor[0]))
        if pivots.min() ** 2 > len(gram) * np.finfo(np.float64).eps * pivots.max() ** 2:
            return np.asarray(linalg.cho_solve(factor, right))
    values, vectors = linalg.eigh(gram)
    keep = values > len(gram) * np.finfo(np.float64).eps * values[-1]
    inverse = 1 / (values[keep] + alpha)
    return np.asarray((vectors[:, keep] * inverse) @ (vectors[:, keep].T @ right))


def _conjugate_gradients(
    multiply: Callable[[Floats], Floats], right: Floats, weights: Floats, goal: float
) -> tuple[Floats, int]:
    """Solve a positive definite system for all columns at once, each with its own steps.

    It ends when the weighted sum of the squared residuals, as shares of their columns, is at
    the goal.
    """
    residual = np.ascontiguousarray(right)
    solution = np.zeros_like(residual)
    direction = residual.copy()
    squares = _squares(residual)
    whole = squares
    steps = 0
    while steps < MAX_STEPS and np.sum(weights * _ratio(squares, whole)) > goal:
        image = multiply(direction)
        length = _ratio(squares, np.einsum("ij,ij->j", direction, image))
        solution += direction * length
        residual = residual - image * length
        fresh = _squares(residual)
        direction *= _ratio(fresh, squares)
        direction += residual
        squares = fresh
        steps += 1
    return solution, steps


def _squares(block: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", block, block))


def _ratio(over: Floats, under: Floats) -> Floats:
    """Divide; 0 where the column is already solved."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)
