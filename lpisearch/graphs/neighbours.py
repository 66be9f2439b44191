"""Graphs of near documents: the p nearest, or all within a ball. Rows of X are documents.

Both are exact. Memory is bounded by the edges that are kept: products are formed a row or a
block of rows at a time, and only what is kept of each survives.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.graphs.affinity import Affinity
from lpisearch.graphs.base import GraphOptions, symmetric_edges, unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Matrix

THREADS = min(4, os.cpu_count() or 1)
BLOCK_ROWS = 512
# A dense matrix with fewer zeros than this is multiplied by BLAS, not as a sparse one.
SPARSE_SHARE = 0.3


def nearest(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join each document to the p nearest by cosine (rlpi-2007, equation 11).

    An edge is there if either end names the other. Only documents with a positive cosine are
    neighbours, so a document may have fewer than p. The diagonal is zero: a document is not its
    own neighbour. A document without neighbours (it has no term, or shares none with another) has
    degree 0. Where cosines are equal at the limit, the order of the documents decides.
    """
    del labels
    options = options or GraphOptions()
    X = unit_rows(X)
    p = options.n_neighbors
    cosines = _nearest_sparse(sparse.csr_array(X), p) if _is_sparse(X) else _nearest_dense(X, p)
    return Affinity(edges=symmetric_edges(cosines, options))


def ball(
    X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
) -> Affinity:
    """Join documents whose unit rows are nearer than ε (lpp-analysis-2005, equation 3).

    On unit rows the distance ε is the cosine 1 - ε² / 2. The diagonal is zero, as in `nearest`.
    """
    del labels
    options = options or GraphOptions()
    X = unit_rows(X)
    least = max(1 - options.radius**2 / 2, np.finfo(X.dtype).tiny)
    transposed = sparse.csr_array(X.T) if sparse.issparse(X) else X.T

    def near(start: int) -> sparse.csr_array:
        product = sparse.csr_array(X[start : start + BLOCK_ROWS] @ transposed)
        product.data[product.data <= least] = 0
        product.eliminate_zeros()
        return product

    with ThreadPoolExecutor(THREADS) as pool:
        blocks = list(pool.map(near, range(0, X.shape[0], BLOCK_ROWS)))
    cosines = sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return Affinity(edges=symmetric_edges(without_diagonal(cosines), options))


def without_diagonal(W: sparse.csr_array) -> sparse.csr_array:
    """Drop the diagonal entries."""
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    keep = rows != W.indices
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[keep], minlength=W.shape[0]))])
    return sparse.csr_array((W.data[keep], W.indices[keep], indptr), shape=W.shape)


def _is_sparse(X: Matrix) -> bool:
    return bool(sparse.issparse(X) or np.count_nonzero(X) < SPARSE_SHARE * X.size)


def _nearest_sparse(X: sparse.csr_array, p: int) -> sparse.csr_array:
    """Keep the p largest cosines of each row, itself left out, in one pass of compiled code."""
    # The library asks psutil for the cores on import, so it is imported where it is used.
    from sparse_dot_topn import sp_matmul_topn  # noqa: PLC0415

    rows = sparse.csr_matrix(X)  # the library knows the older class only
    best = sp_matmul_topn(
        rows, rows.T.tocsr(), top_n=p + 1, threshold=0.0, sort=True, n_threads=THREADS
    )
    return _first(without_diagonal(sparse.csr_array(best)), p)


def _first(W: sparse.csr_array, p: int) -> sparse.csr_array:
    """Keep the first p entries of each row.

    Among more than p copies of one text a row need not find itself, and has one entry too many.
    """
    places = np.arange(W.nnz) - np.repeat(W.indptr[:-1], np.diff(W.indptr))
    keep = places < p
    indptr = np.concatenate([[0], np.cumsum(np.minimum(np.diff(W.indptr), p))])
    return sparse.csr_array((W.data[keep], W.indices[keep], indptr), shape=W.shape)


def _nearest_dense(X: Matrix, p: int) -> sparse.csr_array:
    """Keep the p largest positive cosines of each row of a full matrix, in blocks of rows."""
    n = X.shape[0]
    p = min(p, n - 1)
    columns, weights = [np.empty((0, p), dtype=np.intp)], [np.empty((0, p), dtype=X.dtype)]
    for start in range(0, n, BLOCK_ROWS):
        cosines: Any = X[start : start + BLOCK_ROWS] @ X.T
        here = np.arange(len(cosines))
        cosines[here, start + here] = -np.inf
        best = np.argpartition(-cosines, p - 1, axis=1)[:, :p] if p else columns[0]
        columns.append(best)
        weights.append(np.take_along_axis(cosines, best, axis=1))
    kept = np.concatenate(weights).ravel()
    indptr = np.arange(n + 1) * p
    W = sparse.csr_array((np.maximum(kept, 0), np.concatenate(columns).ravel(), indptr), (n, n))
    W.eliminate_zeros()
    return W
