"""Approximate nearest documents in linear time; rows of X are documents.

The candidates of a document are found by its strongest terms alone, and by no more than the
strongest documents of each of these terms; the best of them are compared by their true cosine. So
the work for a document does not grow with the number of documents, and a neighbour is missed only
if it shares weak terms alone: of the weight of all edges, more than nine tenths stay
(benchmarks/graphs.py measures it).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.compute.rows import unit_rows
from lpisearch.compute.threads import map_threads
from lpisearch.graphs.affinity import Affinity
from lpisearch.graphs.edges import symmetric_edges
from lpisearch.graphs.lists import strongest_entries
from lpisearch.graphs.options import GraphOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Matrix

STRONGEST_TERMS = 16
STRONGEST_DOCUMENTS = 300
CANDIDATES = 48  # at least; three for each neighbour that is asked for
_CANDIDATES_A_NEIGHBOUR = 3
_BLOCK = 1024


def pruned(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join each document to the p nearest by cosine, of those that its strongest terms find.

    What holds of `nearest` holds here but that a neighbour can be missed.
    """
    del labels
    options = options or GraphOptions()
    search = _Search(sparse.csr_array(unit_rows(X)), options.n_neighbors)
    blocks = map_threads(search.block, range(0, X.shape[0], _BLOCK))
    named: sparse.csr_array = sparse.csr_array((X.shape[0], X.shape[0]), dtype=X.dtype)
    if blocks:
        named = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return Affinity(edges=symmetric_edges(named, options))


class _Search:
    """The rows, and the lists by which candidates are found."""

    def __init__(self, X: sparse.csr_array, n_neighbors: int) -> None:
        self._X = X
        self._n_neighbors = n_neighbors
        self._n_candidates = max(CANDIDATES, _CANDIDATES_A_NEIGHBOUR * n_neighbors)
        self._strongest = strongest_entries(X, STRONGEST_TERMS)
        by_term = sparse.csr_array(self._strongest.T)
        self._lists = strongest_entries(by_term, STRONGEST_DOCUMENTS)

    def block(self, start: int) -> sparse.csr_array:
        """Return the cosines of some documents with those near them."""
        stop = min(start + _BLOCK, self._X.shape[0])
        found = sparse.csr_array(self._strongest[start:stop] @ self._lists)
        rows, columns = _best_of_rows(found, self._n_candidates)
        others = columns != rows + start
        rows, columns = rows[others], columns[others]
        cosines = self._X[start + rows].multiply(self._X[columns]).sum(axis=1)
        near = sparse.csr_array((cosines, (rows, columns)), shape=(stop - start, self._X.shape[0]))
        near.eliminate_zeros()
        return strongest_entries(near, self._n_neighbors)


def _best_of_rows(
    X: sparse.csr_array, most: int
) -> tuple[NDArray[np.intp], NDArray[np.integer[Any]]]:
    """Return row and column of the largest entries of each row, in no order within the row."""
    kept = []
    bounds = X.indptr.tolist()
    for first, last in pairwise(bounds):
        if last - first <= most:
            kept.append(np.arange(first, last))
        else:
            kept.append(first + np.argpartition(X.data[first:last], -most)[-most:])
    chosen = np.concatenate(kept) if kept else np.empty(0, np.intp)
    rows = np.repeat(np.arange(X.shape[0]), [len(each) for each in kept])
    return rows, X.indices[chosen]
