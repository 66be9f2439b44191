"""Orthogonal directions one after the other, each with the largest share of its variance kept.

In: two Gram matrices of the document coordinates U (one row a document, orthonormal columns),
UᵀWU and UᵀDU, and the scale s of each coordinate, so that the documents are U·diag(s).
Out: orthonormal a_1 … a_k; each maximises g(a) = aᵀAa / aᵀBa on the complement of those before
it, where A = diag(s) UᵀWU diag(s) and B = diag(s) UᵀDU diag(s). As L = D - W, this is the
minimum of the paper's f(a) = aᵀXLXᵀa / aᵀXDXᵀa = 1 - g(a) (olpi-2005, equation 6; the paper
writes documents as columns).

The paper's matrix M(k) is not symmetric, and solving each reduced eigenproblem from scratch
costs O(r³) a direction. Here the pencil (A, B) is made diagonal once. In those coordinates w the
quotient is Σ λᵢwᵢ² / Σ wᵢ², and the directions taken are k linear constraints Cᵀw = 0: the
largest value on the complement is a root of det Cᵀ(Λ - μ)⁻¹C, found in O(r k²) with a proof that
no value lies above it (see `constrained`). Before k grows so large that this costs more
than a fresh start, the pencil is made diagonal again on the complement of all that is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr, solve_triangular

from lpisearch.compute.threads import one_blas_thread
from lpisearch.projections.constrained import ConstrainedDiagonal

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats

# A direction whose share of the degree is below this is one that no edge sees: rounding in UᵀDU
# is about 1e-15 of its largest eigenvalue, and a real document weighs far more than 1e-10.
_UNSEEN = 1e-10


@dataclass(frozen=True, slots=True)
class OrthogonalDirections:
    """Directions in the order they were taken.

    Attributes
    ----------
    vectors : ndarray (n_coordinates, n_directions)
        Orthonormal columns.
    values : ndarray (n_directions,)
        g of each column, largest first; 1 - g is the paper's eigenvalue. A direction that no
        edge sees (aᵀBa = 0, so that g is not defined) comes after all others, with value 0.
    """

    vectors: Floats
    values: Floats


def orthogonal_directions(
    affinity_gram: Floats, degree_gram: Floats, scales: Floats, n_directions: int
) -> OrthogonalDirections:
    """Take `n_directions` orthonormal directions, each the best on the complement of the last.

    Parameters
    ----------
    affinity_gram, degree_gram : ndarray (r, r)
        UᵀWU and UᵀDU, symmetric; the second without negative eigenvalues.
    scales : ndarray (r,)
        Positive; the singular values where U comes from an SVD.
    n_directions : int
        At most r.
    """
    pencil = _Pencil.build(affinity_gram, degree_gram, scales)
    unseen = _unseen_directions(pencil, scales)
    n_seen = min(n_directions, pencil.root.shape[0])
    taken = unseen
    while taken.shape[1] < unseen.shape[1] + n_seen:
        missing = unseen.shape[1] + n_seen - taken.shape[1]
        values, basis = _diagonalise(pencil, taken)
        # The steps are many small products: more threads than one wait for each other, and
        # where the cores are busy with other work that wait was measured at ten times the work.
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
    """Return an orthonormal basis of {a: aᵀBa = 0}, the directions that no edge sees.

    No graph can order these, so they are ordered as LSI would: by the length of the documents'
    coordinates, longest first.
    """
    n_seen, n_coordinates = pencil.root.shape
    if n_seen == n_coordinates:
        return np.empty((n_coordinates, 0))
    basis = qr(pencil.root.T)[0][:, n_seen:] if n_seen else np.eye(n_coordinates)
    rotation = np.linalg.eigh((scales[:, None] * basis).T @ (scales[:, None] * basis))[1]
    return np.asarray(basis @ rotation[:, ::-1])


def _diagonalise(pencil: _Pencil, taken: Floats) -> tuple[Floats, Floats]:
    """Return λ, largest first, and G with GᵀBG = I, GᵀAG = diag(λ), orthogonal to `taken`.

    An orthogonal-triangular factorisation of the root on the complement stands in for a Cholesky
    factor of B there: it has the square root of its condition number.
    """
    n_taken = taken.shape[1]
    complement = qr(taken)[0][:, n_taken:] if n_taken else np.eye(taken.shape[0])
    orthogonal, triangle = np.linalg.qr(pencil.root @ complement)
    values, rotation = np.linalg.eigh(orthogonal.T @ pencil.middle @ orthogonal)
    basis = complement @ solve_triangular(triangle, rotation[:, ::-1])
    return values[::-1], basis


def _take_some(values: Floats, basis: Floats, taken: Floats, n_wanted: int) -> Floats:
    """Append directions to `taken` for as long as that is cheaper than a restart."""
    problem = ConstrainedDiagonal(values)
    n_taken = taken.shape[1]
    n_columns = n_taken + min(n_wanted, _directions_before_restart(values.size))
    columns = np.hstack([taken, np.empty((taken.shape[0], n_columns - n_taken))])
    for j in range(n_taken, n_columns):
        direction = basis @ problem.largest()
        for _ in range(2):  # the second time removes what rounding left of the first
            direction /= np.linalg.norm(direction)
            direction -= columns[:, :j] @ (columns[:, :j].T @ direction)
        columns[:, j] = direction / np.linalg.norm(direction)
        problem.add(basis.T @ columns[:, j])
    return columns


def _directions_before_restart(n: int) -> int:
    """Balance m steps at about 8nk² operations, k = 1 … m, with one restart at about 30n³."""
    return max(1, min(n // 2, round(float(np.cbrt(11 * n * n)))))
