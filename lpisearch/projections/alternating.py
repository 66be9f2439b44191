"""Least squares for many responses with a limited number of terms, by alternating directions.

Documents are rows of X and responses are columns of Y. With a residue E the problem is

    min ½|E|²   such that   X A + E = Y   and   |A|₂,₀ ≤ m,

at most m rows of A (terms) being other than zero (lpfl-2012, equation 10; the paper writes
documents as columns). Algorithm 2 there: with the multiplier Λ and the penalty μ of the augmented
Lagrangian,

    E ← (Λ + μ(Y - X A)) / (1 + μ)
    A ← the m longest rows of A - τB,   B = Xᵀ(X A + E - Y - Λ/μ)
    Λ ← Λ + μ(Y - X A - E),   μ ← ρμ.

The step of A never raises the Lagrangian: it minimises a bound of it that holds if the change Δ
of A has |X Δ|² ≤ |Δ|² / τ. τ is the inverse of the largest squared singular value of X, and is
halved should an estimate of that have been too small.

With ρ > 1 the steps of A become shorter as μ grows beyond 1, and it comes to rest: after some 25
full steps for the paper's μ = 0.0001 and ρ = 1.5. That keeps directions in which documents hardly
differ from being fitted, as stopping early does. With ρ = 1 it goes on to a stationary point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.projections.blocks import product, transposed
from lpisearch.projections.curvature import largest_curvature, overshoots, row_norms, squared

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats, Matrix

# A penalty at which nothing moves any more, and that single precision can hold.
MOST_PENALTY = 1e12


class Alternation(NamedTuple):
    """The map A, terms x responses, and how it was found.

    After each step: `objective` is ½|E|², `residual` |X A + E - Y| as a share of |Y|, and
    `change` that of A as a share of |A|.
    """

    coefficients: Floats
    objective: list[float]
    residual: list[float]
    change: list[float]


def alternating_directions(
    X: Matrix,
    Y: Floats,
    count: int,
    *,
    rng: np.random.Generator,
    mu: float = 1e-4,
    rho: float = 1.5,
    tolerance: float = 1e-4,
    max_steps: int = 200,
) -> Alternation:
    """Go on until residual and change are at the tolerance, or until `max_steps` are done."""
    Xt = transposed(X)
    curvature = largest_curvature(X, Xt, rng)
    A = np.zeros((X.shape[1], Y.shape[1]), X.dtype)
    multiplier = np.zeros_like(Y)
    misfit = Y  # Y - X A
    whole = max(np.sqrt(squared(Y)), np.finfo(float).tiny)
    found = Alternation(A, [], [], [])
    for _ in range(max_steps):
        penalty = X.dtype.type(mu)
        E = (multiplier + penalty * misfit) / (1 + penalty)
        gradient = product(Xt, E - misfit - multiplier / penalty)
        while True:
            following = longest_rows(A - gradient / X.dtype.type(curvature), count)
            left = Y - product(X, following)
            if not overshoots(left - misfit, following - A, curvature, whole**2):
                break
            curvature *= 2
        moved, size = squared(following - A), squared(following)
        A, misfit = following, left
        gap = misfit - E
        multiplier = multiplier + penalty * gap
        mu = min(mu * rho, MOST_PENALTY)
        found.objective.append(squared(E) / 2)
        found.residual.append(np.sqrt(squared(gap)) / whole)
        found.change.append(np.sqrt(moved / max(size, np.finfo(float).tiny)))
        if max(found.residual[-1], found.change[-1]) <= tolerance:
            break
    return found._replace(coefficients=A)


def longest_rows(block: Floats, count: int) -> Floats:
    """Keep the longest rows of a block, the first of equal ones; others become 0 (theorem 2)."""
    if count >= len(block):
        return block
    kept = np.argsort(-row_norms(block), kind="stable")[:count]
    out = np.zeros_like(block)
    out[kept] = block[kept]
    return out
