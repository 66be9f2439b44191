"""Ridge regression, direct or by block conjugate gradients, and the curvature of gradient steps.

Documents are rows of X and responses are columns of Y. The map A (terms x responses) minimises
|X A - Y|² + α |A|². With K = X Xᵀ, the dual form is A = Xᵀ (K + αI)⁻¹ Y; the primal form is
A = (Xᵀ X + αI)⁻¹ Xᵀ Y. The form with the smaller matrix is solved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from lpisearch.methods.base import check_choice
from lpisearch.methods.linalg import product, whitening
from lpisearch.numeric.rows import row_lengths
from lpisearch.numeric.threads import map_threads, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.graphs.affinity import Floats, Matrix


SOLVERS = ("auto", "cg", "dense")
# Up to this many documents or terms, the Gram matrix is factorised.
DENSE_SIDE = 2000
# Limit of steps: at least MAX_STEPS, and STEPS_A_DIGIT for each digit of accuracy.
MAX_STEPS = 50
STEPS_A_DIGIT = 200
# Where block conjugate gradients stop by default; less does not help (docs/projections.md).
REGRESSION_TOLERANCE = 0.03
# The same without a penalty, where stopping early gains nothing.
LEAST_SQUARES_TOLERANCE = 1e-6
# What single precision can reach.
ROUNDING = 1e-5
# Columns to solve together, on one thread.
PANEL = 40


class Ridge(NamedTuple):
    """The map A (terms x responses), the steps taken (0: solved directly), and the residual."""

    coefficients: Floats
    steps: int
    residual: float


class Solved(NamedTuple):
    """Some columns of the solution, the steps, and the weighted sum of squared residuals."""

    solution: Floats
    steps: int
    left: float


def ridge(
    X: Matrix,
    Y: Floats,
    alpha: float,
    *,
    weights: Floats | None = None,
    tolerance: float = REGRESSION_TOLERANCE,
    solver: str = "auto",
) -> Ridge:
    """Regress all responses on the documents; α = 0 gives the least squares solution of least norm.

    The solver is "cg", "dense" (Cholesky), or "auto": dense if the smaller side is at most 2,000
    or the tolerance is 0. Block conjugate gradients stop when the scaled residuals, relative to
    their responses, have a root mean square, weighted by `weights`, below the tolerance.
    """
    check_choice("solver", solver, SOLVERS)
    dual = X.shape[0] <= X.shape[1]
    small = min(X.shape) <= DENSE_SIDE or tolerance == 0
    if solver == "dense" or (solver == "auto" and small):
        return Ridge(_direct(X, Y, alpha, dual=dual), 0, 0.0)
    if alpha == 0 and X.dtype != np.float64:
        precise = ridge(X.astype(np.float64), Y.astype(np.float64), 0.0, weights=weights,
                        tolerance=tolerance, solver=solver)  # fmt: skip
        return precise._replace(coefficients=precise.coefficients.astype(X.dtype))
    # Without a penalty, the dual form has no solution if documents have the same terms and
    # different responses, and the steps would diverge; the primal form always has one.
    dual = dual and alpha > 0
    # By columns, Xᵀ adds to the rows of frequent terms, which stay in the cache.
    first, second = (X, X.T) if dual else (X.T, X)
    # Each unknown is scaled by its own entry of the diagonal (Jacobi), which halves the steps where
    # unknowns are terms. Without a penalty that would change which of many solutions is found.
    diagonal = row_lengths(first) ** 2 + alpha if alpha > 0 else np.ones(first.shape[0])
    scale = (1 / np.sqrt(diagonal)).astype(X.dtype)[:, np.newaxis]
    right = scale * (Y if dual else np.asarray(first @ Y))
    importance = np.ones(Y.shape[1]) if weights is None else weights

    def shifted(block: Floats) -> Floats:
        own = scale * block
        return scale * (np.asarray(first @ (second @ own)) + X.dtype.type(alpha) * own)

    def solve(columns: slice) -> Solved:
        goal = tolerance**2 * importance[columns].sum()
        part, importances = right[:, columns], importance[columns]
        return block_conjugate_gradients(shifted, part, importances, goal)

    # Panels do not depend on the number of threads, so neither do the bits.
    count = -(-Y.shape[1] // PANEL)
    cuts = np.linspace(0, Y.shape[1], count + 1).astype(int)
    with one_blas_thread():
        solved = map_threads(solve, map(slice, cuts[:-1], cuts[1:]))
    solution = scale * np.concatenate([part.solution for part in solved], axis=1)
    steps = max(part.steps for part in solved)
    residual = np.sqrt(sum(part.left for part in solved) / importance.sum())
    return Ridge(product(second, solution) if dual else solution, steps, float(residual))


def solve_shifted(gram: Floats, right: Floats, alpha: float) -> Floats:
    """Solve (G + αI) Z = R; if that is singular, return the solution of least norm."""
    shifted = np.array(gram, order="F")  # LAPACK's order: no further copy is made
    shifted.flat[:: len(gram) + 1] += alpha
    try:
        factor = linalg.cho_factor(shifted, overwrite_a=True)
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


def _direct(X: Matrix, Y: Floats, alpha: float, *, dual: bool) -> Floats:
    """Factorise the Gram matrix of the smaller side, in double precision."""
    X64 = X.astype(np.float64)
    is_sparse: bool = sparse.issparse(X)
    gram: Any = X64 @ X64.T if dual else X64.T @ X64
    gram = gram.toarray() if is_sparse else np.asarray(gram)
    right = Y.astype(np.float64) if dual else np.asarray(X64.T @ Y)
    solution = solve_shifted(gram, right, alpha)
    return np.asarray(X64.T @ solution if dual else solution).astype(X.dtype)


def block_conjugate_gradients(
    multiply: Callable[[Floats], Floats], right: Floats, weights: Floats, goal: float
) -> Solved:
    """Solve a positive definite system for all columns together.

    Each column is improved in the directions of all, which takes far fewer steps than one by one.
    Directions are made orthonormal before each step, dropping those that are rounding. It ends
    when the weighted sum of the squared relative residuals reaches the goal.
    """
    residual = np.ascontiguousarray(right)
    solution = np.zeros_like(residual)
    whole = _squares(residual)
    direction = residual
    least = 100 * np.finfo(right.dtype).eps
    steps, left = 0, float(np.sum(weights * _ratio(_squares(residual), whole)))
    # Single precision cannot go below its rounding.
    goal = max(goal, float(np.square(10 * np.finfo(right.dtype).eps) * weights.sum()))
    limit = max(MAX_STEPS, STEPS_A_DIGIT * max(0, -np.log10(goal / max(weights.sum(), goal)) / 2))
    while steps < limit and left > goal:
        basis = whitening(_gram(direction, direction), least)
        direction = direction @ basis.astype(right.dtype)
        image = multiply(direction)
        root = whitening(_gram(direction, image), least)
        inverse = root @ root.T
        length = (inverse @ _gram(direction, residual)).astype(right.dtype)
        solution += direction @ length
        residual = residual - image @ length
        back = (inverse @ _gram(image, residual)).astype(right.dtype)
        direction = residual - direction @ back
        left = float(np.sum(weights * _ratio(_squares(residual), whole)))
        steps += 1
    return Solved(solution, steps, left)


def _gram(A: Floats, B: Floats) -> Floats:
    return np.asarray((A.T @ B).astype(np.float64))


def _squares(block: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", block, block))


def _ratio(over: Floats, under: Floats) -> Floats:
    """Divide; 0 if the column is already solved."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


