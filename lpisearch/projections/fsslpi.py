"""FSSL: graph eigenvectors, then group-sparse regression on the terms."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.graphs.options import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.projections.base import NotConverged, check_count, check_not_negative, generator
from lpisearch.projections.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.projections.group_lasso import group_lasso, vanishing_penalty
from lpisearch.projections.least_squares import ridge
from lpisearch.projections.responses import ResponseProjection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Floats, Matrix
    from lpisearch.projections.catalogue import Method

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
        Dimensions, or "auto": see `lpisearch.projections.choices.choose_dimensions`.
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
    >>> from lpisearch.projections.fsslpi import FSSL
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
