"""Orthogonal locality preserving indexing (OLPI): orthogonal directions one after the other.

The documents are U·diag(s), with U one row a document and orthonormal columns. With
A = diag(s) UᵀWU diag(s) and B = diag(s) UᵀDU diag(s), each of the orthonormal a_1 … a_k maximises
g(a) = aᵀAa / aᵀBa on the complement of those before it. As L = D - W, that is the minimum of the
paper's f(a) = aᵀXLXᵀa / aᵀXDXᵀa = 1 - g(a) (olpi-2005, equation 6; the paper writes documents as
columns).

The paper's matrix M(k) is not symmetric, and solving each reduced eigenproblem from scratch costs
O(r³) per direction. Here the pencil (A, B) is made diagonal once. In those coordinates w the
quotient is Σ λᵢwᵢ² / Σ wᵢ², and earlier directions are k linear constraints Cᵀw = 0: the largest
value on the complement is a root of det Cᵀ(Λ - μ)⁻¹C, found in O(r k²) with a proof that no value
is above it (`ConstrainedDiagonal`). When k grows so large that a fresh start is cheaper, the
pencil is made diagonal again on the complement of all directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh, qr, solve_triangular
from scipy.linalg.lapack import dsytrf, dsytrs

from lpisearch.methods.base import generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import FULL_SPACE_ORTHOGONAL, document_space, graph_grams
from lpisearch.methods.locality import LocalityProjection
from lpisearch.numeric.threads import one_blas_thread

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats


@dataclass(eq=False, repr=False)
class OLPI(LocalityProjection):
    """Orthogonal locality preserving indexing (olpi-2005).

    With documents as rows, X = U S Vᵀ, W the affinity of the graph, D its degrees and L = D - W,
    the directions a_1, a_2, … are unit vectors in the space of the SVD; each minimises

        f(a) = aᵀXᵀLXa / aᵀXᵀDXa

    (equation 6; the paper writes documents as columns) among those orthogonal to all before it.
    So the map keeps the metric of the document space: with all dimensions it is a rotation.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    svd_components
        How many leading dimensions of the SVD space are used. None: all, in time cubic in the
        number of documents or terms, whichever is smaller. "auto": all up to 1,000, else 300 or
        1.5 times `n_components`, whichever is larger. Beyond 1,000 the leading part is found by
        a few steps of iteration from a random start.
    random_state
        Seed of that start.
    graph, n_neighbors, radius, edge_weights, heat_scale, eigenvalue_power
        See `GraphParameters`. The paper's experiments use 7 neighbours. With an eigenvalue power
        of 0, `embed` keeps the metric.

    Attributes
    ----------
    components_
        n_components_ x n_terms, orthonormal rows.
    eigenvalues_
        1 - f of each component, largest first: aᵀXᵀWXa / aᵀXᵀDXa, on the scale of the graph
        eigenvalues of W y = λ D y. They are at least as large as those of LPI in the same space.
    n_components_
        Number of dimensions; fewer than requested if the SVD space has fewer.
    n_graph_components_, n_isolated_, seconds_
        See `GraphTransformer`; stages are "graph", "space" and "directions".

    Notes
    -----
    *The constant direction.* If the rows of X are independent, one direction maps all documents
    to the same value, with f = 0. As in the paper it is kept, and comes first: all others are
    orthogonal to it, it changes no distance, and without it the map would not be a rotation. A
    graph of k parts has k such directions, one constant on each part; they come first.

    *Isolated documents.* f is 0 / 0 for a direction in which only documents without a neighbour
    are non-zero. Such directions come last, with eigenvalue 0. If no document has a neighbour,
    `fit` raises a ValueError.

    References
    ----------
    D. Cai, X. He: Orthogonal locality preserving indexing, SIGIR 2005 (olpi-2005).

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.olpi import OLPI
    >>> X = np.array([[1.0, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1]])
    >>> olpi = OLPI(n_components=2, n_neighbors=1).fit(X)
    >>> olpi.components_.shape, olpi.n_graph_components_
    ((2, 4), 2)
    >>> olpi.eigenvalues_.round(6)
    array([1., 1.])
    """

    about = CATALOGUE["olpi"]

    n_components: int = DIMENSIONS

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        self.seconds_: dict[str, float] = {}
        with self._timed("graph"):
            W = self._affinity(X, y, affinity)
        rng, full = generator(self.random_state), FULL_SPACE_ORTHOGONAL
        with self._timed("space"):
            space = document_space(X, self.svd_components, self.n_components, rng, full=full)
        with self._timed("directions"):
            affinity_gram, degree_gram = graph_grams(space.documents, W)
            # Without any edge the directions would be those of LSI, each of weight 0.
            count = 0 if W.n_isolated == X.shape[0] else min(self.n_components, len(space.scales))
            directions = orthogonal_directions(affinity_gram, degree_gram, space.scales, count)
            components = space.to_terms(directions.vectors).astype(X.dtype)
            self._store(components, directions.values, self.n_components)

    @property
    def locality_(self) -> Floats:
        """The paper's eigenvalues, f of each component: 1 - `eigenvalues_`, smallest first."""
        return np.asarray(1 - self.eigenvalues_)


