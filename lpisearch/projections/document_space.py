"""The span of the documents, or its leading part, for exact solvers.

Documents are rows: X = documents @ diag(scales) @ basisᵀ, where the basis (terms x dimensions) is
orthonormal. It stays implicit, as combinations of a few columns, or of the documents themselves:
most costs then depend on the smaller side of X only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from lpisearch.projections.blocks import product, transposed
from lpisearch.projections.singular import centre_gram, truncated_svd

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Affinity, Floats, Matrix

# Singular values below this share of the largest are taken for rounding: single precision writes
# two equal documents of different length this far apart.
RANK_TOLERANCE = 1e-5
# Columns that are multiplied by the graph at a time.
COLUMNS = 64

# Up to this many documents (or terms) "auto" keeps all of the space, as the papers do.
FULL_SPACE = 3000
# The same where directions are sought one after the other, which takes far longer.
FULL_SPACE_ORTHOGONAL = 1000
# Beyond, this much of it, or 1.5 times the dimensions asked for if that is more.
LEADING_SPACE = 300


def kept_dimensions(
    asked: int | str | None, most: int, n_components: int, full: int | None = None
) -> int:
    """Resolve `svd_components` for documents that have `most` dimensions or fewer.

    "auto" is all of them up to `full`.
    """
    if asked is None:
        return most
    if asked != "auto":
        return min(int(asked), most)
    limit = FULL_SPACE if full is None else full
    return most if most <= limit else min(max(LEADING_SPACE, n_components * 3 // 2), most)


class DocumentSpace(NamedTuple):
    """X = documents @ diag(scales) @ basisᵀ, with the basis span @ mixing.

    Attributes
    ----------
    documents
        n_documents x dimensions, in double precision.
    scales
        The singular values, largest first.
    span, mixing
        Columns over the terms, and the combinations of them that are orthonormal.
    mean
        What is to be taken from each column of the span, or None.
    """

    documents: Floats
    scales: Floats
    span: Any
    mixing: Floats
    mean: Floats | None = None

    def leading(self, dimensions: int) -> DocumentSpace:
        """Give the part with the largest singular values."""
        return self._replace(
            documents=np.ascontiguousarray(self.documents[:, :dimensions]),
            scales=self.scales[:dimensions],
            mixing=self.mixing[:, :dimensions],
        )

    def over_terms(self, vectors: Floats) -> Floats:
        """Give columns over the dimensions as columns over the terms."""
        columns = self.mixing @ vectors
        image = product(self.span, columns)
        return image if self.mean is None else image - np.outer(self.mean, columns.sum(axis=0))

    def to_terms(self, vectors: Floats) -> Floats:
        """Give orthonormal columns over the dimensions as orthonormal rows over the terms."""
        rows = self.over_terms(vectors)
        # What the implicit basis lost to rounding is regained by one more triangular step,
        # in which a row changes only by rows before it.
        return np.asarray(solve_triangular(cholesky(rows.T @ rows), rows.T, trans="T"))


def document_space(
    X: Matrix,
    asked: int | str | None,
    n_components: int,
    rng: np.random.Generator,
    *,
    mean: Floats | None = None,
    full: int | None = None,
) -> DocumentSpace:
    """Give the part of the space that `svd_components` asks for, cut from all of it if small.

    With a mean, documents are taken about it. `full` is as in `kept_dimensions`.
    """
    most = min(X.shape)
    limit = kept_dimensions(asked, most, n_components, full)
    if limit >= most or most <= (FULL_SPACE_ORTHOGONAL if full is None else full):
        return whole_space(X, mean).leading(limit)
    return leading_space(X, limit, rng, mean)


def whole_space(X: Matrix, mean: Floats | None = None) -> DocumentSpace:
    """Give all the space that the documents span, in time cubic in the smaller side of X."""
    double: Any = X.astype(np.float64)  # the stubs of scipy and numpy have no common name for it
    wide = X.shape[0] <= X.shape[1]
    gram = _dense(double @ double.T if wide else double.T @ double)
    if mean is not None:
        mean = mean.astype(np.float64)
        centre_gram(gram, np.asarray(double @ mean), mean, wide=wide)
    scales, U = _decompose(gram)
    if not wide:
        places = product(double, U) - (0 if mean is None else mean @ U)
        return DocumentSpace(places / scales, scales, U, np.eye(len(scales)))
    mixing = U / scales
    coordinates = gram @ mixing
    # The basis Xᵀ @ mixing is orthonormal but for rounding, which grows with 1 / scales².
    triangle = cholesky(mixing.T @ coordinates)
    mixing = solve_triangular(triangle, mixing.T, trans="T").T
    documents = solve_triangular(triangle, coordinates.T, trans="T").T / scales
    return DocumentSpace(documents, scales, transposed(double), mixing, mean)


def leading_space(
    X: Matrix, dimensions: int, rng: np.random.Generator, mean: Floats | None = None
) -> DocumentSpace:
    """Give nearly the part of the space that the leading singular vectors span.

    The documents are projected on what the vectors found span, so that all that follows is exact
    in that space.
    """
    found = truncated_svd(X, dimensions, rng=rng, solver="block", mean=mean)
    span = found.terms.T.astype(np.float64)
    lengths, turn = _decompose(span.T @ span)
    whitening = turn / lengths
    coordinates = product(X, span) - (0 if mean is None else mean @ span)
    scales, rotation = _decompose(whitening.T @ (coordinates.T @ coordinates) @ whitening)
    scales, mixing = scales[:dimensions], whitening @ rotation[:, :dimensions]
    return DocumentSpace(coordinates @ (mixing / scales), scales, span, mixing)


def graph_grams(U: Floats, W: Affinity) -> tuple[Floats, Floats]:
    """Return UᵀWU and UᵀDU, a few columns at a time, so that WU is never held.

    Documents without a neighbour take no part, even where they are their own.
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


def _decompose(gram: Floats) -> tuple[Floats, Floats]:
    """Return singular values and vectors from the Gram matrix of the smaller side."""
    squares, vectors = np.linalg.eigh(gram)
    real = np.flatnonzero(squares > RANK_TOLERANCE**2 * squares[-1])[::-1]
    return np.sqrt(squares[real]), vectors[:, real]


def _dense(gram: Any) -> Floats:
    return gram if isinstance(gram, np.ndarray) else np.asarray(gram.toarray())
