"""Spherical k-means, and how well two groupings agree.

scikit-learn's k-means takes longer to import than the topics of a small library to compute; the
evaluation uses it, because published figures were made with it. The measures take a contingency
table: groups of one kind as rows, of the other as columns, counts of documents as cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.numeric.rows import divided_by_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Whole = NDArray[np.integer[Any]]
    Numbers = NDArray[np.number[Any]]


STARTS = 10
MAX_ROUNDS = 50
SAMPLE = 20_000
"""Starts are compared on a sample of so many rows; the best one goes on with all."""
_BLOCK = 8192
_FEW_MOVES = 0.0005


def spherical_centres(points: Floats, number: int, seed: int) -> Floats:
    """Cluster rows of unit length; return the centres of the best of ten k-means++ starts.

    There are fewer than `number` if fewer rows are distinct; a centre may have no row.
    """
    rng = np.random.default_rng(seed)
    some = points
    if len(points) > SAMPLE:
        some = points[np.sort(rng.choice(len(points), SAMPLE, replace=False))]
    runs = [_iterate(some, _plus_plus(some, number, rng)) for _ in range(STARTS)]
    centres = max(runs, key=lambda run: run[1])[0]
    if some is not points:
        centres, _ = _iterate(points, centres)
    return centres


def nearest_centres(points: Floats, centres: Floats) -> Whole:
    """Return the number of the nearest centre of each row."""
    return _nearest(points, centres)[0]


def _plus_plus(points: Floats, number: int, rng: np.random.Generator) -> Floats:
    """Draw distant starts (k-means++), each the best of a few candidates."""
    candidates = 2 + int(np.log(number))
    chosen = [int(rng.integers(len(points)))]
    distances = 1 - points @ points[chosen[0]]
    while len(chosen) < number:
        weights = np.maximum(distances, 0).astype(np.float64)
        if not weights.sum() > 0:
            break  # every row coincides with a start
        drawn = rng.choice(len(points), candidates, p=weights / weights.sum())
        nearer = np.minimum(distances[:, np.newaxis], 1 - points @ points[drawn].T)
        best = int(np.argmin(nearer.sum(axis=0)))
        chosen.append(int(drawn[best]))
        distances = nearer[:, best]
    return points[chosen]


def _iterate(points: Floats, centres: Floats) -> tuple[Floats, float]:
    """Move centres to the mean direction of their rows until hardly any row changes its centre."""
    nearest_centre, sums, objective = _nearest(points, centres)
    for _ in range(MAX_ROUNDS):
        filled = sums.any(axis=1, keepdims=True)
        centres = np.where(filled, divided_by_lengths(sums), centres).astype(np.float32)
        earlier = nearest_centre
        nearest_centre, sums, objective = _nearest(points, centres)
        if np.count_nonzero(nearest_centre != earlier) <= len(points) * _FEW_MOVES:
            break
    return centres, objective


def _nearest(points: Floats, centres: Floats) -> tuple[Whole, Floats, float]:
    """Return the centre of each row, the sum of the rows of each centre, and the total cosine."""
    nearest_centre = np.empty(len(points), np.int64)
    sums = np.zeros(centres.shape)
    objective = 0.0
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK]
        cosines = block @ centres.T
        best = cosines.argmax(axis=1)
        nearest_centre[start : start + _BLOCK] = best
        belongs = best[:, np.newaxis] == np.arange(len(centres))
        sums += belongs.T.astype(np.float32) @ block  # several times as fast as adding rows
        objective += float(cosines.max(axis=1).sum(dtype=np.float64))
    return nearest_centre, sums, objective


def purity(table: Numbers) -> float:
    """Return the share of documents in the most frequent column of their row."""
    return float((table / table.sum()).max(axis=1).sum())


def normalised_information(table: Numbers) -> float:
    """Return the mutual information over the larger entropy; 1 if both are 0."""
    joint = table / table.sum()
    entropies = _entropy(joint.sum(axis=0)), _entropy(joint.sum(axis=1))
    if max(entropies) == 0:
        return 1.0
    shared = sum(entropies) - _entropy(joint.ravel())
    return float(np.clip(shared / max(entropies), 0, 1))


def _entropy(shares: Numbers) -> float:
    """Return the entropy in bits of shares that sum to 1."""
    positive = shares[shares > 0]
    return float(-positive @ np.log2(positive)) if len(positive) > 1 else 0.0
