"""Products of sparse matrices with blocks of columns, and orthonormal blocks.

scipy multiplies a sparse matrix by a block on one thread and lets go of the interpreter lock, so
rows are shared out among threads. Each row is summed in the same order whatever the threads: the
bits do not depend on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse

from lpisearch.compute.threads import THREADS, map_threads, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from lpisearch.graphs.affinity import Floats, Matrix

    T = TypeVar("T")

# Below this many multiplications a second thread costs more than it brings.
THREADED_WORK = 2_000_000
ROWS = 2048


def product(A: Any, block: Floats) -> Floats:
    """Multiply a sparse or dense matrix, or anything with `@`, by a block of columns."""
    if not isinstance(A, sparse.csr_array) or A.nnz * block[0].size < THREADED_WORK:
        return np.asarray(A @ block)
    cuts = np.searchsorted(A.indptr, np.linspace(0, A.nnz, THREADS + 1))
    cuts[0], cuts[-1] = 0, A.shape[0]
    out = np.empty((A.shape[0], block.shape[1]), dtype=np.result_type(A, block))

    def rows(start: int, stop: int) -> None:
        out[start:stop] = A[start:stop] @ block

    map_threads(rows, cuts[:-1], cuts[1:])
    return out


def transposed(X: Matrix) -> Matrix:
    """Transpose, a sparse matrix by rows again: products with it are then as quick as with X."""
    return sparse.csr_array(X.T) if sparse.issparse(X) else X.T


def gram(A: Floats, B: Floats) -> Floats:
    """Give Aᵀ B of two tall blocks, summed in double precision without a wide copy of either."""

    def part(start: int) -> Floats:
        rows = slice(start, start + ROWS)
        return np.asarray(A[rows].astype(np.float64).T @ B[rows].astype(np.float64))

    return sum(_by_rows(part, len(A)), np.zeros((A.shape[1], B.shape[1])))


def combined(block: Floats, small: Floats) -> Floats:
    """Multiply a tall block by a small matrix in double precision; give the block's precision."""
    out = np.empty((len(block), small.shape[1]), dtype=block.dtype)

    def part(start: int) -> None:
        rows = slice(start, start + ROWS)
        out[rows] = block[rows].astype(np.float64) @ small

    _by_rows(part, len(block))
    return out


def orthonormal(block: Floats) -> Floats:
    """Give an orthonormal basis of the columns, by way of their Gram matrix.

    Directions that are rounding beside the others are dropped, so the basis can have fewer
    columns. Once more on the result makes it orthonormal to rounding. Householder reflections
    take ten times as long.
    """
    basis, eps = block, np.finfo(block.dtype).eps
    for _ in range(2):
        basis = combined(basis, whitening(gram(basis, basis), np.square(10 * eps)))
    return basis


def whitening(gram: Floats, least: Any) -> Floats:
    """Give T with Tᵀ G T = I for a Gram matrix G of columns, leaving out what is rounding.

    With all columns at unit length, left out are directions of a squared length up to `least`.
    """
    lengths = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
    values, vectors = linalg.eigh(gram / np.outer(lengths, lengths))
    keep = np.flatnonzero(values > least)[::-1]
    return np.asarray(vectors[:, keep] / (np.sqrt(values[keep]) * lengths[:, np.newaxis]))


def _by_rows(part: Callable[[int], T], n: int) -> list[T]:
    """Run a part of the work for every few thousand rows, one BLAS thread to each.

    The parts do not depend on the number of threads, so neither do the bits.
    """
    starts = range(0, n, ROWS)
    with one_blas_thread():
        return map_threads(part, starts)
