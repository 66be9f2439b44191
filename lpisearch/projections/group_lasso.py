"""Multi-response least squares with a group lasso penalty per term.

Documents are rows of X and responses are columns of Y. The map A (terms x responses) minimises

    F(A) = |X A - Y|² + μ |A|₂,₁,    |A|₂,₁ the sum of the lengths of the rows of A,

so that most terms have no weight in any response. It is solved by accelerated proximal gradients
(Beck and Teboulle, 2009) on a working set of terms, which grows by those that resist most. The
duality gap, over all terms, proves how near to the minimum it ends. F never rises: momentum that
would raise it is dropped, and a step without momentum descends. Each term f has a step of its own,
1 / c with c the sum of |fᵀ g| over all terms g: the matrix diag(c) - Xᵀ X is then diagonally
dominant, so that diag(c) bounds the curvature. Rare terms take far longer steps than one bound for
all would allow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.projections.blocks import product, transposed
from lpisearch.projections.curvature import row_norms, squared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

# A working set begins with so many terms, and at most trebles in a round.
FIRST_TERMS = 100
# On the working set the gap is brought to this share of the one that is asked for.
INNER_SHARE = 0.3
CHECK_EVERY = 10


class GroupLasso(NamedTuple):
    """The map A, terms x responses, and how it was found.

    `objective` is F after each step; `gap` how far it is above the minimum at most, as a share
    of |Y|².
    """

    coefficients: Floats
    objective: list[float]
    gap: float


def vanishing_penalty(X: Matrix, Y: Floats) -> float:
    """Give the least μ at which A is all zeros: twice the largest |fᵀ Y| of a term f."""
    return 2 * float(row_norms(product(transposed(X), Y)).max(initial=0))


def group_lasso(
    X: Matrix,
    Y: Floats,
    mu: float,
    *,
    tolerance: float = 1e-3,
    max_steps: int = 2000,
) -> GroupLasso:
    """Minimise F to a gap of `tolerance` times |Y|², or until `max_steps` are done.

    μ is above 0 and below `vanishing_penalty`.
    """
    Xt, right = transposed(X), Y.astype(np.float64)
    A = np.zeros((X.shape[1], Y.shape[1]))
    whole = squared(Y)
    descent = _Descent(right, mu, [whole], max_steps)
    active = np.empty(0, dtype=np.intp)
    while True:
        residual = right - _double(X, active) @ A[active]
        slopes = 2 * row_norms(product(Xt, residual.astype(X.dtype)))
        gap = (descent.objective[-1] - _dual(right, residual, slopes, mu)) / whole
        done = gap <= tolerance and len(active)
        if done or descent.stalled or len(descent.objective) > max_steps:
            return GroupLasso(A.astype(X.dtype), descent.objective, gap)
        slopes[active] = np.inf
        working = np.argsort(-slopes, kind="stable")[: max(FIRST_TERMS, 3 * len(active))]
        working = np.sort(working[slopes[working] > mu])
        A[working] = descent.run(_double(X, working), A[working], INNER_SHARE * tolerance)
        active = np.flatnonzero(A.any(axis=1))


class _Descent:
    """Accelerated proximal gradients on working sets, in double precision: F falls to the last."""

    def __init__(self, Y: Floats, mu: float, objective: list[float], max_steps: int) -> None:
        self.Y = Y
        self.mu = mu
        self.objective = objective
        self.max_steps = max_steps
        self.stalled = False

    def run(self, X: Any, A: Floats, tolerance: float) -> Floats:
        """Go on from A until the gap is at the tolerance, as a share of |Y|²."""
        Xt = transposed(X)
        curvatures = (abs(Xt) @ (abs(X) @ np.ones(X.shape[1])))[:, np.newaxis]
        image = product(X, A)
        ahead, ahead_image, momentum, steps = A, image, 1.0, 0
        self.stalled = True
        while len(self.objective) <= self.max_steps:
            if steps % CHECK_EVERY == CHECK_EVERY - 1 and self._gap(Xt, image) <= tolerance:
                break
            gradient = product(Xt, ahead_image - self.Y)
            B = _shrunk(ahead - gradient / curvatures, self.mu / (2 * curvatures[:, 0]))
            B_image = product(X, B)
            value = squared(B_image - self.Y) + self.mu * float(row_norms(B).sum())
            if value > self.objective[-1]:
                if momentum == 1:  # a plain step: only rounding is left
                    break
                ahead, ahead_image, momentum = A, image, 1.0
                continue
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            share = (momentum - 1) / following
            ahead, ahead_image = B + share * (B - A), B_image + share * (B_image - image)
            A, image, momentum = B, B_image, following
            self.objective.append(value)
            self.stalled = False
            steps += 1
        return A

    def _gap(self, Xt: Any, image: Floats) -> float:
        residual = self.Y - image
        slopes = 2 * row_norms(product(Xt, residual))
        lowest = _dual(self.Y, residual, slopes, self.mu)
        return (self.objective[-1] - lowest) / squared(self.Y)


def _double(X: Any, columns: NDArray[np.intp]) -> Any:
    """Take a few columns of X, in double precision."""
    return X[:, columns].astype(np.float64)


def _dual(Y: Floats, residual: Floats, slopes: Floats, mu: float) -> float:
    """Give a lower bound of the minimum: |Y|² - |Y - θ|², θ the residual scaled to be feasible.

    Feasible is 2 |fᵀ θ| ≤ μ for every term f.
    """
    theta = residual * min(1.0, mu / max(float(slopes.max(initial=0)), mu))
    return squared(Y) - squared(Y - theta)


def _shrunk(block: Floats, by: Floats) -> Floats:
    """Shorten each row by its length in `by`, the shorter ones to 0."""
    lengths = row_norms(block)
    left = np.maximum(lengths - by, 0)
    factors = np.divide(left, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.asarray(block * factors[:, np.newaxis])
