"""Joint feature selection and subspace learning (FSSL) by the group lasso.

Documents are rows of X and responses are columns of Y. The map A (terms x responses) minimises

    F(A) = |X A - Y|² + μ |A|₂,₁,    |A|₂,₁ the sum of the lengths of the rows of A,

so that most terms have no weight in any response. It is solved by accelerated proximal gradients
(Beck and Teboulle, 2009) on a growing working set of terms.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.methods.base import (
    NotConverged,
    TermSelector,
    check_count,
    check_not_negative,
    generator,
)
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import product, transposed
from lpisearch.methods.regression import ridge, squared
from lpisearch.methods.responses import ResponseProjection
from lpisearch.numeric.rows import row_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix


# The usual end of a path of penalties if there are more terms than documents.
AUTO_SHARE = 0.01


@dataclass(eq=False, repr=False)
class FSSL(TermSelector, ResponseProjection):
    """Joint feature selection and subspace learning, in its unsupervised form by the graph.

    With documents as rows of X (the papers write them as columns) and the leading eigenvectors of
    W y = λ D y, without the constant one, as the columns of Y, the map A minimises

        |X A - Y|² + μ |A|₂,₁,

    where |A|₂,₁ is the sum of the lengths of the rows of A. A row belongs to a term: the rows of
    terms that do not help are zero in all dimensions at once. Labels for all documents replace
    the graph, as in `RLPI`.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`.
    mu
        Strength of the penalty, or "auto": a hundredth of the strength that excludes every term.
        It grows with the length of y: yᵀ D y is the sum of the degrees D here, so that a typical
        entry is 1; with yᵀ D y = 1, as in the paper, μ is divided by the root of that sum.
        One that excludes every term is a ValueError that names the limit.
    tol
        The iteration ends when the duality gap proves that the objective exceeds its minimum by
        at most this share of |Y|².
    max_iter
        Limit of steps, at which it ends with the warning `NotConverged`.
    random_state
        Seed of the eigenproblem.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`.

    Attributes
    ----------
    components_
        n_components_ x n_terms; columns of terms that are not selected are zero.
    selected_
        The columns of the selected terms.
    mu_
        The strength used.
    objective_
        The objective after each step, starting with that of A = 0; it never rises.
    n_iter_
        Number of steps.
    gap_
        Bound of its excess over the minimum, as a share of |Y|².
    eigenvalues_
        λ of each dimension, largest first.
    n_graph_components_, n_isolated_, seconds_
        See `GraphTransformer`; stages are "graph", "eigenvectors" and "regression".

    References
    ----------
    Q. Gu, Z. Li, J. Han: Joint feature selection and subspace learning, IJCAI 2011; compared
    with in lpfl-2012.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.fsslpi import FSSL
    >>> X = np.array([[1.0, 0, 0.1], [0.9, 0.1, 0.1], [0, 0.9, 0.1], [0.1, 1, 0.2]])
    >>> FSSL(n_components=1, mu=1, n_neighbors=1).fit(X).selected_
    array([0, 1])
    """

    about = CATALOGUE["fsslpi"]

    n_components: int | str = DIMENSIONS
    _: KW_ONLY
    mu: float | str = "auto"
    tol: float = 1e-3
    max_iter: int = 2000
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        responses = self._responses(X, y, affinity, generator(self.random_state))
        with self._timed("regression"):
            coefficients = self._regress(X, responses.vectors)
        self.n_iter_ = max(len(self.objective_) - 1, 1)
        self._store(coefficients.T, responses.values, responses.requested)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("max_iter", self.max_iter)
        check_not_negative("mu", self.mu, auto=True)
        check_not_negative("tol", self.tol)

    def _regress(self, X: Matrix, Y: Floats) -> Floats:
        """Solve for A; without a penalty, the least squares solution of least norm."""
        limit = vanishing_penalty(X, Y)
        self.mu_ = AUTO_SHARE * limit if isinstance(self.mu, str) else float(self.mu)
        if self.mu_ == 0 or not Y.shape[1]:
            self.objective_, self.gap_ = [], 0.0
            return ridge(X, Y, 0.0).coefficients
        if self.mu_ >= limit:
            raise ValueError(
                f"mu is {self.mu_:g}, which excludes every term; use less than {limit:g}, "
                'or "auto".'
            )
        solution = group_lasso(X, Y, self.mu_, tolerance=self.tol, max_steps=self.max_iter)
        self.objective_, self.gap_ = solution.objective, solution.gap
        if solution.gap > self.tol:
            steps = len(solution.objective) - 1
            warnings.warn(NotConverged("FSSL", steps, solution.gap, self.tol), stacklevel=4)
        return solution.coefficients


# Size of the first working set, which at most trebles in a round.
FIRST_TERMS = 100
# On the working set the gap is reduced to this share of the tolerance.
INNER_SHARE = 0.3
CHECK_EVERY = 10


class GroupLasso(NamedTuple):
    """The map A (terms x responses), F after each step, and the duality gap as a share of |Y|²."""

    coefficients: Floats
    objective: list[float]
    gap: float


def vanishing_penalty(X: Matrix, Y: Floats) -> float:
    """Return the least μ at which A is all zeros: twice the largest |fᵀ Y| of a term f."""
    return 2 * float(row_lengths(product(transposed(X), Y)).max(initial=0))


def group_lasso(
    X: Matrix,
    Y: Floats,
    mu: float,
    *,
    tolerance: float = 1e-3,
    max_steps: int = 2000,
) -> GroupLasso:
    """Minimise F to a gap of `tolerance` times |Y|², or for `max_steps` steps.

    μ is above 0 and below `vanishing_penalty`. A working set of terms grows by those with the
    steepest slopes; the duality gap is taken over all terms.
    """
    Xt, right = transposed(X), Y.astype(np.float64)
    A = np.zeros((X.shape[1], Y.shape[1]))
    whole = squared(Y)
    descent = _Descent(right, mu, [whole], max_steps)
    active = np.empty(0, dtype=np.intp)
    while True:
        residual = right - _double(X, active) @ A[active]
        slopes = 2 * row_lengths(product(Xt, residual.astype(X.dtype)))
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
    """Accelerated proximal gradients on working sets, in double precision.

    F never rises: momentum that would raise it is dropped, and a step without momentum descends.
    Each term f has its own step 1 / c, c the sum of |fᵀ g| over all terms g: diag(c) - Xᵀ X is then
    diagonally dominant, so diag(c) bounds the curvature. Rare terms take far longer steps than a
    common bound would allow.
    """

    def __init__(self, Y: Floats, mu: float, objective: list[float], max_steps: int) -> None:
        self.Y = Y
        self.mu = mu
        self.objective = objective
        self.max_steps = max_steps
        self.stalled = False

    def run(self, X: Any, A: Floats, tolerance: float) -> Floats:
        """Continue from A until the gap is at most this share of |Y|²."""
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
            value = squared(B_image - self.Y) + self.mu * float(row_lengths(B).sum())
            if value > self.objective[-1]:
                if momentum == 1:  # a plain step: only rounding remains
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
        slopes = 2 * row_lengths(product(Xt, residual))
        lowest = _dual(self.Y, residual, slopes, self.mu)
        return (self.objective[-1] - lowest) / squared(self.Y)


def _double(X: Any, columns: NDArray[np.intp]) -> Any:
    """Return a few columns of X in double precision."""
    return X[:, columns].astype(np.float64)


def _dual(Y: Floats, residual: Floats, slopes: Floats, mu: float) -> float:
    """Return the lower bound |Y|² - |Y - θ|², θ the residual scaled to 2 |fᵀ θ| ≤ μ for all f."""
    theta = residual * min(1.0, mu / max(float(slopes.max(initial=0)), mu))
    return squared(Y) - squared(Y - theta)


def _shrunk(block: Floats, reductions: Floats) -> Floats:
    """Shorten each row by its reduction, shorter ones to 0."""
    lengths = row_lengths(block)
    reduced = np.maximum(lengths - reductions, 0)
    factors = np.divide(reduced, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.asarray(block * factors[:, np.newaxis])