# A direction whose share of the degree is below this involves isolated documents only: rounding in
# UᵀDU is about 1e-15 of its largest eigenvalue, and a linked document weighs far more than 1e-10.
_UNSEEN = 1e-10


@dataclass(frozen=True, slots=True)
class OrthogonalDirections:
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
    taken = unseen
    while taken.shape[1] < unseen.shape[1] + n_seen:
        missing = unseen.shape[1] + n_seen - taken.shape[1]
        values, basis = _diagonalise(pencil, taken)
        # The steps are many small products, in which several threads would wait for each other,
        # on a busy machine for ten times as long as they work.
        with one_blas_thread():
            taken = _take_some(values, basis, taken, missing)
    seen = taken[:, unseen.shape[1] :]
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


def _take_some(values: Floats, basis: Floats, taken: Floats, n_missing: int) -> Floats:
    """Append directions to `taken` while that is cheaper than a restart."""
    problem = ConstrainedDiagonal(values)
    n_taken = taken.shape[1]
    n_columns = n_taken + min(n_missing, _directions_before_restart(values.size))
    columns = np.hstack([taken, np.empty((taken.shape[0], n_columns - n_taken))])
    for j in range(n_taken, n_columns):
        direction = basis @ problem.largest()
        for _ in range(2):  # the second pass removes what rounding left
            direction /= np.linalg.norm(direction)
            direction -= columns[:, :j] @ (columns[:, :j].T @ direction)
        columns[:, j] = direction / np.linalg.norm(direction)
        problem.add(basis.T @ columns[:, j])
    return columns


