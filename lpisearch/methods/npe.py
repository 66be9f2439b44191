"""Neighbourhood preserving embedding (NPE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse

from lpisearch.graphs.affinity import Affinity
from lpisearch.graphs.neighbours import map_cosines, strongest_entries, top_columns
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.locality import LocalityProjection
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats, Matrix


# What is added to the diagonal of a Gram matrix of neighbours, as a share of its trace, and the
# least, as a share of the squared length of the document.
_RIDGE, _LEAST = 1e-3, 1e-10


@dataclass(eq=False, repr=False)
class NPE(LocalityProjection):
    """Neighbourhood preserving embedding: the linear form of locally linear embedding (LLE).

    1. Each document (a row x of X; the paper writes columns) is rebuilt from its neighbours: the
       weights with the least |x_i - Σⱼ W_ij x_j|², which sum to 1 (equation 1).
    2. With M = (I - W)ᵀ(I - W), the vectors Xᵀ M X a = μ Xᵀ X a with the least μ are the directions
       in which the same weights rebuild the documents best (equation 5).

    That is the equation of `LPI` with the affinity W + Wᵀ - WᵀW, whose degrees are all 1, and
    λ = 1 - μ.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    svd_components, random_state
        See `LPI`.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`. The neighbours of a document are the `n_neighbors` that the graph
        joins it to with the largest weights. With labels, as in the paper, they are the nearest of
        its class.

    Attributes
    ----------
    components_
        n_components_ x n_terms, scaled so that aᵀ Xᵀ X a is the number of documents with a
        neighbour.
    eigenvalues_
        λ of each, largest first, all above zero.
    weights_
        The W of the equations, documents x documents.
    solver_, bounds_, n_graph_components_, n_isolated_
        See `LPI`.

    Notes
    -----
    As in LLE, a thousandth of its trace is added to the diagonal of the Gram matrix of neighbours.
    The constant direction is removed, as in `LPI`.

    References
    ----------
    X. He, D. Cai, S. Yan, H.-J. Zhang: Neighborhood preserving embedding, ICCV 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.npe import NPE
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> NPE(n_components=1, n_neighbors=1).fit(X).transform(X).round(1).ravel()
    array([ 1.1,  1.1, -0.9, -0.9])
    """

    about = CATALOGUE["npe"]

    n_components: int = DIMENSIONS

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        near = _nearest(X, self._affinity(X, y, affinity), self.n_neighbors)
        self.weights_ = W = reconstruction_weights(X, near)
        directions = self._directions(X, Affinity(edges=sparse.csr_array(W + W.T - W.T @ W)))
        self._store(directions.components, directions.values, self.n_components)


def _nearest(X: Matrix, W: Affinity, most: int) -> sparse.csr_array:
    """Return the strongest edges of each document; in a class, those of the largest cosines."""
    if W.factor is None:
        assert W.edges is not None  # noqa: S101 -- an affinity has one of both
        return strongest_entries(W.edges, most)
    factor, n = sparse.csr_array(W.factor), X.shape[0]
    p = min(most, n - 1)

    def select(cosines: Floats, start: int) -> tuple[Any, Floats]:
        rows = slice(start, start + len(cosines))
        joined = (factor[rows] @ factor.T).toarray()
        if W.edges is not None:
            joined = joined + W.edges[rows].toarray()
        near = np.where(joined > 0, np.maximum(cosines, 0), 0)
        columns = top_columns(near, p)
        return columns, np.take_along_axis(near, columns, axis=1)

    blocks = map_cosines(unit_rows(X), select)
    columns, cosines = (np.concatenate([block[i].ravel() for block in blocks]) for i in (0, 1))
    near = sparse.csr_array((cosines, columns, np.arange(n + 1) * p), shape=(n, n))
    near.eliminate_zeros()
    return near


def reconstruction_weights(X: Matrix, near: sparse.csr_array) -> sparse.csr_array:
    """Return the weights, which sum to 1, that rebuild each document from those of its row."""
    rows: Any = sparse.csr_array(X).astype(np.float64)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    weights = np.zeros(near.nnz)
    for own in np.flatnonzero(np.diff(near.indptr)):
        part = slice(near.indptr[own], near.indptr[own + 1])
        others = rows[near.indices[part]]
        shared = (others @ rows[[own]].T).toarray().ravel()
        gram = (others @ others.T).toarray() - shared[:, np.newaxis] - shared + squares[own]
        gram[np.diag_indices_from(gram)] += max(_RIDGE * np.trace(gram), _LEAST * squares[own])
        found = linalg.solve(gram, np.ones(len(gram)), assume_a="pos")
        weights[part] = found / found.sum()
    return sparse.csr_array((weights, near.indices, near.indptr), shape=near.shape)
