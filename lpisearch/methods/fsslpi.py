"""FSSL, group lasso.

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

import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from lpisearch.graphs.base import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.methods.base import NotConverged, check_count, check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.methods.linalg import product, transposed
from lpisearch.methods.regression import ridge, row_norms, squared
from lpisearch.methods.responses import ResponseProjection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix
    from lpisearch.methods.catalogue import Method


# The usual end of a path of penalties where there are more terms than documents.
AUTO_SHARE = 0.01


class FSSL(ResponseProjection):
    """Joint feature selection and subspace learning, the unsupervised form by the graph.

    With documents as rows of X (the papers write them as columns) and the leading eigenvectors of
    W y = λ D y, without the constant one, as the columns of Y, the map A minimises

        |X A - Y|² + μ |A|₂,₁,

    where |A|₂,₁ is the sum of the lengths of the rows of A. A row belongs to a term: the rows of
    terms that do not help are zero, for all dimensions together. Labels for all documents take
    the place of the graph, as in `RLPI`.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`.
    mu
        Strength of the penalty, or "auto": a hundredth of the strength at which every term is
        left out.
    graph, n_neighbors, radius, edge_weights, heat_scale
        See `RLPI`.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power.
    tol
        The iteration ends when the objective is above its minimum by no more than this share of
        |Y|², which the duality gap proves.
    max_iter
        Steps after which it ends anyway, with the warning `NotConverged`.
    random_state
        Seed of the eigenproblem's start.

    Attributes
    ----------
    components_
        n_components_ x n_terms; columns of terms that are left out are zero.
    selected_
        The columns of the terms that are kept.
    mu_
        The strength used.
    objective_
        The objective after each step, beginning with that of A = 0; it never rises.
    n_iter_
        Steps done.
    gap_
        How far it is above the minimum at most, as a share of |Y|².
    eigenvalues_
        λ of each dimension, largest first.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour.
    seconds_
        Time of the stages: "graph", "eigenvectors", "regression".

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

    about: ClassVar[Method] = CATALOGUE["fsslpi"]

    def __init__(
        self,
        n_components: int | str = DIMENSIONS,
        *,
        mu: float | str = "auto",
        graph: str = "auto",
        n_neighbors: int = NEIGHBOURS,
        radius: float = RADIUS,
        edge_weights: str = EDGE_WEIGHTS[0],
        heat_scale: float = HEAT_SCALE,
        eigenvalue_power: float = EIGENVALUE_POWER,
        tol: float = 1e-3,
        max_iter: int = 2000,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.mu = mu
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.edge_weights = edge_weights
        self.heat_scale = heat_scale
        self.eigenvalue_power = eigenvalue_power
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn the map from documents (rows of X), their labels, or a ready graph.

        Raises
        ------
        ValueError
            If μ is so large that every term is left out; the message names the limit.
        """
        check_count("n_components", self.n_components, auto=True)
        check_count("max_iter", self.max_iter)
        check_not_negative("mu", self.mu, auto=True)
        check_not_negative("tol", self.tol)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        X = self._documents(X)
        responses = self._responses(X, y, affinity, generator(self.random_state))
        began = perf_counter()
        coefficients = self._regress(X, responses.vectors)
        self.seconds_["regression"] = perf_counter() - began
        self.n_iter_ = max(len(self.objective_) - 1, 1)
        self.selected_ = np.flatnonzero(coefficients.any(axis=1))
        self._keep(coefficients.T, responses.values, responses.asked)
        return self

    def _regress(self, X: Matrix, Y: Floats) -> Floats:
        """Solve for A; without a penalty that is the least squares solution of least norm."""
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
        found = group_lasso(X, Y, self.mu_, tolerance=self.tol, max_steps=self.max_iter)
        self.objective_, self.gap_ = found.objective, found.gap
        if found.gap > self.tol:
            steps = len(found.objective) - 1
            warnings.warn(NotConverged("FSSL", steps, found.gap, self.tol), stacklevel=3)
        return found.coefficients


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
