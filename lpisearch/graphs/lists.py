"""Truncated rows of a sparse matrix, which keep pair search linear.

Rows are documents and columns terms, or the other way round. Two documents that are near share
some of their strongest terms, and are among the strongest documents of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows that are sorted together: their entries stay in the processor's cache.
_BLOCK = 4096


def strongest_entries(X: sparse.csr_array, most: int) -> sparse.csr_array:
    """Keep the entries of largest weight in each row; of equal ones those of earlier columns."""
    if not X.shape[0]:
        return X
    starts = range(0, X.shape[0], _BLOCK)
    blocks = [_strongest_of_block(X[start : start + _BLOCK], most) for start in starts]
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def first_entries(X: sparse.csr_array, most: int) -> sparse.csr_array:
    """Keep the entries of the first columns in each row."""
    X.sort_indices()
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return _entries(X, rows, np.flatnonzero(np.arange(X.nnz) - X.indptr[rows] < most))


def _strongest_of_block(X: sparse.csr_array, most: int) -> sparse.csr_array:
    X.sort_indices()
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((-X.data, rows))
    ranks = np.arange(X.nnz) - X.indptr[rows]
    return _entries(X, rows, np.sort(order[ranks < most]))


def _entries(
    X: sparse.csr_array, rows: NDArray[np.intp], kept: NDArray[np.intp]
) -> sparse.csr_array:
    return sparse.csr_array((X.data[kept], (rows[kept], X.indices[kept])), shape=X.shape)
