"""The Gram matrix of documents, K = X Xᵀ, and its solver: c with K c = y, so that X (Xᵀc) = y.

A direction a of a linear map that places the documents at y is a = Xᵀ c. Up to some thousand
documents K is decomposed, and the solution is exact. Beyond, K is never formed: conjugate gradients
minimise the error of a. Two things slow that down, and each has its remedy:

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
from scipy.sparse.linalg import LinearOperator, eigsh

from lpisearch.methods.linalg import RANK_TOLERANCE, centre_gram, rounding_left

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

    Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DecomposedGram:
    """K = U diag(s²) Uᵀ of a few thousand documents; no map reaches the y along `null`."""

    vectors: Floats
    squares: Floats
    null: Floats
    mean: Floats | None

    @classmethod
    def of(cls, X: Matrix, mean: Floats | None = None) -> Self:
        """Decompose the Gram matrix of the rows of X, minus their mean if given."""
        product: Any = X @ X.T
        gram = product if isinstance(product, np.ndarray) else product.toarray()
        if mean is not None:
            centre_gram(gram, np.asarray(X @ mean), mean, wide=True)
        squares, vectors = np.linalg.eigh(gram)
        real = squares > max(RANK_TOLERANCE**2 * squares[-1], rounding_left(X.shape, mean))
        return cls(vectors[:, real], squares[real], vectors[:, ~real], mean)

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
# By what share aᵀa may still have grown in the last of so many steps.
_SHARE_GAINED, _GAINS = 3e-5, 8
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

    Attributes
    ----------
    ridge
        A small number on the diagonal of K.
    triangle
        G with G K Gᵀ ≈ I, or None without links.
    leading, squares
        The leading eigenvectors of K, and their eigenvalues. About the mean, the constant is among
        them, and infinity its value.
    null, mean
        As of `DecomposedGram`; but dependences of documents are not known beforehand.
    """

    X: Any
    ridge: float
    triangle: Any
    leading: Floats
    squares: Floats
    null: Floats
    mean: Floats | None

    @classmethod
    def of(
        cls,
        X: Matrix,
        edges: sparse.csr_array | None,
        rng: np.random.Generator,
        shares: Floats | None = None,
    ) -> Self:
        """Prepare to solve; documents that nearly repeat each other should have an edge.

        If given, `shares` of the documents make up their mean, which is subtracted.
        """
        n = X.shape[0]
        double, single = (sparse.csr_array(X.astype(kind)) for kind in (np.float64, np.float32))
        ridge = _RIDGE if X.shape[1] >= _MANY_TERMS * n else _RIDGE_OF_FEW_TERMS
        triangle = None if edges is None else _triangle(double, edges, ridge)
        mean = None if shares is None else np.asarray(double.T @ shares)
        null = np.empty((n, 0)) if shares is None else shares[:, np.newaxis]
        level = np.full((n, null.shape[1]), n**-0.5)

        def about(v: Any) -> Any:
            return v - level @ (level.T @ v)

        def image(v: Any) -> Any:
            return about(single @ (single.T @ about(v).astype(np.float32)))

        gram: Any = LinearOperator((n, n), matvec=image, dtype=np.float32)
        start: Any = about(rng.standard_normal(n, np.float32))
        squares, vectors = eigsh(gram, min(_LEADING, n - 2), tol=_LEADING_TOLERANCE, v0=start)
        leading = np.asfortranarray(np.hstack([level, about(vectors)]))
        values = np.append(np.full(level.shape[1], np.inf), squares + ridge)
        return cls(double, ridge, triangle, leading, values, null, mean)

    def solve(self, y: Floats, tolerance: float) -> Floats:
        """Return c with ‖y - K c‖ near this share of ‖y‖, and with an a = Xᵀc that has settled.

        Documents that nearly repeat each other show much in a, and little in y.
        """
        length = float(np.linalg.norm(y))
        right, c, left = y / length, np.zeros(len(y)), np.inf
        for _ in range(_MOST_ROUNDS):
            nearer = c + self._by_leading(right - self._times(c))
            residual = self._beyond(right - self._times(nearer))
            before, left = left, float(np.linalg.norm(residual))
            c = nearer if left < before else c
            if left <= _NEARLY * tolerance or left > before / 2:
                break
            c = c + self._by_steps(residual, tolerance, float(c @ right))
        return np.asarray(c * length)

    def reaches(self, c: Floats, a: Floats) -> bool:
        """Whether c, with a = Xᵀc, is not a dependence of documents: y along it is out of reach."""
        return bool(a @ a > _LEAST_SQUARE * (c @ c) or self.ridge > _LEAST_SQUARE)

    def _by_steps(self, residual: Floats, tolerance: float, length: float) -> Floats:
        """Solve for the residual by conjugate gradients; `length` is aᵀa of what is solved.

        Where K is nearly singular, only the residual of a combination of all steps shrinks.
        """
        c: Floats = np.zeros_like(residual)
        smooth, least, gains = c, residual, [np.inf]
        z = self._preconditioned(residual)
        step, slope = z, float(residual @ z)
        for _ in range(_MOST_STEPS):
            if slope <= 0:
                break
            image = self._beyond(self._times(step))
            factor = slope / float(step @ image)
            c, residual = c + factor * step, residual - factor * image
            gains.append(factor * slope)  # how much aᵀa grows, and what was missing shrinks
            length += gains[-1]
            if (
                np.linalg.norm(residual) <= tolerance
                and sum(gains[-_GAINS:]) <= _SHARE_GAINED * length
            ):
                return c
            more = residual - least
            share = -float(least @ more) / float(more @ more)
            smooth, least = smooth + share * (c - smooth), least + share * more
            z = self._preconditioned(residual)
            before, slope = slope, float(residual @ z)
            step = z + slope / before * step
        return smooth

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
    parts = (entries[numbers, places], (numbers, columns[numbers, places]))
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
