"""Products of sparse matrices with blocks of columns, and orthonormal blocks.

scipy multiplies a sparse matrix by a block on one thread and lets go of the interpreter lock, so
rows are shared out among threads. Each row is summed in the same order whatever the threads: the
bits do not depend on them.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats, Matrix

THREADS = min(4, os.cpu_count() or 1)
# Below this many multiplications a second thread costs more than it brings.
THREADED_WORK = 2_000_000


def product(A: Any, block: Floats) -> Floats:
    """Multiply a sparse or dense matrix, or anything with `@`, by a block of columns."""
    if not isinstance(A, sparse.csr_array) or A.nnz * block[0].size < THREADED_WORK:
        return np.asarray(A @ block)
    cuts = np.searchsorted(A.indptr, np.linspace(0, A.nnz, THREADS + 1))
    cuts[0], cuts[-1] = 0, A.shape[0]
    out = np.empty((A.shape[0], block.shape[1]), dtype=np.result_type(A, block))

    def rows(start: int, stop: int) -> None:
        out[start:stop] = A[start:stop] @ block

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(rows, cuts[:-1], cuts[1:]))
    return out


def transposed(X: Matrix) -> Matrix:
    """Transpose, a sparse matrix by rows again: products with it are then as quick as with X."""
    return sparse.csr_array(X.T) if sparse.issparse(X) else X.T


def orthonormal(block: Floats) -> Floats:
    """Give an orthonormal basis of the columns, by way of their Gram matrix.

    The Gram matrix is summed in double precision and diagonalised; directions that are rounding
    beside the others are dropped, so the basis can have fewer columns. Once more on the result
    makes it orthonormal to rounding. Householder reflections take ten times as long.
    """
    basis = block
    for _ in range(2):
        wide = basis.astype(np.float64, copy=False)
        turn = whitening(wide.T @ wide, np.finfo(block.dtype).eps)
        basis = (wide @ turn).astype(block.dtype, copy=False)
    return basis


def whitening(gram: Floats, rounding: Any) -> Floats:
    """Give T with Tᵀ G T = I for a Gram matrix G, leaving out directions that are rounding."""
    lengths = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
    values, vectors = linalg.eigh(gram / np.outer(lengths, lengths))
    keep = np.flatnonzero(values > np.square(10 * rounding))[::-1]
    return np.asarray(vectors[:, keep] / (np.sqrt(values[keep]) * lengths[:, np.newaxis]))
