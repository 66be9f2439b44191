"""Laplacian score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lpisearch.graphs.base import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.methods.base import GraphProjection, check_count, check_not_negative
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.methods.locality import best_terms, laplacian_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats
    from lpisearch.methods.catalogue import Method


class LaplacianScore(GraphProjection):
    """Selection of terms by their Laplacian score.

    With documents as rows, W the affinity of the graph, D its degrees and L = D - W, the score of
    a term f (a column of X; the papers write documents as columns) is

        LS = fᵀ L f / fᵀ D f,

    and the terms with the lowest scores are kept (lpfl-2012, equation 7). The map is linear: it
    selects columns, so that its dimensions are terms.

    Parameters
    ----------
    n_components
        How many terms to keep. The papers keep thousands; each is a dimension that an index
        stores for every document.
    centred
        Whether f is taken about its mean in fᵀ D f, as He, Cai and Niyogi do. Equation 7 of
        lpfl-2012 has no mean: a term that all documents share alike then has the best score of
        all, though it tells none from another.
    graph, n_neighbors, radius, edge_weights, heat_scale
        See `RLPI`.
    eigenvalue_power
        `embed` scales each term by its eigenvalue to this power.

    Attributes
    ----------
    selected_
        The columns of the terms, best first.
    scores_
        LS of every term; infinite where there is none: the term stands in isolated documents
        only, or in all alike.
    eigenvalues_
        1 - LS of each selected term, fᵀ W f / fᵀ D f, on the scale of the graph eigenvalues.
    components_
        The map as a matrix, n_components_ x n_terms: a single 1 in each row. It is made when it
        is asked for; `transform` does without.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour (they take no part).

    References
    ----------
    X. He, D. Cai, P. Niyogi: Laplacian score for feature selection, NIPS 2005; lpfl-2012 (Q. Gu,
    M. Danilevsky, Z. Li, J. Han: Locality preserving feature learning, AISTATS 2012), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.laplacian_score import LaplacianScore
    >>> X = np.array([[1.0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 2], [0, 0, 1, 2]])
    >>> LaplacianScore(n_components=2, n_neighbors=1).fit(X).selected_
    array([0, 3])
    """

    about: ClassVar[Method] = CATALOGUE["laplacian-score"]

    def __init__(
        self,
        n_components: int = DIMENSIONS,
        *,
        centred: bool = True,
        graph: str = "auto",
        n_neighbors: int = NEIGHBOURS,
        radius: float = RADIUS,
        edge_weights: str = EDGE_WEIGHTS[0],
        heat_scale: float = HEAT_SCALE,
        eigenvalue_power: float = EIGENVALUE_POWER,
    ) -> None:
        self.n_components = n_components
        self.centred = centred
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.edge_weights = edge_weights
        self.heat_scale = heat_scale
        self.eigenvalue_power = eigenvalue_power

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Score the terms of documents (rows of X), by their labels, or by a ready graph."""
        check_count("n_components", self.n_components)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        X = self._documents(X)
        W = self._affinity(X, y, affinity)
        self.scores_ = laplacian_scores(X, W, centred=self.centred)
        self.selected_: NDArray[np.intp] = best_terms(self.scores_, self.n_components)
        self._check_found(len(self.selected_), self.n_components, X.shape[1])
        self.eigenvalues_ = (1 - self.scores_[self.selected_]).astype(X.dtype)
        self.n_components_ = len(self.selected_)
        return self

    def transform(self, X: Any) -> Floats:
        """Take the selected columns: what `X @ components_.T` gives."""
        check_is_fitted(self, "selected_")
        chosen: Any = self._documents(X, reset=False)[:, self.selected_]
        return chosen if isinstance(chosen, np.ndarray) else np.asarray(chosen.toarray())

    @property
    def components_(self) -> Floats:  # type: ignore[override]  # thousands of rows: made on demand
        """The selection as a dense matrix, n_components_ x n_terms."""
        matrix = np.zeros((self.n_components_, len(self.scores_)), self.eigenvalues_.dtype)
        matrix[np.arange(self.n_components_), self.selected_] = 1
        return matrix
