"""Folding documents into the factors of a non-negative factorisation, in NumPy alone.

The factors stay; each document x (a row) gets the parts v ≥ 0 with the least |x - U v|², found
by coordinate descent from zero. The problem is convex, with one solution where UᵀU is positive
definite. c times a document has c times its parts: the weight of a document changes its length
only, not its direction.

`arrays` holds

- `factors` (terms x factors): U,
- `gram` (factors x factors): UᵀU, in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lpisearch.projections.rows import SparseRows

    Floats = NDArray[np.floating[Any]]

# A document is done when a sweep moves no part by more than this share of the largest xᵀu, or
# after so many sweeps.
TOLERANCE = 1e-9
MAX_SWEEPS = 2000
# Columns that are swept together: what fits into the cache is several times faster.
COLUMNS = 2048


def fold(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Give the parts of the factors in each document; zeros where it has no known term."""
    factors, gram = arrays["factors"], np.asarray(arrays["gram"], dtype=np.float64)
    targets = rows.product(factors).astype(np.float64)
    largest = targets.max(axis=1, initial=0, keepdims=True)
    targets = np.divide(targets, largest, out=np.zeros_like(targets), where=largest > 0)
    parts = least_squares_parts(gram, np.ascontiguousarray(targets.T))
    return np.asarray((parts.T * largest).astype(factors.dtype))


def least_squares_parts(gram: Floats, targets: Floats) -> Floats:
    """Minimise vᵀ G v - 2 vᵀ t over v ≥ 0, for each column t, up to `TOLERANCE`."""
    found = np.zeros_like(targets)
    left = np.flatnonzero(targets.any(axis=0))
    targets = targets[:, left]
    parts = np.zeros_like(targets)
    for _ in range(MAX_SWEEPS):
        before = parts.copy()
        sweep(gram, targets, parts)
        moving = np.abs(parts - before).max(axis=0, initial=0) > TOLERANCE
        if moving.all():
            continue
        found[:, left[~moving]] = parts[:, ~moving]
        left, targets, parts = left[moving], targets[:, moving], parts[:, moving]
        if not len(left):
            break
    found[:, left] = parts
    return found


def sweep(gram: Floats, targets: Floats, parts: Floats) -> None:
    """Improve the parts in place, one factor after the other (HALS).

    Documents are columns here, so that the parts of one factor lie together.
    """
    for start in range(0, parts.shape[1], COLUMNS):
        target, part = (block[:, start : start + COLUMNS] for block in (targets, parts))
        part = np.ascontiguousarray(part)
        for factor in np.flatnonzero(np.diagonal(gram)):
            change = target[factor] - gram[factor] @ part
            change /= gram[factor, factor]
            change += part[factor]
            np.maximum(change, 0, out=part[factor])
        parts[:, start : start + COLUMNS] = part
