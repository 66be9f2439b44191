"""The Gram matrix of documents, K = X Xᵀ, and its solver: c with K c = y, so that X (Xᵀc) = y.

A direction a of a linear map that places the documents at y is a = Xᵀ c. Up to some thousand
documents K is decomposed, and the solution is exact. Beyond, K is never formed: the residual
‖y - K c‖ is minimised over a growing Krylov space (conjugate residuals). Two things slow that down,
and each has its remedy:

- the largest eigenvalues of K, the topics that all documents share: the leading singular directions
  of X are solved for directly;
- the smallest, documents that nearly repeat others: K is almost block-diagonal there, so a sparse
  triangle G with G K Gᵀ ≈ I, whose pattern is the strongest links of a graph, is a good
  preconditioner (a factorised sparse approximate inverse).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import aslinearoperator, eigsh

from lpisearch.methods.linalg import RANK_TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

    Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DecomposedGram:
    """K = U diag(s²) Uᵀ of a few thousand documents; `null` spans the y that no map reaches."""

    vectors: Floats
    squares: Floats
    null: Floats

    @classmethod
    def of(cls, X: Matrix) -> Self:
        """Decompose the Gram matrix of the rows of X."""
        product: Any = X @ X.T
        gram = product if isinstance(product, np.ndarray) else product.toarray()
        squares, vectors = np.linalg.eigh(gram)
        real = squares > RANK_TOLERANCE**2 * squares[-1]
        return cls(vectors[:, real], squares[real], vectors[:, ~real])

    def solve(self, y: Floats, _tolerance: float) -> Floats:
        """Return the shortest c whose K c is nearest to y."""
        return np.asarray(self.vectors @ ((self.vectors.T @ y) / self.squares))


# Leading singular directions that are solved for directly: with more, each step costs more than
# they save.
_LEADING = 40
# A rough space of them serves as well.
_LEADING_TOLERANCE = 1e-2
# Links of a document in the pattern of the preconditioner: 3 save two thirds of the steps, 6 no
# more.
_LINKS = 3
_MOST_STEPS, _MOST_ROUNDS = 400, 8
# What is left of y that needs no other round, as a share of the tolerance.
_NEARLY = 2.0
_PAIRS = 20_000  # whose inner products are computed at a time
# Added to the diagonal. The smallest eigenvalues of K approach 0 where terms are hardly more than
# documents, and a solution would consist of what no map reaches.
_RIDGE, _RIDGE_OF_FEW_TERMS = 1e-9, 1e-6
# Of a combination of documents that counts as a dependence.
_LEAST_SQUARE = 1e-8
_MANY_TERMS = 2  # for each document
# Documents whose cosine is nearer to 1 count as one: K has no inverse with both.
_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class SparseGram:
    """K of many documents by products with X and Xᵀ alone.

    Steps are in float32, in half the time; what rounding leaves is the start of another round.

    Attributes
    ----------
    ridge
        A small number on the diagonal of K.
    triangle
        G with G K Gᵀ ≈ I, or None without links.
    leading, squares
        The leading eigenvectors of K, and their eigenvalues.
    """

    X: Any
    ridge: np.float32
    triangle: Any
    leading: NDArray[np.float32]
    squares: NDArray[np.float32]
    null: Floats

    @classmethod
    def of(cls, X: Matrix, edges: sparse.csr_array | None, rng: np.random.Generator) -> Self:
        """Prepare to solve; documents that nearly repeat each other should have an edge."""
        single: Any = sparse.csr_array(X.astype(np.float32))
        n = X.shape[0]
        ridge = _RIDGE if X.shape[1] >= _MANY_TERMS * n else _RIDGE_OF_FEW_TERMS
        triangle = None if edges is None else _triangle(single, edges, ridge)
        gram: Any = aslinearoperator(single) @ aslinearoperator(single.T)
        start: Any = rng.standard_normal(n, np.float32)
        count = min(_LEADING, n - 2)
        squares, vectors = eigsh(gram, k=count, tol=_LEADING_TOLERANCE, v0=start)
        leading = np.asfortranarray(vectors.astype(np.float32))
        shifted = (squares + ridge).astype(np.float32)
        return cls(single, np.float32(ridge), triangle, leading, shifted, np.empty((n, 0)))

    def solve(self, y: Floats, tolerance: float) -> Floats:
        """Return c with ‖y - K c‖ near this share of ‖y‖, if 400 steps a round suffice."""
        length = float(np.linalg.norm(y))
        right = y / length
        c = self._by_leading(right.astype(np.float32))
        left = np.inf
        for _ in range(_MOST_ROUNDS):
            missed = right - self._times(c)
            residual = self._beyond(missed)
            before, left = left, float(np.linalg.norm(residual))
            if left <= _NEARLY * tolerance or left > before / 2:
                break
            c = c + self._by_steps(residual.astype(np.float32), tolerance).astype(np.float64)
        return np.asarray((c + self._by_leading(missed)) * length)

    def reaches(self, c: Floats, a: Floats) -> bool:
        """Whether c, with a = Xᵀc, is not a dependence of documents: y along it is out of reach."""
        return bool(a @ a > _LEAST_SQUARE * (c @ c) or self.ridge > _LEAST_SQUARE)

    def _by_steps(self, residual: Any, tolerance: float) -> Any:
        """Minimise the residual beyond the leading directions by conjugate residuals."""
        c = np.zeros_like(residual)
        z = self._preconditioned(residual)
        step, image = z.copy(), self._beyond(self._times(z))
        z_image, step_image = image, image.copy()
        curvature = float(z @ z_image)
        for _ in range(_MOST_STEPS):
            if np.linalg.norm(residual) <= tolerance or curvature <= 0:
                break
            conditioned = self._preconditioned(step_image)
            length = np.float32(curvature / float(step_image @ conditioned))
            c += length * step
            residual = residual - length * step_image
            z = z - length * conditioned
            z_image = self._beyond(self._times(z))
            previous, curvature = curvature, float(z @ z_image)
            ratio = np.float32(curvature / previous)
            step = z + ratio * step
            step_image = z_image + ratio * step_image
        return c

    def _times(self, v: Any) -> Any:
        return self.X @ (self.X.T @ v) + self.ridge * v

    def _by_leading(self, v: Any) -> Any:
        return self.leading @ ((self.leading.T @ v) / self.squares)

    def _beyond(self, v: Any) -> Any:
        """Remove the leading directions."""
        return v - self.leading @ (self.leading.T @ v)

    def _preconditioned(self, v: Any) -> Any:
        if self.triangle is None:
            return v
        return self._beyond(self.triangle.T @ (self.triangle @ v))


def _triangle(X: Any, edges: sparse.csr_array, ridge: float) -> sparse.csr_array:
    """Return G with GᵀG ≈ K⁻¹: row i solves K for document i and its strongest links before it."""
    n = X.shape[0]
    earlier, weights = _earlier_links(X, edges)
    squares = np.maximum(_squares(X), ridge) * (1 + _SAME) + ridge  # links may be dependent
    blocks = np.tile(np.eye(_LINKS + 1), (n, 1, 1))
    rows, places = np.nonzero(earlier >= 0)
    blocks[rows, places, places] = squares[earlier[rows, places]]
    blocks[:, _LINKS, _LINKS] = squares
    blocks[rows, places, _LINKS] = blocks[rows, _LINKS, places] = weights[rows, places]
    for one in range(_LINKS):
        for other in range(one):
            both = np.flatnonzero((earlier[:, one] >= 0) & (earlier[:, other] >= 0))
            shared = _inner_products(X, earlier[both, one], earlier[both, other])
            blocks[both, one, other] = blocks[both, other, one] = shared
    last = np.zeros((n, _LINKS + 1, 1))
    last[:, _LINKS] = 1
    entries = np.linalg.solve(blocks, last)[..., 0]
    entries /= np.sqrt(np.maximum(entries[:, _LINKS:], np.finfo(float).tiny))
    columns = np.column_stack([earlier, np.arange(n)])
    numbers, places = np.nonzero(columns >= 0)
    parts = (entries[numbers, places].astype(np.float32), (numbers, columns[numbers, places]))
    return sparse.csr_array(parts, shape=(n, n))


def _earlier_links(X: Any, edges: sparse.csr_array) -> tuple[Numbers, Floats]:
    """Return the linked documents before each with the largest inner products, and these."""
    n = X.shape[0]
    rows, columns = sparse.tril(edges, -1).tocoo().coords
    products = _inner_products(X, rows, columns)
    order = np.lexsort((-products, rows))
    rows, columns, products = rows[order], columns[order], products[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    kept = rank < _LINKS
    earlier, weights = np.full((n, _LINKS), -1, np.int64), np.zeros((n, _LINKS))
    earlier[rows[kept], rank[kept]] = columns[kept]
    weights[rows[kept], rank[kept]] = products[kept]
    return earlier, weights


def _inner_products(X: Any, ones: Numbers, others: Numbers) -> Floats:
    """Return the inner products of pairs of rows, some pairs at a time."""
    products = np.empty(len(ones))
    for start in range(0, len(ones), _PAIRS):
        part = slice(start, start + _PAIRS)
        products[part] = X[ones[part]].multiply(X[others[part]]).sum(axis=1)
    return products


def _squares(X: Any) -> Floats:
    return np.asarray(X.multiply(X).sum(axis=1), np.float64).ravel()


def same_documents(X: Any, edges: sparse.csr_array | None) -> NDArray[np.intp]:
    """Return the group of each document (row), numbered from 0: linked ones with a cosine of 1."""
    n = X.shape[0]
    if edges is None:
        return np.arange(n)
    rows, columns = sparse.triu(edges, 1).tocoo().coords
    lengths = np.sqrt(_squares(X))
    products = _inner_products(X, rows, columns)
    unlike = np.abs(lengths[rows] - lengths[columns]) > _SAME * lengths[rows]
    same = (products >= (1 - _SAME) * lengths[rows] * lengths[columns]) & ~unlike
    links = sparse.csr_array((np.ones(same.sum()), (rows[same], columns[same])), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], np.intp)
