"""Affinity: the weights of a document graph; the complete graph, and edges of neighbours.

W is documents x documents, the sum of two parts, either of which may be absent: `edges`, a sparse
matrix, and `factor` times its transpose, which represents whole cliques (documents with the same
label, or all inner products).

Neighbours are directed at first: a row of a sparse matrix holds the neighbours of a document. Two
documents are joined if either is a neighbour of the other, or, of a mutual graph, if both are.
Distances are Euclidean, of rows at unit length (√(2 - 2 cos)) or of rows as they are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.base import GraphOptions

    Floats: TypeAlias = NDArray[np.floating[Any]]
    Matrix: TypeAlias = Floats | sparse.csr_array


SYMMETRY_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Affinity:
    """A symmetric matrix of weights between documents: W = edges + factor @ factor.T.

    Attributes
    ----------
    edges
        Sparse symmetric part, documents x documents, or None.
    factor
        Documents x anything, dense or sparse, or None.
    """

    edges: sparse.csr_array | None = None
    factor: Matrix | None = None

    def __post_init__(self) -> None:
        if self.edges is None and self.factor is None:
            raise ValueError("An affinity needs edges or a factor.")

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x documents."""
        part = self.edges if self.edges is not None else self.factor
        n = int(part.shape[0])  # type: ignore[union-attr]  # one of them is there
        return n, n

    def __getitem__(self, key: Any) -> Affinity:
        """Return the weights among the documents of the first key, as cross-validation cuts."""
        rows = key[0] if isinstance(key, tuple) else key
        return self.of(np.arange(self.shape[0])[rows])

    def __matmul__(self, block: Floats) -> Floats:
        """Multiply W by a vector or by a block of columns."""
        total: Any = 0
        if self.edges is not None:
            total = self.edges @ block
        if self.factor is not None:
            total = total + self.factor @ (self.factor.T @ block)
        return np.asarray(total)

    @cached_property
    def degrees(self) -> NDArray[np.float64]:
        """The diagonal of D: row sums of W, in double precision."""
        total = np.zeros(self.shape[0])
        if self.edges is not None:
            total += self.edges.sum(axis=1, dtype=np.float64)
        if self.factor is not None:
            total += self.factor @ np.asarray(self.factor.sum(axis=0, dtype=np.float64)).ravel()
        return total

    @cached_property
    def component_labels(self) -> NDArray[np.int32]:
        """The connected component of each document, numbered from 0; -1 if it is isolated.

        An isolated document has no edge to another one; an edge to itself does not count.
        """
        n = self.shape[0]
        labels = connected_components(self._links(), directed=False)[1][:n]
        sizes = np.bincount(labels)
        numbers = np.full(len(sizes), -1, dtype=np.int32)
        numbers[sizes > 1] = np.arange(np.count_nonzero(sizes > 1))
        return np.asarray(numbers[labels], dtype=np.int32)

    @property
    def n_components(self) -> int:
        """The number of connected parts of two or more documents."""
        return int(self.component_labels.max(initial=-1)) + 1

    @property
    def n_isolated(self) -> int:
        """The number of documents without a neighbour."""
        return int(np.count_nonzero(self.component_labels < 0))

    def toarray(self) -> Floats:
        """W as a dense array: for small collections and for tests."""
        total: Any = 0
        if self.edges is not None:
            total = self.edges.toarray()
        if self.factor is not None:
            product = self.factor @ self.factor.T
            total = total + (product.toarray() if sparse.issparse(product) else product)
        return np.asarray(total)

    def of(self, documents: NDArray[np.intp]) -> Affinity:
        """Return the weights among some documents."""
        edges, factor = self.edges, self.factor
        return Affinity(
            None if edges is None else sparse.csr_array(edges[documents][:, documents]),
            None if factor is None else factor[documents],
        )

    def merged(self, groups: NDArray[np.intp]) -> Affinity:
        """Return the weights between groups of documents, numbered from 0: sums of theirs."""
        n = len(groups)
        members = sparse.csr_array((np.ones(n), (groups, np.arange(n))))
        edges, factor = self.edges, self.factor
        return Affinity(
            None if edges is None else sparse.csr_array(members @ edges @ members.T),
            None if factor is None else members @ factor,
        )

    def _links(self) -> sparse.csr_array:
        """Return an adjacency for the components, in which columns of the factor are nodes, too."""
        n = self.shape[0]
        edges = self.edges if self.edges is not None else sparse.csr_array((n, n))
        if self.factor is None:
            return edges
        factor = sparse.csr_array(self.factor)
        blocks: Any = [[edges, factor], [factor.T, None]]
        return sparse.csr_array(sparse.block_array(blocks))


