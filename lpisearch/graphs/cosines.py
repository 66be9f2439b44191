"""Cosines of all document pairs, streamed a few rows at a time.

The rows of X are documents of unit length. Terms that many documents have are multiplied as a
full matrix; for the others the lists of documents of each term are added up. Both end in the
same block of full rows, so the result is exact, and memory is a few blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.compute.threads import map_threads, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

    T = TypeVar("T")

# A term in more than this share of the documents is cheaper in a full matrix.
COMMON_SHARE = 1 / 8
BLOCK_ENTRIES = 2**20


def map_cosines(X: Matrix, select: Callable[[Floats, int], T]) -> list[T]:
    """Call `select(cosines, start)` for consecutive blocks of rows; give the results in order.

    `cosines` has a row for each of the documents `start`, `start + 1`, … and a column for every
    document; the cosine of a document with itself is set to 0.
    """
    pairs = _Pairs(sparse.csr_array(X))
    n = X.shape[0]
    rows = int(np.clip(BLOCK_ENTRIES // max(n, 1), 4, 256))

    def block(start: int) -> T:
        return select(pairs.block(start, min(start + rows, n)), start)

    with one_blas_thread():
        return map_threads(block, range(0, n, rows))


class _Pairs:
    """X taken apart: common terms as a full matrix, the lists of documents of all others."""

    def __init__(self, X: sparse.csr_array) -> None:
        n, n_terms = X.shape
        frequency = np.bincount(X.indices, minlength=n_terms)
        common = frequency > COMMON_SHARE * n
        self._full: Any = X[:, np.flatnonzero(common)].toarray()
        self._full_transposed = np.ascontiguousarray(self._full.T)
        self._rare = _without_terms(X, common)
        self._lists = sparse.csr_array(self._rare.T)

    def block(self, start: int, stop: int) -> Floats:
        """Cosines of the documents from `start` to `stop` with all documents."""
        cosines: Any = self._full[start:stop] @ self._full_transposed
        self._add(cosines, start, stop)
        here = np.arange(stop - start)
        cosines[here, start + here] = 0
        return np.asarray(cosines)

    def _add(self, cosines: Floats, start: int, stop: int) -> None:
        """Add, for each document, the lists of its terms times their weights.

        The lists are copied so that those of a document lie one behind the other. A product of
        two sparse matrices would do without, but takes more than twice the time.
        """
        bounds = self._rare.indptr[start : stop + 1]
        lists = self._lists[self._rare.indices[bounds[0] : bounds[-1]]]
        weights = self._rare.data[bounds[0] : bounds[-1]]
        cuts, starts = (bounds - bounds[0]).tolist(), lists.indptr
        for cosine, first, last in zip(cosines, cuts[:-1], cuts[1:], strict=True):
            if first < last:
                some = slice(starts[first], starts[last])
                own = (lists.data[some], lists.indices[some], starts[first : last + 1] - some.start)
                cosine[:] += (
                    sparse.csc_array(own, (len(cosine), last - first)) @ weights[first:last]
                )


def _without_terms(X: sparse.csr_array, dropped: NDArray[np.bool_]) -> sparse.csr_array:
    """Leave out the entries of some terms; the terms of each row in ascending order."""
    keep = ~dropped[X.indices]
    rows = np.repeat(np.arange(X.shape[0], dtype=np.int32), np.diff(X.indptr))[keep]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    indptr = indptr.astype(X.indptr.dtype)
    rest = sparse.csr_array((X.data[keep], X.indices[keep], indptr), shape=X.shape)
    rest.sum_duplicates()
    return rest
