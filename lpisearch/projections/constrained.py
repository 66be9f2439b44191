"""The largest value of Σ λᵢwᵢ² / Σ wᵢ² under a growing set of linear constraints Cᵀw = 0.

In: λ, and constraints one after another. Out: the unit vector w with the largest quotient.

The stationary values are the eigenvalues of P·diag(λ)·P, P the projector on the complement of C.
For a shift μ, block elimination of

    [ Λ - μ   C ]
    [  Cᵀ     0 ]

leaves a small symmetric matrix, as large as the number of constraints plus the few λᵢ next to μ
(dividing by those would lose digits). One LDLᵀ factorisation of it gives two things:

- by Sylvester's law of inertia, how many eigenvalues lie above μ: a proof of the maximum;
- solves with P·diag(λ)·P - μ on the complement in O(r k): inverse iteration.

Shifts close in on the largest eigenvalue from above; it is accepted only when none lies higher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh, qr
from scipy.linalg.lapack import dsytrf, dsytrs

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats

# Relative to the largest |λ|. A value is accepted when no eigenvalue lies higher by more.
_VALUE_TOLERANCE = 1e-12
# Relative to the largest |λ|. The λᵢ this near to the shift stay in the small matrix, so that no
# entry of the rest exceeds 1 / _NEAR.
_NEAR = 1e-2
# A unit column of which less than this is new would bring in more rounding than information.
_DEPENDENT = 1e-12
_BLOCK_SIZE = 4
# Three shifts are usual. Halving alone needs forty; after that the dense solver takes over.
_MAX_SHIFTS = 45


class ConstrainedDiagonal:
    """diag(λ) on the complement of a growing set of constraints.

    Parameters
    ----------
    diagonal : ndarray (r,)
        λ, largest first.
    """

    def __init__(self, diagonal: Floats) -> None:
        self._diagonal = diagonal
        self._constraints = np.empty((diagonal.size, 0))
        self._scale = float(np.abs(diagonal).max()) or 1.0
        self._tolerance = _VALUE_TOLERANCE * self._scale
        # No eigenvalue lies above this; a further constraint never raises one (interlacing).
        self._upper = float(diagonal[0]) + self._tolerance
        self._ritz_vectors = np.eye(diagonal.size, min(_BLOCK_SIZE, diagonal.size))
        self._random = np.random.default_rng(0)

    def add(self, constraint: Floats) -> None:
        """Demand that w be orthogonal to one more vector."""
        C = self._constraints
        for _ in range(2):  # the second time removes what rounding left of the first
            constraint = constraint - C @ (C.T @ constraint)
            constraint /= np.linalg.norm(constraint)
        self._constraints = np.column_stack([C, constraint])

    def largest(self) -> Floats:
        """Return the unit vector on the complement of the constraints with the largest quotient."""
        if not self._constraints.shape[1]:
            return np.asarray(self._ritz_vectors[:, 0])
        lower, upper = -np.inf, self._upper
        # A new vector joins each search, in case constraints have used up all the last one knew.
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
        """Span the Ritz vectors and what one inverse iteration makes of them.

        More iterations on one shift, or more vectors, were measured to cost what they save.
        """
        solved = self._project(pencil.solve(self._ritz_vectors))
        return np.hstack([self._ritz_vectors, solved / np.linalg.norm(solved, axis=0)])

    def _rayleigh_ritz(self, trial: Floats) -> tuple[Floats, float]:
        """Keep the best few vectors of a subspace; return their values and the first one's error.

        The error is the usual second-order estimate, residual² / gap.
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
        """Solve on an explicit basis of the complement: slow, needs no start and no shift."""
        n_constraints = self._constraints.shape[1]
        complement = qr(self._constraints)[0][:, n_constraints:]
        values, rotation = eigh(complement.T @ (self._diagonal[:, None] * complement))
        self._upper = float(values[-1]) + self._tolerance
        self._ritz_vectors = complement @ rotation[:, ::-1][:, :_BLOCK_SIZE]
        return np.asarray(self._ritz_vectors[:, 0])


class _ShiftedPencil:
    """The factorised [Λ - μ, C; Cᵀ, 0], with all but the λᵢ next to μ eliminated."""

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
