"""Regularised locality preserving indexing: eigenvectors of a document graph, then regression."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.graphs.options import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.projections.base import NotConverged, check_count, check_not_negative, generator
from lpisearch.projections.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.projections.choices import choose_alpha
from lpisearch.projections.label_alpha import choose_label_alpha
from lpisearch.projections.label_strength import (
    Both,
    Labelled,
    choose_label_strength,
    some_labels,
)
from lpisearch.projections.least_squares import (
    LEAST_SQUARES_TOLERANCE,
    REGRESSION_TOLERANCE,
    ROUNDING,
    ridge,
)
from lpisearch.projections.responses import ResponseProjection, Responses, shares_responses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from lpisearch.graphs.affinity import Floats, Matrix
    from lpisearch.projections.catalogue import Method


class RLPI(ResponseProjection):
    """Regularised locality preserving indexing by spectral regression.

    1. A graph W joins each document to its nearest (or to those of its class).
    2. The leading eigenvectors y of W y = λ D y, without the constant one, place every document
       near its neighbours.
    3. Ridge regression finds for each y the weights a of the terms: it minimises
       |X a - y|² + α |a|² with documents as rows of X (the paper has them as columns).

    With labels for all documents there is no graph and no eigenproblem: the responses y are
    class indicators made orthogonal to the constant vector and to each other (Gram-Schmidt), at
    most one fewer than there are classes. With labels for some, there are dimensions of both
    kinds, those of labels first; how much they count is chosen by what is held out.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.projections.choices.choose_dimensions`. Fully
        labelled documents have one dimension fewer than classes, whatever is asked beyond that.
    alpha
        Strength of the ridge penalty, or "auto": generalised cross-validation, or, with labels
        for all documents, nearest centroid on groups of near-duplicates that are held out.
    graph
        "auto" (by label where there are labels, by nearness elsewhere), or a name from `GRAPHS`;
        graphs by nearness take no notice of labels, and "blend" makes one graph of both.
    label_strength
        Where some documents have labels: how many times the dimensions from labels count beside
        those from neighbours, from 0 (labels are left out) to infinity (neighbours are); or
        "auto": see `lpisearch.projections.label_strength`.
    n_neighbors, radius, edge_weights, heat_scale
        See `lpisearch.graphs.GraphOptions`.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power. `components_` does not
        contain the scale.
    solver
        Of the eigenproblem: "auto", "block", "arpack" or "dense".
    tolerance
        The block solver stops when another round would move the scaled subspace by less than
        this share.
    regression_tolerance
        Beyond 2,000 documents and terms the regression is iterated until its residuals, each
        as a share of its response and weighted, have a root mean square below this. 0 factorises,
        however large X is. "auto" is 0.03; where α is 0 it is 1e-6: least squares was asked for.
    random_state
        Seed of the block's start.

    Attributes
    ----------
    components_
        n_components_ x n_terms.
    eigenvalues_
        λ of each dimension, largest first.
    scales_
        eigenvalues_ ** eigenvalue_power.
    alpha_
        The strength used; where there are dimensions of both kinds, that of the neighbours.
    label_alpha_, label_strength_
        That of the labels, and how much they count; None without dimensions of both kinds.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour.
    regression_residual_
        What the regression was left at, measured as `regression_tolerance` is; 0 if factorised.
    seconds_
        Time of the stages: "graph", "eigenvectors", "regression".

    Notes
    -----
    In k connected parts the eigenvalue 1 comes k times; all but the constant vector are kept.
    An isolated document has the response 0.

    References
    ----------
    D. Cai, X. He, W. V. Zhang, J. Han: Regularized locality preserving indexing via spectral
    regression, CIKM 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.projections.rlpi import RLPI
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> RLPI(n_components=1, n_neighbors=1).fit_transform(X).round(1)
    array([[ 0.7],
           [ 0.6],
           [-0.7],
           [-0.6]])
    """

    about: ClassVar[Method] = CATALOGUE["rlpi"]

    alpha_: float
    label_alpha_: float | None
    label_strength_: float | None
    regression_residual_: float

    def __init__(
        self,
        n_components: int | str = DIMENSIONS,
        *,
        alpha: float | str = 1.0,
        graph: str = "auto",
        label_strength: float | str = "auto",
        n_neighbors: int = NEIGHBOURS,
        radius: float = RADIUS,
        edge_weights: str = EDGE_WEIGHTS[0],
        heat_scale: float = HEAT_SCALE,
        eigenvalue_power: float = EIGENVALUE_POWER,
        solver: str = "auto",
        tolerance: float = 0.05,
        regression_tolerance: float | str = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.graph = graph
        self.label_strength = label_strength
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.edge_weights = edge_weights
        self.heat_scale = heat_scale
        self.eigenvalue_power = eigenvalue_power
        self.solver = solver
        self.tolerance = tolerance
        self.regression_tolerance = regression_tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn the map.

        Parameters
        ----------
        X
            Documents as rows, best at unit length; sparse or dense.
        y
            A label for each document; None, -1, "" or NaN is unlabelled; a list holds several.
        affinity
            A ready graph, in place of one built from X and y.
        """
        self._check_parameters()
        X = self._documents(X)
        rng = generator(self.random_state)
        self.label_alpha_ = self.label_strength_ = None
        if affinity is None and self.graph == "auto":
            shares = some_labels(y, X.shape[0])
            if shares is not None:
                return self._fit_both(X, shares, rng)
        responses = self._responses(X, y, affinity, rng)
        coefficients = self._regress(X, responses, rng)
        self._keep(coefficients.T, responses.values, responses.asked)
        return self

    def _fit_both(self, X: Matrix, shares: csr_array, rng: np.random.Generator) -> Self:
        """Learn dimensions from the labels of some documents, and from the neighbours of all."""
        neighbours = self._responses(X, None, None, rng)
        by_neighbours = self._regress(X, neighbours, rng)
        alpha, residual = self.alpha_, self.regression_residual_
        rows = np.flatnonzero(np.diff(shares.indptr))
        own = shares_responses(shares[rows], X.dtype)
        labels = Responses(own.vectors, own.values, len(own.values), shares=shares[rows])
        # As a map of the labelled documents alone would be, to the choice of its α.
        by_labels = self._regress(X[rows], labels, generator(self.random_state))
        self.alpha_, self.label_alpha_ = alpha, self.alpha_
        self.regression_residual_ = max(residual, self.regression_residual_)
        places = (X[rows] @ by_neighbours) * neighbours.values**self.eigenvalue_power
        known = Labelled(X[rows], shares[rows], np.asarray(places))
        self.label_strength_ = self._strength(known, self.label_alpha_, rng)
        both = Both((by_labels, labels.values), (by_neighbours, neighbours.values))
        most = None if isinstance(self.n_components, str) else neighbours.asked
        coefficients, values = both.side_by_side(self.label_strength_, most)
        self._keep(coefficients.T, values, min(most or len(values), len(values)))
        return self

    def _strength(self, known: Labelled, alpha: float, rng: np.random.Generator) -> float:
        """Resolve "auto" for the documents that have labels."""
        if not isinstance(self.label_strength, str):
            return float(self.label_strength)
        began = perf_counter()
        strength = choose_label_strength(known, alpha, rng)
        self.seconds_["strength"] = perf_counter() - began
        return strength

    def _regress(self, X: Matrix, responses: Responses, rng: np.random.Generator) -> Floats:
        """Choose α, and find the weights of the terms: terms x responses."""
        began = perf_counter()
        weights = np.maximum(responses.values, 0) ** (2 * self.eigenvalue_power)
        if not isinstance(self.alpha, str):
            self.alpha_ = float(self.alpha)
        elif responses.shares is not None:
            self.alpha_ = choose_label_alpha(X, responses.vectors, responses.shares, rng)
        else:
            self.alpha_ = choose_alpha(X, responses.vectors, weights, rng)
        tolerance = self._regression_tolerance()
        solved = ridge(X, responses.vectors, self.alpha_, weights=weights, tolerance=tolerance)
        self.regression_residual_ = solved.residual
        if solved.residual > max(tolerance, ROUNDING):
            warnings.warn(
                NotConverged("The regression", solved.steps, solved.residual, tolerance),
                stacklevel=3,
            )
        spent = self.seconds_.get("regression", 0.0)
        self.seconds_["regression"] = spent + perf_counter() - began
        return solved.coefficients

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components, auto=True)
        check_not_negative("alpha", self.alpha, auto=True)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        check_not_negative("tolerance", self.tolerance)
        check_not_negative("regression_tolerance", self.regression_tolerance, auto=True)
        if self.label_strength != np.inf:
            check_not_negative("label_strength", self.label_strength, auto=True)

    def _regression_tolerance(self) -> float:
        """Resolve "auto" for the α that is used."""
        if not isinstance(self.regression_tolerance, str):
            return float(self.regression_tolerance)
        return REGRESSION_TOLERANCE if self.alpha_ > 0 else LEAST_SQUARES_TOLERANCE
