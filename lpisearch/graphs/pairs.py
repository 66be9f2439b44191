"""Must-link and cannot-link pairs of documents.

In: a graph, and pairs of rows. Out: the graph in which the first are as near as equal documents
(weight 1), and the second no neighbours (weight 0). Nothing else of the graph changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from lpisearch.graphs.affinity import Affinity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Rows: TypeAlias = NDArray[np.intp]

TOGETHER, APART = 1.0, 0.0


class Pairs(NamedTuple):
    """Rows of documents that must be neighbours, and of those that cannot: n x 2 each."""

    must: Rows
    cannot: Rows

    @classmethod
    def of(cls, must: Sequence[tuple[int, int]], cannot: Sequence[tuple[int, int]]) -> Pairs:
        """Make it of lists of pairs."""
        return cls(*(np.array(each, np.intp).reshape(-1, 2) for each in (must, cannot)))

    @property
    def rows(self) -> Rows:
        """Every document that is in a pair, once, in order."""
        return np.unique(np.concatenate([self.must, self.cannot]))

    def among(self, rows: Rows) -> Pairs:
        """Give the places of the documents in sorted rows, which have all of them."""
        return Pairs(np.searchsorted(rows, self.must), np.searchsorted(rows, self.cannot))


def with_pairs(W: Affinity, pairs: Pairs) -> Affinity:
    """Return the graph in which pairs of rows have the weights that a person gives them.

    Raises
    ------
    ValueError
        A pair that cannot be follows from those that must be.
    """
    contradiction = first_contradiction(pairs, W.shape[0])
    if contradiction is not None:
        raise ValueError(f"Rows {contradiction[0]} and {contradiction[1]} must and cannot be.")
    ends = np.concatenate([pairs.must, pairs.cannot])
    wanted = np.repeat([TOGETHER, APART], [len(pairs.must), len(pairs.cannot)])
    ends, first = np.unique(np.sort(ends, axis=1), axis=0, return_index=True)
    rows, columns = ends[ends[:, 0] != ends[:, 1]].T
    wanted = wanted[first][ends[:, 0] != ends[:, 1]]
    change = wanted - _weights(W, rows, columns)
    part = W.edges if W.edges is not None else W.factor
    added = sparse.csr_array((change.astype(part.dtype), (rows, columns)), shape=W.shape)  # type: ignore[union-attr]  # one of them is there
    both = sparse.csr_array(added + added.T)
    edges = both if W.edges is None else sparse.csr_array(W.edges + both)
    edges.data[np.abs(edges.data) < np.finfo(edges.dtype).eps] = 0  # what a difference leaves
    edges.eliminate_zeros()
    return Affinity(edges=edges, factor=W.factor)


def first_contradiction(pairs: Pairs, n_documents: int) -> tuple[int, int] | None:
    """Return the first pair that cannot be, but follows from pairs that must be."""
    ones = np.ones(len(pairs.must))
    links = sparse.csr_array((ones, tuple(pairs.must.T)), shape=(n_documents, n_documents))
    part = connected_components(links, directed=False)[1]
    for first, second in pairs.cannot.tolist():
        if part[first] == part[second]:
            return first, second
    return None


def _weights(W: Affinity, rows: Rows, columns: Rows) -> NDArray[np.float64]:
    """Return the weights of some entries."""
    found = np.zeros(len(rows))
    if W.edges is not None:
        found += np.asarray(W.edges[rows, columns], np.float64).ravel()
    if W.factor is not None:
        products = W.factor[rows] * W.factor[columns]
        found += np.asarray(products.sum(axis=1), np.float64).ravel()
    return found
