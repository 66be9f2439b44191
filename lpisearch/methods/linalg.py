"""Sparse products in threads, truncated SVD, and the space of the documents.

SciPy multiplies a sparse matrix by a block on one thread and releases the interpreter lock, so
rows are distributed over threads. Each row is summed in the same order whatever the number of
threads: the bits do not depend on it. Documents are rows: X = documents @ diag(values) @ terms.
With a mean m, X - 1 mᵀ is decomposed without storing it: a sparse X stays sparse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse.linalg import LinearOperator, svds

from lpisearch.methods.base import check_choice, indistinguishable
from lpisearch.numeric.rows import row_lengths
from lpisearch.numeric.threads import THREADS, map_threads, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.graphs.affinity import Affinity, Floats, Matrix

    T = TypeVar("T")


# Below this many multiplications a second thread does not pay.
THREADED_WORK = 2_000_000
ROWS = 2048


def product(A: Any, block: Floats) -> Floats:
    """Multiply a sparse or dense matrix, or an operator, by a block of columns."""
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
    """Transpose; a sparse result is by rows again, so that its products are as fast."""
    return sparse.csr_array(X.T) if sparse.issparse(X) else X.T


def gram(A: Floats, B: Floats, dtype: Any = np.float64) -> Floats:
    """Return Aᵀ B of two tall blocks: products of some rows in `dtype`, summed in double."""

    def part(start: int) -> Floats:
        rows = slice(start, start + ROWS)
        left = A[rows].astype(dtype, copy=False)
        right = left if B is A else B[rows].astype(dtype, copy=False)  # BLAS knows the symmetry
        return np.asarray(left.T @ right, np.float64)

    return sum(_by_rows(part, len(A)), np.zeros((A.shape[1], B.shape[1])))


def combined(block: Floats, small: Floats, dtype: Any = np.float64) -> Floats:
    """Multiply a tall block by a small matrix in `dtype`; keep the block's precision."""
    out = np.empty((len(block), small.shape[1]), dtype=block.dtype)
    small = small.astype(dtype, copy=False)

    def part(start: int) -> None:
        rows = slice(start, start + ROWS)
        out[rows] = block[rows].astype(dtype, copy=False) @ small

    _by_rows(part, len(block))
    return out


def orthonormal(block: Floats) -> Floats:
    """Return an orthonormal basis of the columns, from their Gram matrix.

    Directions that are rounding are dropped, so the basis can have fewer columns. The second pass
    makes it orthonormal to rounding. Householder reflections take ten times as long.
    """
    basis, eps = block, np.finfo(block.dtype).eps
    for _ in range(2):
        basis = combined(basis, whitening(gram(basis, basis), np.square(10 * eps)))
    return basis


def whitening(gram: Floats, least: Any) -> Floats:
    """Return T with Tᵀ G T = I for a Gram matrix G of columns.

    With the columns at unit length, directions of a squared length up to `least` are dropped.
    """
    lengths = np.sqrt(np.maximum(np.diagonal(gram), np.finfo(np.float64).tiny))
    values, vectors = linalg.eigh(gram / np.outer(lengths, lengths))
    keep = np.flatnonzero(values > least)[::-1]
    return np.asarray(vectors[:, keep] / (np.sqrt(values[keep]) * lengths[:, np.newaxis]))


def _by_rows(part: Callable[[int], T], n: int) -> list[T]:
    """Call `part` with the start of each block of rows, in threads with one BLAS thread each."""
    with one_blas_thread():
        return map_threads(part, range(0, n, ROWS))


SOLVERS = ("auto", "block", "arpack", "dense")
# Up to this many documents or terms on the smaller side "auto" decomposes all of X.
DENSE_SIDE = 1500
OVERSAMPLING = 20
# The block's iteration stops when another round would move the subspace by less than this share.
BLOCK_TOLERANCE = 1e-3
MAX_ROUNDS = 8
# How much more the first column may grow than the last in one round, and the largest degree.
MOST_GROWTH = 1e10
MOST_DEGREE = 12
DAMPING = 1e-3


class Singular(NamedTuple):
    """X = documents @ diag(values) @ terms, values descending and all above zero."""

    documents: Floats
    values: Floats
    terms: Floats