def _directions_before_restart(n: int) -> int:
    """Balance m steps at about 8nk² operations, k = 1 … m, with one restart at about 30n³."""
    return max(1, min(n // 2, round(float(np.cbrt(11 * n * n)))))


# Relative to the largest |λ|. A value is accepted if no eigenvalue exceeds it by more.
_VALUE_TOLERANCE = 1e-12
# Relative to the largest |λ|. The λᵢ this close to the shift stay in the small matrix, so that no
# entry of the rest exceeds 1 / _NEAR.
_NEAR = 1e-2
# A unit column with a smaller new part adds more rounding than information.
_DEPENDENT = 1e-12
_BLOCK_SIZE = 4
# Three shifts are usual. Bisection alone needs forty; after that the dense solver is used.
_MAX_SHIFTS = 45


class ConstrainedDiagonal:
    """diag(λ), λ descending, on the complement of a growing set of constraints C.

    `largest` finds the unit vector w with the largest quotient Σ λᵢwᵢ². The stationary values are
    the eigenvalues of P·diag(λ)·P, P the projector on the complement of C. For a shift μ, block
    elimination of

        [ Λ - μ   C ]
        [  Cᵀ     0 ]

    leaves a small symmetric matrix, as large as the number of constraints plus the few λᵢ next to
    μ (dividing by those would lose digits). Its LDLᵀ factorisation gives two things:

    - by Sylvester's law of inertia, the number of eigenvalues above μ: a proof of the maximum;
    - solves with P·diag(λ)·P - μ on the complement in O(r k): inverse iteration.

    Shifts approach the largest eigenvalue from above; it is accepted if none is higher.
    """

    def __init__(self, diagonal: Floats) -> None:
        self._diagonal = diagonal
        self._constraints = np.empty((diagonal.size, 0))
        self._scale = float(np.abs(diagonal).max()) or 1.0
        self._tolerance = _VALUE_TOLERANCE * self._scale
        # Upper bound of the eigenvalues; another constraint never raises one (interlacing).
        self._upper = float(diagonal[0]) + self._tolerance
        self._ritz_vectors = np.eye(diagonal.size, min(_BLOCK_SIZE, diagonal.size))
        self._random = np.random.default_rng(0)

    def add(self, constraint: Floats) -> None:
        """Require w to be orthogonal to one more vector."""
        C = self._constraints
        for _ in range(2):  # the second pass removes what rounding left
            constraint = constraint - C @ (C.T @ constraint)
            constraint /= np.linalg.norm(constraint)
        self._constraints = np.column_stack([C, constraint])

    def largest(self) -> Floats:
        """Return the unit vector on the complement of the constraints with the largest quotient."""
        if not self._constraints.shape[1]:
            return np.asarray(self._ritz_vectors[:, 0])
        lower, upper = -np.inf, self._upper
        # A random vector joins each search, in case the constraints exhausted the previous basis.
        new = self._random.standard_normal((self._diagonal.size, 1))
        new /= np.linalg.norm(new)
        values, error = self._rayleigh_ritz(np.hstack([self._ritz_vectors, new]))
        shift = upper
        for _ in range(_MAX_SHIFTS):
            pencil = _ShiftedPencil(self._diagonal, self._constraints, shift, _NEAR * self._scale)
            if pencil.is_singular:  # the shift is an eigenvalue to the last bit: step off it
                shift += self._tolerance
                continue
            if pencil.n_above:
                lower = shift
            else:
                upper = shift
            proved = upper - values[0] <= 2 * self._tolerance
            values, error = self._rayleigh_ritz(self._iterated(pencil))
            if proved:
                self._upper = upper
                return np.asarray(self._ritz_vectors[:, 0])
            lower = max(lower, values[0])
            shift = values[0] + max(self._tolerance, error)
            if not lower < shift < upper:
                shift = (lower + upper) / 2 if lower + self._tolerance < upper else upper
        return self._largest_by_dense_solver()

    def _iterated(self, pencil: _ShiftedPencil) -> Floats:
        """Join the Ritz vectors and their images by one inverse iteration.

        More iterations on one shift, or more vectors, cost what they save.
        """
        solved = self._project(pencil.solve(self._ritz_vectors))
        return np.hstack([self._ritz_vectors, solved / np.linalg.norm(solved, axis=0)])

    def _rayleigh_ritz(self, trial: Floats) -> tuple[Floats, float]:
        """Keep the best few Ritz vectors; return their values and the first one's error.

        The error is the second-order estimate residual² / gap.
        """
        basis, triangle, _ = qr(self._project(trial), mode="economic", pivoting=True)
        independent = np.abs(np.diagonal(triangle)) > _DEPENDENT
        basis = np.linalg.qr(self._project(basis[:, independent]))[0]
        projected = basis.T @ (self._diagonal[:, None] * basis)
        values, rotation = np.linalg.eigh(projected)
        values = values[::-1][:_BLOCK_SIZE]
        self._ritz_vectors = basis @ rotation[:, ::-1][:, :_BLOCK_SIZE]
        best = self._ritz_vectors[:, :1]
        residual = self._project(self._diagonal[:, None] * best) - values[0] * best
        gap = values[0] - values[1] if values.size > 1 else self._scale
        squared = float(np.vdot(residual, residual))
        return values, squared / max(float(gap), np.sqrt(squared), float(np.finfo(float).tiny))

    def _project(self, block: Floats) -> Floats:
        """Remove from each column what violates the constraints."""
        return block - self._constraints @ (self._constraints.T @ block)

    def _largest_by_dense_solver(self) -> Floats:
        """Solve on an explicit basis of the complement: slow, but without start or shift."""
        n_constraints = self._constraints.shape[1]
        complement = qr(self._constraints)[0][:, n_constraints:]
        values, rotation = eigh(complement.T @ (self._diagonal[:, None] * complement))
        self._upper = float(values[-1]) + self._tolerance
        self._ritz_vectors = complement @ rotation[:, ::-1][:, :_BLOCK_SIZE]
        return np.asarray(self._ritz_vectors[:, 0])


class _ShiftedPencil:
    """The factorised [Λ - μ, C; Cᵀ, 0] after eliminating all λᵢ except those next to μ."""

    def __init__(self, diagonal: Floats, constraints: Floats, shift: float, near: float) -> None:
        difference = diagonal - shift
        self._near = np.flatnonzero(np.abs(difference) < near)
        self._far = np.flatnonzero(np.abs(difference) >= near)
        self._inverse = 1 / difference[self._far, None]
        self._far_constraints = constraints[self._far]
        n_near, n_constraints = self._near.size, constraints.shape[1]
        small = np.zeros((n_near + n_constraints, n_near + n_constraints), order="F")
        small[range(n_near), range(n_near)] = difference[self._near]
        small[n_near:, :n_near] = constraints[self._near].T
        small[n_near:, n_near:] = -self._far_constraints.T @ (self._inverse * self._far_constraints)
        self._factor, self._pivots, zero_pivot = dsytrf(small, lower=1, overwrite_a=1)
        self.is_singular = zero_pivot > 0
        self.n_above = self._count_above(difference[self._far], n_constraints)

    def solve(self, block: Floats) -> Floats:
        """Return x on the complement with P·(Λ - μ)·x = each column of the block."""
        eliminated = self._inverse * block[self._far]
        right = np.vstack([block[self._near], -self._far_constraints.T @ eliminated])
        solution, _ = dsytrs(self._factor, self._pivots, right, lower=1)
        n_near = self._near.size
        x = np.empty_like(block)
        x[self._near] = solution[:n_near]
        multipliers = self._far_constraints @ solution[n_near:]
        x[self._far] = eliminated - self._inverse * multipliers
        return x

    def _count_above(self, far_differences: Floats, n_constraints: int) -> int:
        """Count the eigenvalues above the shift.

        A 2 x 2 pivot (marked by two negative indices) has one eigenvalue of each sign.
        The constraints themselves add one positive eigenvalue each.
        """
        single = self._pivots > 0
        positive = np.count_nonzero(np.diagonal(self._factor)[single] > 0)
        positive += np.count_nonzero(~single) // 2
        return int(np.count_nonzero(far_differences > 0) + positive - n_constraints)
