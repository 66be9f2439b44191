"""The space that the documents span, or the leading part of it, for maps that are exact in it.

Documents are rows: X = documents @ diag(scales) @ basisᵀ, where the basis (terms x dimensions) is
orthonormal. With fewer documents than terms the basis stays implicit, as combinations of
documents: all costs then depend on the number of documents, none on the vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from lpisearch.projections.blocks import orthonormal, product, transposed

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats, Matrix

# Singular values below this share of the largest are taken for rounding: single precision writes
# two equal documents of different length this far apart.
RANK_TOLERANCE = 1e-5
OVERSAMPLING = 20
# More steps come nearer to the singular vectors; the maps learned in the space did not gain.
POWER_STEPS = 2


class DocumentSpace(NamedTuple):
    """X = documents @ diag(scales) @ basisᵀ, all in double precision.

    Attributes
    ----------
    documents
        n_documents x dimensions.
    scales
        The singular values, largest first.
    mixing
        The basis, or where `from_documents` the combinations of documents that make it.
    from_documents
        Whether the basis is Xᵀ @ mixing.
    """

    documents: Floats
    scales: Floats
    mixing: Floats
    from_documents: bool

    def leading(self, dimensions: int) -> DocumentSpace:
        """Give the part with the largest singular values."""
        return self._replace(
            documents=np.ascontiguousarray(self.documents[:, :dimensions]),
            scales=self.scales[:dimensions],
            mixing=self.mixing[:, :dimensions],
        )

    def to_terms(self, X: Matrix, vectors: Floats) -> Floats:
        """Give orthonormal columns over the dimensions as orthonormal rows over the terms."""
        mixed = self.mixing @ vectors
        rows = product(X.T, mixed) if self.from_documents else mixed
        # What the implicit basis lost to rounding is regained by one more triangular step,
        # in which a row changes only by rows before it.
        return np.asarray(solve_triangular(cholesky(rows.T @ rows), rows.T, trans="T"))


def whole_space(X: Matrix) -> DocumentSpace:
    """Give all the space that the documents span, in time cubic in the smaller side of X."""
    double: Any = X.astype(np.float64)  # the stubs of scipy and numpy have no common name for it
    if X.shape[0] > X.shape[1]:
        scales, basis = _decompose(_dense(double.T @ double))
        return DocumentSpace(product(double, basis) / scales, scales, basis, from_documents=False)
    gram = _dense(double @ double.T)
    scales, U = _decompose(gram)
    mixing = U / scales
    coordinates = gram @ mixing
    # The basis Xᵀ @ mixing is orthonormal but for rounding, which grows with 1 / scales².
    triangle = cholesky(mixing.T @ coordinates)
    mixing = solve_triangular(triangle, mixing.T, trans="T").T
    documents = solve_triangular(triangle, coordinates.T, trans="T").T / scales
    return DocumentSpace(documents, scales, mixing, from_documents=True)


def leading_space(X: Matrix, dimensions: int, random_state: np.random.RandomState) -> DocumentSpace:
    """Give nearly the part of the space that the leading singular vectors span.

    A random block of documents' combinations is multiplied by Xᵀ X a few times. The documents
    are then projected on what it spans, so that all that follows is exact in that space.
    """
    width = min(dimensions + OVERSAMPLING, *X.shape)
    Xt = transposed(X)
    block = random_state.standard_normal((X.shape[1], width)).astype(X.dtype)
    for _ in range(POWER_STEPS):
        block = orthonormal(product(Xt, orthonormal(product(X, block))))
    basis = block.astype(np.float64)
    coordinates = product(X, basis)
    scales, rotation = _decompose(coordinates.T @ coordinates)
    scales, rotation = scales[:dimensions], rotation[:, :dimensions]
    documents = coordinates @ (rotation / scales)
    return DocumentSpace(documents, scales, basis @ rotation, from_documents=False)


def _decompose(gram: Floats) -> tuple[Floats, Floats]:
    """Return singular values and vectors from the Gram matrix of the smaller side."""
    squares, vectors = np.linalg.eigh(gram)
    real = np.flatnonzero(squares > RANK_TOLERANCE**2 * squares[-1])[::-1]
    return np.sqrt(squares[real]), vectors[:, real]


def _dense(gram: Any) -> Floats:
    return gram if isinstance(gram, np.ndarray) else np.asarray(gram.toarray())
