"""Laplacian eigenmaps."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from lpisearch.methods.base import Embedding, generator, with_fixed_signs
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.placement import InvertedRows, average_duplicates
from lpisearch.methods.responses import ResponseTransformer
from lpisearch.numeric.rows import SparseRows

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        places = average_duplicates(responses.vectors, rows)
        self._store_vectors(with_fixed_signs(places.T).T, responses.requested)
        self.eigenvalues_ = responses.values
        self._fitted = InvertedRows.of_rows(rows)
        self._edges = self._edge_arrays(y, affinity, X.shape[0])

    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers that the Nyström step takes, by name."""
        places = {"places": self.embedding_, "eigenvalues": self.eigenvalues_}
        return places | self._edges | self._fitted.arrays()