def full_svd(X: Matrix, *, mean: Floats | None = None) -> Singular:
    """Decompose X, minus the mean, to its numerical rank: for a few thousand documents."""
    space = whole_space(X, mean)
    return Singular(space.documents, space.scales, space.over_terms(np.eye(len(space.scales))).T)


def truncated_svd(
    X: Matrix,
    rank: int,
    *,
    rng: np.random.Generator,
    solver: str = "auto",
    mean: Floats | None = None,
) -> Singular:
    """Find the `rank` leading singular triplets of X, minus the mean if given, or all there are.

    "block" is subspace iteration with a Chebyshev filter from a random block; "arpack" is the
    reference; "dense" decomposes all of X; "auto" is dense if X is small or nearly all of it is
    needed, else block.
    """
    check_choice("solver", solver, SOLVERS)
    smaller = min(X.shape)
    small = smaller <= DENSE_SIDE or rank + OVERSAMPLING >= smaller // 2
    if solver == "dense" or rank >= smaller or (solver == "auto" and small):
        return _leading(full_svd(X, mean=mean), rank, X.dtype)
    operator = X if mean is None else _centred(X, mean)
    if solver == "arpack":
        start = rng.standard_normal(smaller).astype(X.dtype)
        U, s, Vt = svds(operator, k=rank, v0=start, solver="arpack")
        real = np.flatnonzero(s > 1e-6 * s.max())[::-1]
        return Singular(U[:, real], s[real], Vt[real])
    return _block_svd(operator, rank, rng)


def centred_svd(
    X: Matrix, rank: int, *, rng: np.random.Generator, solver: str
) -> tuple[Matrix, Floats, Singular]:
    """Return the documents with a term, their mean, and the SVD of these documents minus it."""
    X = X[row_lengths(X) > 0]
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel().astype(X.dtype)
    svd = truncated_svd(X, rank, rng=rng, solver=solver, mean=mean)
    # Equal documents differ from their mean by rounding only: that is not a dimension.
    real = svd.values > max(X.shape) * np.finfo(X.dtype).eps * np.linalg.norm(mean)
    return X, mean, Singular(svd.documents[:, real], svd.values[real], svd.terms[real])


def centre_gram(gram: Floats, images: Floats, centre: Floats, *, wide: bool) -> None:
    """Turn X Xᵀ (wide) or Xᵀ X into that of X - 1 mᵀ, in place; `images` is X m."""
    if wide:
        gram -= images[:, np.newaxis] + images - centre @ centre
    else:
        gram -= len(images) * np.outer(centre, centre)


def _centred(X: Matrix, mean: Floats) -> LinearOperator:
    """Return X - 1 mᵀ as an operator on vectors and blocks."""
    Xt, m = transposed(X), mean.astype(X.dtype)
    return LinearOperator(
        X.shape,
        matvec=lambda v: X @ v.ravel() - m @ v.ravel(),
        rmatvec=lambda v: Xt @ v.ravel() - m * v.sum(),
        matmat=lambda block: product(X, block) - m @ block,
        rmatmat=lambda block: product(Xt, block) - np.outer(m, block.sum(axis=0)),
        dtype=X.dtype,
    )


def _block_svd(X: Any, rank: int, rng: np.random.Generator) -> Singular:
    """Subspace iteration on the smaller side, then one small symmetric problem.

    Each round damps what is below the last Ritz value of the previous round by a Chebyshev
    polynomial. Iteration ends when another round would hardly move the subspace, each direction
    weighted by its squared singular value.
    """
    A = X if X.shape[0] <= X.shape[1] else transposed(X)
    At = transposed(A)
    width = min(rank + OVERSAMPLING, A.shape[0])
    block = rng.standard_normal((A.shape[1], width), dtype=X.dtype.type)
    squares, Q, B = _ritz(At, orthonormal(product(A, product(At, orthonormal(product(A, block))))))
    moved, expected, rounds = 1.0, 1.0, 0
    while rounds < MAX_ROUNDS and expected > BLOCK_TOLERANCE:
        before, moved_before = Q[:, :rank], moved
        squares, Q, B = _ritz(At, orthonormal(_chebyshev(A, At, Q, squares)))
        overlap = np.square(gram(before, Q[:, :rank])).sum(axis=0)
        moved = float(np.sum(squares[:rank] * (1 - overlap)) / np.sum(squares[:rank]))
        # How far the next round would move it if the steps keep shrinking at this rate.
        expected = moved * min(moved / moved_before, 1) if moved > 0 else 0
        rounds += 1
    real = np.flatnonzero(squares[:rank] > np.finfo(X.dtype).eps * squares[0])
    s = np.sqrt(squares[real])
    near, far = Q[:, real], (B[:, real] / s).astype(X.dtype)
    values = s.astype(X.dtype)
    return Singular(near, values, far.T) if A is X else Singular(far, values, near.T)