POWER_STEPS = 20
# The estimate is a lower bound; a few steps bring it closer than this.
MARGIN = 1.02
# Units of rounding in an image.
CURVATURE_ROUNDING = 100


def max_curvature(X: Matrix, Xt: Matrix, rng: np.random.Generator) -> float:
    """Estimate the largest squared singular value of X (Xt: its transpose), with a margin.

    A step of length 1 / c from A does not overshoot if |X Δ|² ≤ c |Δ|² for its change Δ. The
    largest squared singular value is such a c for every Δ; `overshoots` checks the estimate.
    """
    v = rng.standard_normal((X.shape[1], 1)).astype(X.dtype)
    curvature = 0.0
    for _ in range(POWER_STEPS):
        v /= max(float(np.linalg.norm(v)), np.finfo(X.dtype).tiny)
        v = product(Xt, product(X, v))
        curvature = float(np.linalg.norm(v))
    return curvature * MARGIN


def overshoots(image_change: Floats, change: Floats, curvature: float, scale: float) -> bool:
    """Whether |X Δ|² > c |Δ|², beyond the rounding of images whose squared norm is `scale`."""
    rounding = float(CURVATURE_ROUNDING * np.finfo(image_change.dtype).eps) ** 2 * scale
    return squared(image_change) > curvature * squared(change) + rounding


def squared(block: Any) -> float:
    """Return the squared Frobenius norm, summed in double precision."""
    return float(np.sum(np.square(block, dtype=np.float64)))
