"""Orthogonal directions one after the other.

Each of the orthonormal a_1 … a_k minimises f(a) = aᵀXᵀLXa / aᵀXᵀDXa on the complement of those
before it (olpi-2005, equation 6; the paper writes documents as columns). As L = D - W, that is
the maximum of g(a) = aᵀXᵀWXa / aᵀXᵀDXa = 1 - f(a). The paper's matrix M(k) is not symmetric, and
solving each reduced eigenproblem from scratch costs O(r³) per direction. Here every direction is
the largest eigenvector of one symmetric operator on the complement of some constraints
(`Complement`), found in one of two sets of coordinates:

- `document_directions`: u = D^½Xa, in which the operator is D^-½WD^-½, as sparse as the graph, and
  aⱼᵀa = cⱼᵀXa where XXᵀcⱼ = Xaⱼ. Nothing dense is made but a decomposition of XXᵀ, and of many
  documents not even that (`methods/gram.py`);
- `orthogonal_directions`: the pencil in the space of the decomposition X = U diag(s) Vᵀ, made
  diagonal, for few terms, few documents, or a part of the space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.sparse.linalg import LinearOperator, eigsh

from lpisearch.methods.gram import DecomposedGram, SparseGram
from lpisearch.numeric.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy import sparse

    from lpisearch.graphs.affinity import Affinity, Floats


# Of eigenvectors, in double and in single precision; at 1e-4 the second may pass for the first.
_EXACT, _NEAR = 1e-10, 1e-6
# By how much what is left of y may raise f, and the least that is worth the steps.
_SHARE_LEFT, _LEAST_LEFT = 1e-2, 1e-5
# The number of attempts at a direction: linearly dependent documents put some out of reach.
_MOST_DEPENDENCES = 20
# A direction whose share of the degree is below this involves isolated documents only: rounding in
# UᵀDU is about 1e-15 of its largest eigenvalue, and a linked document weighs far more than 1e-10.
_UNSEEN = 1e-10


class OrthogonalDirections(NamedTuple):
    """Orthonormal columns, and g of each, largest first; 1 - g is the paper's eigenvalue.

    Directions with aᵀBa = 0, for which g is not defined, come last with the value 0.
    """

    vectors: Floats
    values: Floats


def orthogonal_directions(
    affinity_gram: Floats, degree_gram: Floats, scales: Floats, n_directions: int
) -> OrthogonalDirections:
    """Find orthonormal directions, each the best on the complement of the earlier ones.

    The Gram matrices are UᵀWU and UᵀDU (r x r, the second without negative eigenvalues), `scales`
    the r positive singular values; `n_directions` is at most r.
    """
    pencil = _Pencil.build(affinity_gram, degree_gram, scales)
    unseen = _unseen_directions(pencil, scales)
    n_seen = min(n_directions, pencil.root.shape[0])
    with one_blas_thread():
        seen = _space_directions(*_diagonalise(pencil, unseen), unseen, n_seen)
    values = np.concatenate([pencil.quotients(seen), np.zeros(n_directions - n_seen)])
    return OrthogonalDirections(np.hstack([seen, unseen[:, : n_directions - n_seen]]), values)


@dataclass(frozen=True, slots=True)
class _Pencil:
    """A = RᵀMR and B = RᵀR; the root R has fewer rows than columns where B is singular."""

    middle: Floats
    root: Floats

    @classmethod
    def build(cls, affinity_gram: Floats, degree_gram: Floats, scales: Floats) -> _Pencil:
        """Factor UᵀDU, not B: the scales cancel in M, and their condition number with them."""
        degrees, basis = np.linalg.eigh(degree_gram)
        seen = degrees > _UNSEEN * max(float(degrees[-1]), float(np.finfo(float).tiny))
        deviations = np.sqrt(degrees[seen])
        whitened = basis[:, seen] / deviations
        middle = whitened.T @ affinity_gram @ whitened
        root = (deviations * basis[:, seen]).T * scales
        return cls((middle + middle.T) / 2, root)

    def quotients(self, vectors: Floats) -> Floats:
        """Return g of each column."""
        y = self.root @ vectors
        return np.asarray(np.sum(y * (self.middle @ y), axis=0) / np.sum(y * y, axis=0))


def _unseen_directions(pencil: _Pencil, scales: Floats) -> Floats:
    """Return an orthonormal basis of {a: aᵀBa = 0}, ordered as LSI would: by squared length."""
    n_seen, n_coordinates = pencil.root.shape
    if n_seen == n_coordinates:
        return np.empty((n_coordinates, 0))
    basis = qr(pencil.root.T)[0][:, n_seen:] if n_seen else np.eye(n_coordinates)
    rotation = np.linalg.eigh((scales[:, None] * basis).T @ (scales[:, None] * basis))[1]
    return np.asarray(basis @ rotation[:, ::-1])


def _diagonalise(pencil: _Pencil, taken: Floats) -> tuple[Floats, Floats]:
    """Return λ, largest first, and G with GᵀBG = I, GᵀAG = diag(λ), orthogonal to `taken`.

    A QR factorisation of the root on the complement replaces a Cholesky factor of B there, and
    has the square root of its condition number.
    """
    n_taken = taken.shape[1]
    complement = qr(taken)[0][:, n_taken:] if n_taken else np.eye(taken.shape[0])
    orthogonal, triangle = np.linalg.qr(pencil.root @ complement)
    values, rotation = np.linalg.eigh(orthogonal.T @ pencil.middle @ orthogonal)
    basis = complement @ solve_triangular(triangle, rotation[:, ::-1])
    return values[::-1], basis


def _space_directions(values: Floats, basis: Floats, unseen: Floats, count: int) -> Floats:
    """Find directions one after the other, in coordinates in which the pencil is diagonal."""
    complement = Complement(lambda v: values * v, len(values))
    columns = np.hstack([unseen, np.empty((len(unseen), count))])
    for j in range(unseen.shape[1], columns.shape[1]):
        direction = basis @ complement.leading()[0]
        for _ in range(2):  # the second pass removes what rounding left
            direction /= np.linalg.norm(direction)
            direction -= columns[:, :j] @ (columns[:, :j].T @ direction)
        columns[:, j] = direction / np.linalg.norm(direction)
        complement.add(basis.T @ columns[:, j])
    return columns[:, unseen.shape[1] :]


class DocumentDirections(NamedTuple):
    """Directions as orthonormal rows over the terms, g of each, and what g cannot exceed."""

    components: Floats
    values: Floats
    bounds: Floats


def document_directions(
    X: sparse.csr_array,
    W: Affinity,
    gram: DecomposedGram | SparseGram,
    count: int,
    rng: np.random.Generator,
) -> DocumentDirections:
    """Find directions by the places y = Xa of documents, each of which has a neighbour.

    With u = D^½y, N = D^-½WD^-½ and a = Xᵀc, g is uᵀNu / uᵀu, and aⱼᵀa = cⱼᵀy: u is the largest
    eigenvector of N on the complement of all D^-½cⱼ, and c follows from XXᵀc = y. If `gram` has a
    mean, X is about it.
    """
    degrees, scale = W.degrees, 1 / np.sqrt(W.degrees)
    complement = Complement(
        lambda u: scale * (W @ (scale * u)),
        len(degrees),
        start=np.sqrt(degrees),
        tolerance=_EXACT if isinstance(gram, DecomposedGram) else _NEAR,
        rng=rng,
    )
    complement.add(scale[:, np.newaxis] * gram.null)
    rows, mixing = np.zeros((count, X.shape[1])), np.zeros((len(degrees), count), order="F")
    values, bounds = np.zeros(count), np.zeros(count)
    for j in range(count):
        for _ in range(_MOST_DEPENDENCES):
            u, bounds[j] = complement.leading()
            left = np.sqrt(_SHARE_LEFT / 2 * max(1 - bounds[j], 0))
            c = gram.solve(scale * u, max(left, _LEAST_LEFT))
            a = X.T @ c
            if isinstance(gram, DecomposedGram) or gram.reaches(c, a):
                break
            complement.add(scale * c)
        for _ in range(2):  # the second pass removes what rounding left where the first took much
            length = np.linalg.norm(a)
            a, c = a / length, c / length
            shares = rows[:j] @ a
            a, c = a - rows[:j].T @ shares, c - mixing[:, :j] @ shares
            if shares @ shares < 1 / 2:
                break
        length = np.linalg.norm(a)
        rows[j], mixing[:, j] = a / length, c / length
        y = X @ rows[j] - (0 if gram.mean is None else gram.mean @ rows[j])
        values[j] = (y @ (W @ y)) / (y @ (degrees * y))
        complement.add(scale * mixing[:, j])
    return DocumentDirections(rows, values, bounds)


# Up to so many dimensions a complement is solved as a dense problem: as fast, to the last digit.
_DENSE = 150
_BASIS = 24  # vectors of a Lanczos basis
# Values are all above -1: the constraints, whose value is 0, must not come before them.
_SHIFT = 2.0
# Of a random vector in each start, so that no eigenvector is orthogonal to it.
_DRAWN = 1e-2


class Complement:
    """The largest value of a symmetric operator on the complement of a growing set of vectors.

    The eigenvalues of the operator are between -1 and 1.
    """

    def __init__(
        self,
        times: Callable[[Floats], Floats],
        size: int,
        *,
        start: Floats | None = None,
        tolerance: float = 1e-12,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._times, self._size, self._tolerance = times, size, tolerance
        self._rng = rng or np.random.default_rng(0)
        self._columns = np.zeros((size, _BASIS), "d" if tolerance <= _EXACT else "f", order="F")
        self._count = 0
        self._start = self._drawn() if start is None else start

    def add(self, vectors: Floats) -> None:
        """Require orthogonality to one more vector, or to columns."""
        for vector in np.atleast_2d(vectors.T):
            unit = self._unit(self._unit(vector))  # the second pass removes what rounding left
            if self._count == self._columns.shape[1]:
                self._columns = np.asfortranarray(np.tile(self._columns, 2))
            self._columns[:, self._count] = unit
            self._count += 1

    def leading(self) -> tuple[Floats, float]:
        """Return the unit vector with the largest value, and this value."""
        if self._size <= _DENSE or self._size - self._count <= _BASIS:
            return self._by_dense_solver()
        values, vectors = eigsh(
            LinearOperator((self._size, self._size), matvec=self._image, dtype=self._columns.dtype),
            1, which="LA", v0=self._project(self._start), ncv=_BASIS, tol=self._tolerance,
            maxiter=50 * self._size,
        )  # fmt: skip
        self._start = vectors[:, 0] + self._drawn()  # with something of every other vector
        return self._unit(vectors[:, 0]), float(values[0]) - _SHIFT

    def _image(self, v: Floats) -> Floats:
        """Return the image of a vector of the complement, where every Krylov vector is."""
        v = v.ravel()
        return self._project(self._times(v)) + _SHIFT * v

    def _project(self, v: Floats) -> Floats:
        columns = self._columns[:, : self._count]
        v = v.astype(columns.dtype, copy=False)
        return np.asarray(v - columns @ (columns.T @ v))

    def _unit(self, v: Floats) -> Floats:
        v = self._project(v)
        return np.asarray(v / np.linalg.norm(v))

    def _drawn(self) -> Floats:
        drawn = self._rng.standard_normal(self._size)
        return np.asarray(_DRAWN * drawn / np.linalg.norm(drawn))

    def _by_dense_solver(self) -> tuple[Floats, float]:
        columns = self._columns[:, : self._count]
        basis = qr(columns)[0][:, self._count :] if self._count else np.eye(self._size)
        image = np.column_stack([self._times(column) for column in basis.T])
        values, vectors = np.linalg.eigh(basis.T @ image)
        return self._unit(basis @ vectors[:, -1]), float(values[-1])
