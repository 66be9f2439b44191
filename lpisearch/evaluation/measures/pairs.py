"""Document pairs binned by cosine: all pairs, or a sample.

Documents are rows of unit length in double precision. Cosines are rounded to steps of 2^-22: far
above the rounding of double precision, so that equal documents tie, however they are multiplied.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse, stats

from lpisearch.graphs.cosines import map_cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.evaluation.measures.labelling import Labelling
    from lpisearch.graphs.affinity import Floats, Matrix

    Whole = NDArray[np.integer[Any]]

STEPS = 2**22
"""The cosine 1 in grid steps."""
PARTS = 20
"""So many independent parts has a sample; how much they differ gives the interval."""
CONFIDENCE = 0.95


class Histograms:
    """How many pairs, and how many relevant ones, lie at each step of the grid."""

    def __init__(self) -> None:
        self.every = np.zeros(2 * STEPS + 1, dtype=np.int64)
        self.intra = np.zeros(2 * STEPS + 1, dtype=np.int64)

    def add(self, steps: Whole, relevant: NDArray[np.bool_]) -> None:
        """Count pairs at these steps."""
        np.add.at(self.every, steps + STEPS, 1)
        np.add.at(self.intra, steps[relevant] + STEPS, 1)

    def precision(self) -> float:
        """Average the precision at each relevant pair."""
        there = np.flatnonzero(self.every)
        return _average_precision(self.every[there], self.intra[there])


def count_pairs(unit: Matrix, known: Labelling) -> Histograms:
    """Count every pair once: of each block of rows, the columns behind the diagonal."""
    counts, alone = Histograms(), Lock()

    def count(cosines: Floats, start: int) -> None:
        stop = start + len(cosines)
        behind = np.arange(start, unit.shape[0]) > np.arange(start, stop)[:, np.newaxis]
        steps = grid_steps(cosines[:, start:])[behind]
        relevant = known.shared(slice(start, stop), slice(start, None))[behind]
        with alone:
            counts.add(steps, relevant)

    map_cosines(unit, count)
    return counts


def sample_pairs(
    unit: Matrix, known: Labelling, size: int, chance: np.random.Generator
) -> tuple[Histograms, float, float]:
    """Count pairs at drawn distances on a circle of documents; give the interval too."""
    n = unit.shape[0]
    order = chance.permutation(n)
    unit = unit[order]
    most = (n - 1) // 2  # at n / 2 each pair would come twice
    draws = 1 + chance.permutation(most)[: max(min(PARTS, most), round(size / n))]
    pooled, precisions = Histograms(), []
    for part in np.array_split(draws, min(PARTS, len(draws))):
        found, alike = [], []
        for distance in part:
            other = np.roll(np.arange(n), -distance)
            found.append(grid_steps(_row_products(unit, unit[other])))
            alike.append(_shared_rows(known, order, order[other]))
        steps, relevant = np.concatenate(found), np.concatenate(alike)
        pooled.add(steps, relevant)
        values, place = np.unique(steps, return_inverse=True)
        counts = (np.bincount(of, minlength=len(values)) for of in (place, place[relevant]))
        precisions.append(_average_precision(*counts))
    if not pooled.intra.any():
        raise ValueError(f"None of {pooled.every.sum():,} sampled pairs shares a label.")
    return pooled, *_interval(pooled.precision(), np.array(precisions))


def grid_steps(cosines: Floats) -> Whole:
    """Round cosines to the grid."""
    return np.asarray(np.rint(np.clip(cosines, -1, 1) * STEPS).astype(np.int32))


def _average_precision(every: Whole, intra: Whole) -> float:
    """Average the precision at each relevant pair, from counts at ascending cosines."""
    every, intra = every[::-1], intra[::-1]
    total = intra.sum()
    return float(intra @ (intra.cumsum() / every.cumsum()) / total) if total else float("nan")


def _row_products(first: Any, second: Any) -> Floats:
    """Multiply row by row."""
    is_sparse: bool = sparse.issparse(first)
    if is_sparse:
        return np.asarray(first.multiply(second).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", first, second))


def _shared_rows(known: Labelling, first: Whole, second: Whole) -> NDArray[np.bool_]:
    """Tell which documents of two lists of the same length share a label."""
    if known.numbers is not None:
        return np.asarray(known.numbers[first] == known.numbers[second])
    common = known.flags[first].multiply(known.flags[second])
    return np.asarray(common.sum(axis=1)).ravel() > 0


def _interval(precision: float, parts: Floats) -> tuple[float, float]:
    """Student's t over the parts; all that is possible if a part has no relevant pair."""
    if len(parts) == 1 or np.isnan(parts).any():
        return 0.0, 1.0
    factor = stats.t.ppf((1 + CONFIDENCE) / 2, len(parts) - 1)
    reach = float(factor * parts.std(ddof=1) / np.sqrt(len(parts)))
    return max(precision - reach, 0.0), min(precision + reach, 1.0)
