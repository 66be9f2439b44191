"""Singular value decompositions of the document matrix, shared by LSI, LPI, LPP and PCA.

Documents are rows: X = documents @ diag(values) @ terms. With a mean m it is X - 1 mᵀ that is
decomposed, without writing it down: a sparse X stays sparse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, svds

from lpisearch.projections.blocks import combined, gram, orthonormal, product, transposed

if TYPE_CHECKING:
    from typing import Any

    from lpisearch.graphs.affinity import Floats, Matrix

SOLVERS = ("auto", "block", "arpack", "dense")
# Up to this many entries LAPACK works on the full matrix; beyond, on the smaller Gram matrix.
DENSE_ENTRIES = 4_000_000
# Up to this many documents or terms on the smaller side "auto" decomposes all of X.
DENSE_SIDE = 1500
# The Gram matrix squares the values, so what lies below the root of its rounding is noise.
GRAM_TOLERANCE = 1e-7
OVERSAMPLING = 20
# The block's iteration stops when another round would move the subspace by less than this share.
BLOCK_TOLERANCE = 1e-3
MAX_ROUNDS = 8
# How much more the first column may grow than the last in one round, and the degrees used.
MOST_GROWTH = 1e10
MOST_DEGREE = 12
DAMPING = 1e-3


class Singular(NamedTuple):
    """X = documents @ diag(values) @ terms, values descending and all above zero."""

    documents: Floats
    values: Floats
    terms: Floats


def full_svd(X: Matrix, *, mean: Floats | None = None) -> Singular:
    """Decompose X to its numerical rank, in double precision: for a few thousand documents."""
    centre = np.zeros(X.shape[1]) if mean is None else mean.astype(np.float64)
    if X.shape[0] * X.shape[1] <= DENSE_ENTRIES:
        dense = X.toarray() if sparse.issparse(X) else X
        full = dense.astype(np.float64) - centre
        U, s, Vt = linalg.svd(full, full_matrices=False, lapack_driver="gesdd")
        tolerance = max(X.shape) * np.finfo(np.float64).eps
        return _to_rank(Singular(U, s, Vt), tolerance)
    X = X.astype(np.float64)
    wide = X.shape[0] <= X.shape[1]
    inner = X @ X.T if wide else X.T @ X
    inner = inner.toarray() if sparse.issparse(inner) else inner
    centre_gram(inner, np.asarray(X @ centre), centre, wide=wide)
    squares, vectors = linalg.eigh(inner, overwrite_a=True, driver="evd")
    keep = np.flatnonzero(squares > (GRAM_TOLERANCE**2) * squares[-1])[::-1]
    s, vectors = np.sqrt(squares[keep]), vectors[:, keep]
    scaled = vectors / s
    if wide:
        terms = np.asarray(X.T @ scaled) - np.outer(centre, scaled.sum(axis=0))
        return Singular(vectors, s, terms.T)
    return Singular(np.asarray(X @ scaled) - centre @ scaled, s, vectors.T)


def truncated_svd(
    X: Matrix,
    rank: int,
    *,
    rng: np.random.Generator,
    solver: str = "auto",
    mean: Floats | None = None,
) -> Singular:
    """Find the `rank` leading singular triplets, or fewer if X has not so many.

    "block" is subspace iteration with a Chebyshev filter from a random block; "arpack" is the
    reference; "dense" decomposes all of X; "auto" is dense when X is small or nearly all of it is
    asked for, else block. The mean, where given, is of the rows.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, not {solver!r}.")
    smaller = min(X.shape)
    small = smaller <= DENSE_SIDE or rank + OVERSAMPLING >= smaller // 2
    if solver == "dense" or rank >= smaller or (solver == "auto" and small):
        return _leading(full_svd(X, mean=mean), rank, X.dtype)
    operator = X if mean is None else _centred(X, mean)
    if solver == "arpack":
        start = rng.standard_normal(smaller).astype(X.dtype)
        U, s, Vt = svds(operator, k=rank, v0=start, solver="arpack")
        return _to_rank(_leading(Singular(U[:, ::-1], s[::-1], Vt[::-1]), rank, X.dtype), 1e-6)
    return _block_svd(operator, rank, rng)


def centre_gram(gram: Floats, images: Floats, centre: Floats, *, wide: bool) -> None:
    """Turn X Xᵀ (wide) or Xᵀ X into that of X - 1 mᵀ, in place; `images` is X m."""
    if wide:
        gram -= images[:, np.newaxis] + images - centre @ centre
    else:
        gram -= len(images) * np.outer(centre, centre)


def _centred(X: Matrix, mean: Floats) -> LinearOperator:
    """Give X - 1 mᵀ as an operator on vectors and blocks."""
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

    Each round damps all that lies below the last Ritz value of the round before by a Chebyshev
    polynomial. The rounds end when another would hardly move the subspace, each direction
    weighted by its share of the documents.
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
        kept = np.square(gram(before, Q[:, :rank])).sum(axis=0)
        moved = float(np.sum(squares[:rank] * (1 - kept)) / np.sum(squares[:rank]))
        # The next round would move it by so much, if steps go on shrinking as they do.
        expected = moved * min(moved / moved_before, 1) if moved > 0 else 0
        rounds += 1
    real = np.flatnonzero(squares[:rank] > np.finfo(X.dtype).eps * squares[0])
    s = np.sqrt(squares[real])
    near, far = Q[:, real], (B[:, real] / s).astype(X.dtype)
    values = s.astype(X.dtype)
    return Singular(near, values, far.T) if A is X else Singular(far, values, near.T)


def _ritz(At: Any, Q: Floats) -> tuple[Floats, Floats, Floats]:
    """Give the best squared singular values and vectors in a span, largest first, and Aᵀ of them.

    The span is that of the orthonormal columns of Q.
    """
    B = product(At, Q)
    squares, turn = linalg.eigh(gram(B, B))
    turn = turn[:, ::-1]
    return np.maximum(squares[::-1], 0), combined(Q, turn), combined(B, turn)


def _chebyshev(A: Any, At: Any, Q: Floats, squares: Floats) -> Floats:
    """Damp, in each column, what belongs to squared singular values below the last one.

    The degree is as high as keeps the growth of the first column in bounds.
    """
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
    return Singular(
        svd.documents[:, :rank].astype(dtype, copy=False),
        svd.values[:rank].astype(dtype, copy=False),
        svd.terms[:rank].astype(dtype, copy=False),
    )


def _to_rank(svd: Singular, tolerance: float) -> Singular:
    """Drop triplets whose value is noise beside the largest."""
    rank = int(np.count_nonzero(svd.values > tolerance * svd.values[:1].max(initial=0)))
    return Singular(svd.documents[:, :rank], svd.values[:rank], svd.terms[:rank])
