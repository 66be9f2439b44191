"""Sparse projections over graphs."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.graphs.base import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.methods.base import check_count, check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.methods.lasso import cardinality_for, lasso
from lpisearch.methods.responses import ResponseProjection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.methods.catalogue import Method


class SPG(ResponseProjection):
    """Sparse projections over graphs: a lasso path on each eigenvector of a document graph.

    1. A graph W joins each document to its nearest (or to those of its class).
    2. The leading eigenvectors y of W y = λ D y, without the constant one, place every document
       near its neighbours.
    3. For each y the path of the lasso, which minimises |X a - y|² + β |a|₁ with documents as
       rows of X (equation 5; the paper has them as columns), is followed from the β that leaves
       nothing down to where one term more than k would enter: card(a) ≤ k.

    With labels for all documents the responses y are class indicators made orthogonal to the
    constant vector and to each other (Gram-Schmidt): a sparse linear discriminant analysis. With
    labels for some, both are blended into one graph.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`. Fully
        labelled documents have one dimension fewer than classes, whatever is asked beyond that.
    cardinality
        k, the most terms that a dimension may use; "auto" is the root of the number of terms,
        rounded up.
    graph
        "auto" (by label where there are labels, by nearness elsewhere), or a name from `GRAPHS`;
        graphs by nearness take no notice of labels.
    n_neighbors, radius, edge_weights, heat_scale
        See `lpisearch.graphs.GraphOptions`.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power. `components_` does not
        contain the scale.
    solver, tolerance
        Of the eigenproblem: see `RLPI`.
    random_state
        Seed of the eigenproblem.

    Attributes
    ----------
    components_
        n_components_ x n_terms, a full array with exact zeros: at most k others in each row.
    eigenvalues_
        λ of each dimension, largest first.
    penalties_
        β of each dimension, where its path was left.
    cardinality_
        The k used. A path that comes to the least squares solution before ends with fewer terms.
    scales_
        eigenvalues_ ** eigenvalue_power.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour.
    seconds_
        Time of the stages: "graph", "eigenvectors", "regression".

    Notes
    -----
    There is no intercept, in the regression as in `transform`. A response that no term has
    anything to do with is left out.

    "auto" was read off the sparsity that the paper reports for its best results on TDT2 (tables 2
    and 3): between 50 and 125 of 6,000 to 19,000 terms.

    The cost of a dimension is k products with X, and k³: thousands of terms take long, and then
    they are not few.

    References
    ----------
    D. Cai, X. He, J. Han: Sparse projections over graph, AAAI 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.spg import SPG
    >>> X = np.array([[1.0, 0, 0.2], [0.9, 0.3, 0], [0, 0.2, 1], [0, 0.3, 0.9]])
    >>> SPG(n_components=1, cardinality=2, n_neighbors=1).fit(X).components_.round(1)
    array([[ 1.2,  0. , -1. ]])
    """

    about: ClassVar[Method] = CATALOGUE["spg"]

    def __init__(
        self,
        n_components: int | str = DIMENSIONS,
        *,
        cardinality: int | str = "auto",
        graph: str = "auto",
        n_neighbors: int = NEIGHBOURS,
        radius: float = RADIUS,
        edge_weights: str = EDGE_WEIGHTS[0],
        heat_scale: float = HEAT_SCALE,
        eigenvalue_power: float = EIGENVALUE_POWER,
        solver: str = "auto",
        tolerance: float = 0.05,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.cardinality = cardinality
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.edge_weights = edge_weights
        self.heat_scale = heat_scale
        self.eigenvalue_power = eigenvalue_power
        self.solver = solver
        self.tolerance = tolerance
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
        check_count("n_components", self.n_components, auto=True)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        check_not_negative("tolerance", self.tolerance)
        X = self._documents(X)
        cardinality = cardinality_for(self.cardinality, X.shape[1])
        responses = self._responses(X, y, affinity, generator(self.random_state))
        began = perf_counter()
        found = lasso(X, responses.vectors, cardinality=cardinality)
        self.seconds_["regression"] = perf_counter() - began
        used = np.flatnonzero(found.coefficients.any(axis=0))
        self.cardinality_ = cardinality
        self.penalties_ = found.penalties[used]
        self._keep(found.coefficients.T[used], responses.values[used], responses.asked)
        return self