def _ritz(At: Any, Q: Floats) -> tuple[Floats, Floats, Floats]:
    """Return Ritz values (squared) and vectors in the span of Q, largest first, and Aᵀ of these."""
    B = product(At, Q)
    squares, rotation = linalg.eigh(gram(B, B))
    rotation = rotation[:, ::-1]
    return np.maximum(squares[::-1], 0), combined(Q, rotation), combined(B, rotation)


def _chebyshev(A: Any, At: Any, Q: Floats, squares: Floats) -> Floats:
    """Damp squared singular values below the last; the degree bounds the growth of the first."""
    least = max(float(squares[-1]), float(np.finfo(Q.dtype).eps * squares[0]))
    steep = np.arccosh(max(2 * float(squares[0]) / least - 1, 1 + DAMPING))
    degree = int(np.clip(np.log(2 * MOST_GROWTH) / steep, 2, MOST_DEGREE))
    scale = Q.dtype.type(2 / least)

    def shifted(block: Floats) -> Floats:
        return np.asarray(product(A, product(At, block)) * scale - block)

    before, now = Q, shifted(Q)
    for _ in range(degree - 1):
        before, now = now, 2 * shifted(now) - before
    return np.asarray(now / np.maximum(linalg.norm(now, axis=0), np.finfo(now.dtype).tiny))


def _leading(svd: Singular, rank: int, dtype: np.dtype[np.floating]) -> Singular:
    parts = svd.documents[:, :rank], svd.values[:rank], svd.terms[:rank]
    return Singular(*(part.astype(dtype, copy=False) for part in parts))


# Singular values below this share of the largest are rounding: two parallel documents of different
# length are this far apart in single precision.
RANK_TOLERANCE = 1e-5
# Columns to multiply by the graph at a time.
COLUMNS = 64

# Beyond this many documents and terms, "auto" finds directions by iteration.
FULL_SPACE = 3000
# Up to so many a part of the space is cut from the whole.
_SMALL_SPACE = 1000


class DocumentSpace(NamedTuple):
    """X = documents @ diag(scales) @ basisᵀ, where the basis (terms x dimensions) is orthonormal.

    The basis is implicit: span @ mixing, minus `mean` from each column of the span if there is
    one. Most costs then depend on the smaller side of X only. `scales` are the singular values,
    largest first, and `documents` is in double precision.
    """

    documents: Floats
    scales: Floats
    span: Any
    mixing: Floats
    mean: Floats | None = None

    def leading(self, dimensions: int) -> DocumentSpace:
        """Return the part with the largest singular values."""
        return self._replace(
            documents=np.ascontiguousarray(self.documents[:, :dimensions]),
            scales=self.scales[:dimensions],
            mixing=self.mixing[:, :dimensions],
        )

    def over_terms(self, vectors: Floats) -> Floats:
        """Return columns over the dimensions as columns over the terms."""
        columns = self.mixing @ vectors
        image = product(self.span, columns)
        return image if self.mean is None else image - np.outer(self.mean, columns.sum(axis=0))

    def to_terms(self, vectors: Floats) -> Floats:
        """Return orthonormal columns over the dimensions as orthonormal rows over the terms."""
        rows = self.over_terms(vectors)
        # One more triangular step restores what the implicit basis lost to rounding; it changes
        # a row by earlier rows only.
        return np.asarray(solve_triangular(cholesky(rows.T @ rows), rows.T, trans="T"))


