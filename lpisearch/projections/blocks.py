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
    """Give an orthonormal basis of the columns: Cholesky of the Gram matrix, else Householder.

    Cholesky is ten times as quick. Done twice it is orthonormal to rounding, unless the columns
    are nearly dependent; then Householder reflections take over.
    """
    Q = block
    least = 4 * np.sqrt(np.finfo(block.dtype).eps)
    for _ in range(2):
        gram = (Q.T @ Q).astype(np.float64)
        try:
            upper = linalg.cholesky(gram)
        except linalg.LinAlgError:
            return _householder(block)
        pivots = np.diagonal(upper) / np.sqrt(np.diagonal(gram))
        if not pivots.min(initial=1) > least:
            return _householder(block)
        inverse = linalg.solve_triangular(upper, np.eye(len(upper)))
        Q = Q @ inverse.astype(Q.dtype)
    return Q


def _householder(block: Floats) -> Floats:
    return np.asarray(linalg.qr(block, mode="economic")[0])