def as_affinity(W: Any, n_documents: int) -> Affinity:
    """Accept an `Affinity`, or a symmetric, finite, non-negative matrix; else ValueError."""
    if isinstance(W, Affinity):
        affinity = W
    else:
        edges = sparse.csr_array(W)
        if not np.all(np.isfinite(edges.data)) or (edges.data < 0).any():
            raise ValueError("The affinity has a weight that is negative or not a number.")
        if edges.shape[0] == edges.shape[1] and _asymmetry(edges) > SYMMETRY_TOLERANCE:
            raise ValueError("The affinity is not symmetric.")
        affinity = Affinity(edges=edges)
    shape = affinity.edges.shape if affinity.edges is not None else affinity.shape
    if shape != (n_documents, n_documents):
        raise ValueError(
            f"The affinity is {shape[0]} x {shape[1]}, but there are {n_documents} documents. "
            "Affinity(edges=W) is cut by rows and columns where a matrix is cut by rows."
        )
    return affinity


def _asymmetry(edges: sparse.csr_array) -> float:
    """Return the largest difference between W and its transpose, relative to its largest weight."""
    if edges.nnz == 0:
        return 0.0
    difference = edges - edges.T
    return float(abs(difference).max() / edges.data.max()) if difference.nnz else 0.0


def complete(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Weight every pair, diagonal included, by its inner product: W = X Xᵀ, stored as its factor X.

    With this graph LPI is close to LSI (or PCA, if X is centred; lpp-analysis-2005, section
    4.2). The rows are not normalised. A document with a negative sum of inner products has no
    degree: ValueError.
    """
    del labels, options
    affinity = Affinity(factor=X)
    smallest = affinity.degrees.min(initial=0)
    if smallest < -np.finfo(X.dtype).eps * max(affinity.degrees.max(initial=0), 1):
        raise ValueError(
            "The complete graph needs rows whose inner products have positive sums; "
            f"one sum is {smallest:.3g}. Weights of terms must not be negative."
        )
    return affinity


# Halvings of an interval that find the scale of a document's distances.
_HALVINGS = 64
# No scale is smaller than this share of the mean distance (UMAP).
_LEAST_SCALE = 1e-3


def symmetric_edges(
    cosines: sparse.csr_array, options: GraphOptions, squares: Floats | None = None
) -> sparse.csr_array:
    """Turn directed neighbours (without diagonal) into weighted edges in both directions.

    `squares` are the squared distances of the stored cosines; by default those of unit rows.
    """
    if squares is None:
        squares = 2 - 2 * np.minimum(cosines.data, 1)
    weights = _weights(cosines, squares, options).astype(cosines.dtype, copy=False)
    W = sparse.csr_array((weights, cosines.indices, cosines.indptr), shape=cosines.shape)
    W.eliminate_zeros()
    if options.edge_weights == "fuzzy":  # the probability that either edge is there, or both
        both = sparse.csr_array(W.multiply(W.T))
        return both if options.mutual else sparse.csr_array(W + W.T - both)
    return sparse.csr_array(W.minimum(W.T) if options.mutual else W.maximum(W.T))


def _weights(cosines: sparse.csr_array, squares: Floats, options: GraphOptions) -> Floats:
    """Return the weight of each directed edge."""
    match options.edge_weights:
        case "binary":
            return np.ones_like(cosines.data)
        case "heat":
            return np.asarray(np.exp(-squares / cosines.dtype.type(options.heat_scale)))
        case "self-tuning":
            return _self_tuning(cosines, squares)
        case "fuzzy":
            return _fuzzy(cosines.indptr, np.sqrt(np.maximum(squares, 0)))
        case _:
            return np.asarray(np.clip(cosines.data, 0, 1))


def _self_tuning(near: sparse.csr_array, squares: Floats) -> Floats:
    """Return exp(-d² / σᵢσⱼ), σ the distance of the last neighbour (Zelnik-Manor, Perona, 2004)."""
    rows = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    widest = np.zeros(near.shape[0])
    np.maximum.at(widest, rows, np.maximum(squares, 0))
    scale = np.sqrt(widest[rows] * widest[near.indices])
    return np.exp(-np.maximum(squares, 0) / np.maximum(scale, np.finfo(float).tiny))


def _fuzzy(indptr: NDArray[Any], distances: Floats) -> Floats:
    """Return the probability of each directed edge (McInnes, Healy, Melville: UMAP, 2018).

    It is exp(-(d - ρ) / σ), ρ the distance of the nearest other place, and σ such that those of a
    document with p neighbours sum to log₂(p + 1): p + 1 counts the document itself, as UMAP does.
    """
    counts = np.diff(indptr)
    n, rows = len(counts), np.repeat(np.arange(len(counts)), counts)
    nearest = np.full(n, np.inf)
    np.minimum.at(nearest, rows, np.where(distances > 0, distances, np.inf))
    over = np.maximum(distances - np.where(np.isinf(nearest), 0, nearest)[rows], 0)
    target, scale = np.log2(counts + 1), np.ones(n)
    low, high = np.zeros(n), np.full(n, np.inf)
    for _ in range(_HALVINGS):
        wide = np.bincount(rows, np.exp(-over / scale[rows]), minlength=n) > target
        low, high = np.where(wide, low, scale), np.where(wide, scale, high)
        scale = np.where(np.isinf(high), 2 * low, (low + high) / 2)
    means = np.bincount(rows, distances, minlength=n) / np.maximum(counts, 1)
    scale = np.maximum(scale, np.maximum(_LEAST_SCALE * means, np.finfo(float).tiny))
    return np.exp(-over / scale[rows])


def searched(X: Matrix, options: GraphOptions) -> sparse.csr_array:
    """Join each document to the neighbours that a search of the user's finds.

    It is a transformer that gives documents x documents with the distances of the neighbours, such
    as scikit-learn's `KNeighborsTransformer`: Euclidean, or 1 - cos if `metric` is "cosine".
    """
    from sklearn.base import clone

    found = sparse.coo_array(clone(options.search).fit_transform(X))
    if found.shape != (X.shape[0], X.shape[0]):
        raise ValueError(
            f"The search gives {found.shape[0]} x {found.shape[1]} distances, but there are "
            f"{X.shape[0]} documents."
        )
    if not np.isfinite(found.data).all() or (found.data < 0).any():
        raise ValueError("The search gives a distance that is negative or not a number.")
    others = found.row != found.col
    rows, columns, distances = found.row[others], found.col[others], found.data[others]
    if options.metric == "cosine":
        cosines, squares = 1 - distances, 2 * distances
    else:
        cosines, squares = _cosines(X, rows, columns, options), distances**2
    return _joined(X, (rows, columns), cosines, squares, options)


def euclidean(X: Matrix, columns: NDArray[np.intp], squares: Floats, options: GraphOptions) -> Any:
    """Join each document to the p columns of its row, at these squared distances."""
    rows = np.repeat(np.arange(X.shape[0]), columns.shape[1])
    ends = rows, columns.ravel()
    return _joined(X, ends, _cosines(X, *ends, options), np.maximum(squares.ravel(), 0), options)


def _joined(
    X: Matrix, ends: tuple[Any, Any], cosines: Floats, squares: Floats, options: GraphOptions
) -> sparse.csr_array:
    """Order the directed edges by row, and make them symmetric."""
    order = np.lexsort((ends[1], ends[0]))
    n = X.shape[0]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends[0], minlength=n))])
    near = (cosines[order].astype(X.dtype), ends[1][order], indptr)
    return symmetric_edges(sparse.csr_array(near, shape=(n, n)), options, squares[order])


def _cosines(X: Matrix, rows: Any, columns: Any, options: GraphOptions) -> Floats:
    """Return the cosines of pairs if they are the weights."""
    if options.edge_weights != "cosine":
        return np.ones(len(rows))
    unit = sparse.csr_array(unit_rows(X))
    return np.asarray(unit[rows].multiply(unit[columns]).sum(axis=1)).ravel()