def document_space(
    X: Matrix, limit: int | None, rng: np.random.Generator, *, mean: Floats | None = None
) -> DocumentSpace:
    """Return the space of X, minus the mean if given, or so many leading dimensions of it."""
    most = min(X.shape)
    limit = most if limit is None else min(limit, most)
    if limit == most or most <= _SMALL_SPACE:
        return whole_space(X, mean).leading(limit)
    return leading_space(X, limit, rng, mean)


def whole_space(X: Matrix, mean: Floats | None = None) -> DocumentSpace:
    """Return the space that all documents span, in time cubic in the smaller side of X."""
    double: Any = X.astype(np.float64)  # the stubs of scipy and numpy have no common type
    wide = X.shape[0] <= X.shape[1]
    gram = _dense(double @ double.T if wide else double.T @ double)
    if mean is not None:
        mean = mean.astype(np.float64)
        centre_gram(gram, np.asarray(double @ mean), mean, wide=wide)
    scales, U = _decompose(gram, rounding_left(X.shape, mean))
    if not len(scales):
        raise indistinguishable(X.shape[1])
    if not wide:
        places = product(double, U) - (0 if mean is None else mean @ U)
        return DocumentSpace(places / scales, scales, U, np.eye(len(scales)))
    mixing = U / scales
    coordinates = gram @ mixing
    # The basis Xᵀ @ mixing is orthonormal except for rounding, which grows with 1 / scales².
    triangle = cholesky(mixing.T @ coordinates)
    mixing = solve_triangular(triangle, mixing.T, trans="T").T
    documents = solve_triangular(triangle, coordinates.T, trans="T").T / scales
    return DocumentSpace(documents, scales, transposed(double), mixing, mean)


def leading_space(
    X: Matrix, dimensions: int, rng: np.random.Generator, mean: Floats | None = None
) -> DocumentSpace:
    """Return approximately the space that the leading singular vectors span.

    Documents are projected on the computed vectors, so everything after is exact in that space.
    """
    svd = truncated_svd(X, dimensions, rng=rng, solver="block", mean=mean)
    span = svd.terms.T.astype(np.float64)
    lengths, directions = _decompose(span.T @ span)
    whitening = directions / lengths
    coordinates = product(X, span) - (0 if mean is None else mean @ span)
    scales, rotation = _decompose(whitening.T @ (coordinates.T @ coordinates) @ whitening)
    scales, mixing = scales[:dimensions], whitening @ rotation[:, :dimensions]
    return DocumentSpace(coordinates @ (mixing / scales), scales, span, mixing)


def graph_grams(U: Floats, W: Affinity) -> tuple[Floats, Floats]:
    """Return UᵀWU and UᵀDU, a few columns at a time, so that WU is never stored.

    Documents without a neighbour are left out, even those with an edge to themselves.
    """
    if W.n_isolated:
        U = np.where(W.component_labels[:, None] >= 0, U, 0)
    degrees = W.degrees[:, None]
    rank = U.shape[1]
    affinity_gram, degree_gram = np.empty((rank, rank)), np.empty((rank, rank))
    for start in range(0, rank, COLUMNS):
        columns = slice(start, start + COLUMNS)
        block = np.ascontiguousarray(U[:, columns])
        affinity_gram[:, columns] = U.T @ (W @ block)
        degree_gram[:, columns] = U.T @ (degrees * block)
    return (affinity_gram + affinity_gram.T) / 2, (degree_gram + degree_gram.T) / 2


def rounding_left(shape: tuple[int, ...], mean: Floats | None) -> float:
    """Return the square of what rounding leaves of equal documents about their mean."""
    return 0.0 if mean is None else max(shape) * np.finfo(np.float64).eps * float(mean @ mean)


def _decompose(gram: Floats, least: float = 0.0) -> tuple[Floats, Floats]:
    """Return singular values and vectors from the Gram matrix of the smaller side."""
    squares, vectors = np.linalg.eigh(gram)
    real = np.flatnonzero(squares > max(RANK_TOLERANCE**2 * squares[-1], least))[::-1]
    return np.sqrt(squares[real]), vectors[:, real]


def _dense(gram: Any) -> Floats:
    return gram if isinstance(gram, np.ndarray) else np.asarray(gram.toarray())
