"""The hybrid score: both legs standardised over the whole corpus, and added.

    score = z(BM25) + w · z(cosine),    w = min(4, ⅔ / share)

z is a leg's score less its mean over all documents, by its standard deviation, so a point of one
leg is worth a point of the other. `share` is the part of the BM25 that the query could reach at
most which its best document does reach. Where one document says nearly all that was asked, the
words can be trusted; where even the best has a few of them only, the subspace counts more, up to
four times as much. docs/ranking.md has what was measured, and what was not better.

A leg whose scores are all equal says nothing and adds nothing: one without a hit, a corpus of one
document, or of equal ones. So the score is never NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRUST = 2 / 3
MOST_WEIGHT = 4.0
# Scores that differ by less than this share of the largest differ by rounding.
_ROUNDING = 1e-6
_LEAST = float(np.finfo(np.float32).tiny) / _ROUNDING


def fuse(
    bm25: NDArray[np.float32], cosines: NDArray[np.float32], most_bm25: float
) -> NDArray[np.float32]:
    """Return one score for each document.

    Parameters
    ----------
    bm25, cosines
        Of each document; equally long.
    most_bm25
        What no document could exceed: see `Bm25.most`.
    """
    weight = semantic_weight(float(bm25.max(initial=0)), most_bm25)
    return standardised(bm25) + np.float32(weight) * standardised(cosines)


def semantic_weight(best: float, most: float) -> float:
    """Return how much the subspace counts beside the words."""
    if best <= 0 or most <= 0:
        return 1.0  # the words say nothing, so that any weight gives the same order
    return min(MOST_WEIGHT, TRUST * most / best)


def standardised(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return scores with mean 0 and deviation 1 over all documents; zeros if all are equal."""
    if not len(scores):
        return scores
    largest = max(abs(float(scores.max())), abs(float(scores.min())))
    if largest < _LEAST:  # what is smaller has too few digits left
        return np.zeros_like(scores)
    mean = scores.mean(dtype=np.float64)
    deviation = scores.std(dtype=np.float64)
    if deviation <= _ROUNDING * largest:
        return np.zeros_like(scores)
    return (scores - np.float32(mean)) * np.float32(1 / deviation)
