"""Affinity: the weights of a document graph, and the complete graph.

W is documents x documents, the sum of two parts, either of which may be absent: `edges`, a sparse
matrix, and `factor` times its transpose, which represents whole cliques (documents with the same
label, or all inner products).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

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
            f"The affinity is {shape[0]} x {shape[1]}, but there are {n_documents} documents."
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


def symmetric_edges(cosines: sparse.csr_array, options: GraphOptions) -> sparse.csr_array:
    """Turn directed cosines (without diagonal) into weighted edges in both directions."""
    W = sparse.csr_array(cosines.maximum(cosines.T))
    W.data = edge_weight(W.data, options)
    return W


def edge_weight(cosine: Floats, options: GraphOptions) -> Floats:
    """Return the weight of an edge from the cosine of its ends."""
    if options.edge_weights == "binary":
        return np.ones_like(cosine)
    if options.edge_weights == "heat":
        return np.exp((2 * np.minimum(cosine, 1) - 2) / cosine.dtype.type(options.heat_scale))
    return np.minimum(cosine, 1)
