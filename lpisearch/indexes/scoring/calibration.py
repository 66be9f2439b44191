"""Learn the semantic weight from the library's own documents.

No labels and no judgements are needed. A window of 4, 8 or 16 words is cut out of a document, and
asked for; the right answer is the document WITHOUT the window: its BM25 and its place are worked
out anew without those words. For each weight w of the subspace the mean of 1 / rank of the right
answer tells how well windows find their documents.

Windows ask for one document in its own words, where people ask for all about a matter in words of
their own. So windows favour words, and the weight that is best for them is too small. What is
kept is the largest weight at which they lose no more than an eightieth: as much as the subspace
may say before it hides what words find. By the length of the query, since long ones have a surer
place.

Where documents are few the map knows each of them by heart, and windows praise it. So the
logarithm of w counts n / (n + 200), and the rest is that of the safe weight; below 100 documents
the safe weight is taken.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex

SAFE_WEIGHT = 1.0
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
LENGTHS = (4, 8, 16)
LOSS = 0.0125
SAMPLE = 500
LEAST_DOCUMENTS = 100
LEAST_WINDOWS = 20
DOUBTED_DOCUMENTS = 200
LEAST_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class Calibration:
    """How much the subspace counts beside the words.

    Attributes
    ----------
    weights
        By the number of words in the query; between two lengths it is interpolated.
    windows
        From how many each was learned.
    documents
        From how many documents the windows were cut.
    """

    weights: Mapping[int, float]
    windows: Mapping[int, int]
    documents: int

    @classmethod
    def safe(cls) -> Self:
        """Return the weight where there is too little to learn from."""
        return cls({LENGTHS[0]: SAFE_WEIGHT}, {}, 0)

    @classmethod
    def of_manifest(cls, values: Mapping[str, Any]) -> Self:
        """Read what `facts` gave; an index of an earlier program has nothing."""
        if not values:
            return cls.safe()
        weights = {int(length): weight for length, weight in values["weights"].items()}
        windows = {int(length): count for length, count in values["windows"].items()}
        return cls(weights, windows, values["documents"])

    def facts(self) -> dict[str, Any]:
        """Return it as JSON has it, and whether it is the safe value."""
        values = asdict(self)
        for name in ("weights", "windows"):
            values[name] = {str(length): value for length, value in values[name].items()}
        return values | {"safe": self.is_safe}

    @property
    def is_safe(self) -> bool:
        """Whether nothing was learned."""
        return not self.windows

    def weight(self, length: int) -> float:
        """Return the weight for a query of so many words."""
        lengths = sorted(self.weights)
        at = log2(max(length, 1))
        for low, high in pairwise(lengths):
            if length <= high:
                share = max(at - log2(low), 0) / (log2(high) - log2(low))
                return self.weights[low] + share * (self.weights[high] - self.weights[low])
        return self.weights[lengths[-1]]


def sample_documents(lengths: NDArray[np.integer], seed: int) -> NDArray[np.int64]:
    """Choose the documents to cut windows out of: places, in order; none if there are too few."""
    if len(lengths) < LEAST_DOCUMENTS:
        return np.empty(0, np.int64)
    long_enough = np.flatnonzero(lengths >= 2 * LENGTHS[0])
    rng = np.random.default_rng([seed, len(lengths)])
    return np.sort(rng.permutation(long_enough)[:SAMPLE])


def calibrate(
    index: SubspaceIndex, places: NDArray[np.int64], tokens: Sequence[str], seed: int
) -> Calibration:
    """Learn the weight of the subspace.

    Parameters
    ----------
    index
        Of the library.
    places
        Documents from `sample_documents`, as rows of the index's vectors.
    tokens
        The joined tokens of each.
    seed
        Of where windows begin, and of which documents they are ranked among.
    """
    from lpisearch.indexes.scoring.windows import Contest, cut_windows

    if not len(places) or not index.is_linear:
        return Calibration.safe()
    rng = np.random.default_rng([seed, len(places)])
    contest = Contest.of_index(index, places, rng)
    documents = contest.numbered(tokens)
    curves, counts = {}, {}
    for length in LENGTHS:
        windows = cut_windows(places, documents, length, rng)
        if len(windows.places) >= LEAST_WINDOWS:
            mean = contest.reciprocal_ranks(windows, WEIGHTS).mean(axis=0)
            curves[length] = mean / mean.max()
            counts[length] = len(windows.places)
    if not curves:
        return Calibration.safe()
    weights = {
        length: _less_doubted(largest_harmless_weight(curve), len(index.places))
        for length, curve in _smoothed(curves).items()
    }
    return Calibration(weights, counts, len(places))


def largest_harmless_weight(curve: NDArray[np.floating]) -> float:
    """Return the largest weight that loses no more than an eightieth of what the best finds.

    Parameters
    ----------
    curve
        The mean reciprocal rank at each of `WEIGHTS`; the curve is taken as straight in between.
    """
    best = int(np.argmax(curve))
    least = curve[best] * (1 - LOSS)
    for low, high in pairwise(range(best, len(WEIGHTS))):
        if curve[high] < least:
            share = (curve[low] - least) / (curve[low] - curve[high])
            return float(WEIGHTS[low] + share * (WEIGHTS[high] - WEIGHTS[low]))
    return WEIGHTS[-1]


def _smoothed(
    curves: Mapping[int, NDArray[np.floating]],
) -> dict[int, NDArray[np.floating]]:
    """Average the curve of each length with those of all: windows are few, and lengths alike."""
    every = list(curves.values())
    return {length: np.mean([curve, *every], axis=0) for length, curve in curves.items()}


def _less_doubted(weight: float, n_documents: int) -> float:
    belief = n_documents / (n_documents + DOUBTED_DOCUMENTS)
    return round(float(max(weight, LEAST_WEIGHT) ** belief * SAFE_WEIGHT ** (1 - belief)), 3)
