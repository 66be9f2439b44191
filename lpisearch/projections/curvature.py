"""Lipschitz bound of |X A - Y|², which limits the gradient step.

A step of length 1 / c from A is sure not to overshoot if |X Δ|² ≤ c |Δ|² for the change Δ that it
makes. The largest squared singular value of X does for every Δ; it is estimated here, and those
who step check the inequality for the Δ they made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.projections.blocks import product

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Floats, Matrix

POWER_STEPS = 20
# The estimate is from below; a few steps come nearer than this.
MARGIN = 1.02
# Units of rounding by which images may be wrong.
ROUNDING = 100


def largest_curvature(X: Matrix, Xt: Matrix, rng: np.random.Generator) -> float:
    """Estimate the largest squared singular value of X (Xt: its transpose), with a margin."""
    v = rng.standard_normal((X.shape[1], 1)).astype(X.dtype)
    found = 0.0
    for _ in range(POWER_STEPS):
        v /= max(float(np.linalg.norm(v)), np.finfo(X.dtype).tiny)
        v = product(Xt, product(X, v))
        found = float(np.linalg.norm(v))
    return found * MARGIN


def overshoots(image_change: Floats, change: Floats, curvature: float, scale: float) -> bool:
    """Say whether |X Δ|² > c |Δ|², beyond the rounding of images whose squared norm is `scale`."""
    rounding = float(ROUNDING * np.finfo(image_change.dtype).eps) ** 2 * scale
    return squared(image_change) > curvature * squared(change) + rounding


def squared(block: Any) -> float:
    """Give the squared Frobenius norm, summed in double precision."""
    return float(np.sum(np.square(block, dtype=np.float64)))


def row_norms(block: Floats) -> Floats:
    """Give the length of each row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", block, block)))
