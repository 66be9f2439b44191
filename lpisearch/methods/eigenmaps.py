"""Laplacian eigenmaps."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.graphs.base import GRAPHS, Graph
from lpisearch.methods.base import Embedding, generator, with_fixed_signs
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.placement import SAME, InvertedRows
from lpisearch.methods.responses import ResponseTransformer
from lpisearch.numeric.rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats


@dataclass(eq=False, repr=False)
class Eigenmaps(ResponseTransformer, Embedding):
    """Laplacian eigenmaps: places that vary least between neighbours, without a linear map.

    A graph W joins the documents (rows of X; the papers write them as columns). Among all
    y with yᵀ D y fixed and orthogonal to the constant vector, those that minimise

        ½ Σᵢⱼ (y_i - y_j)² W_ij = yᵀ L y,   that is   L y = (1 - λ) D y,   W y = λ D y,

    are the places of the documents: one dimension for each of the leading eigenvectors
    (lpp-analysis-2005, equation 6). LPP and LPI look for the y among the linear functions of
    the terms; where the documents are linearly independent that is no restriction, and the
    results are the same (proposition 4.1).

    A new document x is placed by a Nyström step over the fitted documents that would be its
    neighbours, with the weights of those edges:

        y(x) = (1 / λ) Σᵢ w(x, i) y_i / Σᵢ w(x, i)

    It has no label, so with `graph` "label" or "blend", or a ready graph, its neighbours are
    the nearest documents by cosine; so they are with the Euclidean metric, a mutual graph or a
    search of your own. Self-tuning and fuzzy weights of it are its cosines. A document in the
    direction of a fitted one gets the same place.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`.
    solver, tolerance, random_state
        Parameters of the eigenproblem: see `RLPI`.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`.

    Attributes
    ----------
    embedding_
        Documents x n_components_; each dimension's largest absolute entry is positive.
    eigenvalues_
        λ of each dimension, largest first.
    scales_, n_graph_components_, n_isolated_, seconds_
        See `GraphTransformer`; stages are "graph" and "eigenvectors".

    Notes
    -----
    An isolated document has a place of zeros. Documents in the same direction share the mean of
    their places. The fitted documents are stored, for the Nyström step.

    References
    ----------
    X. He, D. Cai, W. Min: Statistical and computational analysis of locality preserving
    projection, ICML 2005, section 4.1.

    M. Belkin, P. Niyogi: Laplacian eigenmaps for dimensionality reduction and data
    representation, Neural Computation 15(6), 2003.

    Y. Bengio, J.-F. Paiement, P. Vincent, O. Delalleau, N. Le Roux, M. Ouimet: Out-of-sample
    extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering, NIPS 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.eigenmaps import Eigenmaps
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> maps = Eigenmaps(n_components=1, n_neighbors=1).fit(X)
    >>> maps.embedding_.round(1).ravel()
    array([ 1.,  1., -1., -1.])
    >>> maps.transform([[0.0, 0.0, 1.0]]).round(1)
    array([[-1.]])
    """

    about = CATALOGUE["eigenmaps"]
    placement = "nystrom"

    n_components: int | str = DIMENSIONS
    _: KW_ONLY
    solver: str = "auto"
    tolerance: float = 0.05
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        responses = self._responses(X, y, affinity, generator(self.random_state))
        rows = SparseRows.of_matrix(X).unit()
        places = _shared(responses.vectors, rows)
        self._store_vectors(with_fixed_signs(places.T).T, responses.requested)
        self.eigenvalues_ = responses.values
        self._fitted = InvertedRows.of_rows(rows)
        name = "nearest" if affinity is not None else self._graph_name(y, X.shape[0])
        self._edges = self._edge_arrays(GRAPHS[name], X.shape[0])

    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers that the Nyström step takes, by name."""
        places = {"places": self.embedding_, "eigenvalues": self.eigenvalues_}
        return places | self._edges | self._fitted.arrays()

    def _edge_arrays(self, graph: Graph, n_documents: int) -> dict[str, NDArray[Any]]:
        """Return how a new document finds its neighbours, and how its edges are weighted."""
        most, least, edge_weights = self.n_neighbors, 0.0, self.edge_weights
        if edge_weights in {"self-tuning", "fuzzy"}:
            edge_weights = "cosine"
        if graph.has_ball:
            most, least = n_documents, self.graph_options.min_cosine
        elif graph.is_complete:
            most, edge_weights = n_documents, "cosine"
        return {
            "edge_weights": np.array([edge_weights]),
            "edge_limits": np.array([most, least, self.heat_scale], np.float64),
        }


def _shared(places: Floats, rows: SparseRows) -> Floats:
    """Replace the places of documents in the same direction by their mean."""
    places = places.copy()
    for group in _same_directions(rows):
        places[group] = places[group].mean(axis=0)
    return places


def _same_directions(rows: SparseRows) -> Iterator[NDArray[np.intp]]:
    """Yield groups of documents that differ in length only.

    Only documents with the same terms can, so few are compared.
    """
    groups: dict[bytes, list[int]] = {}
    entries = list(rows)
    orders = [np.argsort(terms) for terms, _ in entries]
    for number, ((terms, _), order) in enumerate(zip(entries, orders, strict=True)):
        if len(terms):
            groups.setdefault(terms[order].tobytes(), []).append(number)
    for numbers in groups.values():
        rest = np.array(numbers)
        weights = np.array([entries[row][1][orders[row]] for row in numbers], np.float64)
        while len(rest) > 1:
            same = weights @ weights[0] > 1 - SAME
            same[0] = True
            if np.count_nonzero(same) > 1:
                yield rest[same]
            rest, weights = rest[~same], weights[~same]
