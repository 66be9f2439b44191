"""Fusion: standardised scores, and moments of cosines.

    score = z(BM25) + w · c · r · b₄(z(cosine)) + ½ · c · b₈(z(feedback))

- z: a score minus its mean over all documents, divided by its standard deviation, so that a point
  of one leg is worth a point of another.
- b: bounded, b₄(z) = 4 tanh(z / 4). A vector says what a document is about, not that it is the
  right one: similar documents have cosines ten deviations above the mean, and unbounded they would
  come before the document that has the words.
- w: the weight of the subspace, learned from the library's own documents (calibration.py).
- c: how much of the query the subspace covers: the cosine between its terms and those that have a
  column.
- r = t / (t + 7): how certain the vector of a document of t distinct terms is.
- feedback: BM25 of the most telling words of the documents that come first by the rest.

A leg whose scores are all equal adds nothing: one without a hit, a corpus of one document, or of
equal ones. So the score is never NaN. docs/ranking.md has the measurements.

The cosines with a vector q have the mean μ · q and the variance qᵀ C q, so scores are standardised
over all documents without computing all of them. μ and C are those of every n-th document, 65,536
at most, which gives a deviation to about 0.3 %.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from lpisearch.numeric.threads import map_chunks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lpisearch.numeric.rows import PackedRows

    Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The weight of the subspace, by the number of words in the query (interpolated in between).

    It was learned from windows of text, counted by number of words, of so many documents.
    """

    weights: Mapping[int, float]
    windows: Mapping[int, int]
    documents: int

    @classmethod
    def safe(cls) -> Self:
        """Return the weight that is safe where there is too little to learn from."""
        return cls({LENGTHS[0]: SAFE_WEIGHT}, {}, 0)

    @classmethod
    def of_manifest(cls, values: Mapping[str, Any]) -> Self:
        """Read the values of `facts`; an index of an earlier program has none."""
        if not values:
            return cls.safe()
        weights = {int(length): weight for length, weight in values["weights"].items()}
        windows = {int(length): count for length, count in values["windows"].items()}
        return cls(weights, windows, values["documents"])

    def facts(self) -> dict[str, Any]:
        """Return it as a JSON value, and whether it is the safe weight."""
        values = asdict(self)
        for name in ("weights", "windows"):
            values[name] = {str(length): value for length, value in values[name].items()}
        return values | {"safe": self.is_safe}

    @property
    def is_safe(self) -> bool:
        """Whether nothing was learned."""
        return not self.windows

    def weight(self, length: int) -> float:
        """Return the weight for a query of n words."""
        lengths = sorted(self.weights)
        at = log2(max(length, 1))
        for low, high in pairwise(lengths):
            if length <= high:
                share = max(at - log2(low), 0) / (log2(high) - log2(low))
                return self.weights[low] + share * (self.weights[high] - self.weights[low])
        return self.weights[lengths[-1]]


LENGTHS = (4, 8, 16)

SAFE_WEIGHT = 1.0


SUBSPACE_BOUND = 4.0
FEEDBACK_BOUND = 8.0
FEEDBACK_WEIGHT = 0.5
HALF_SURE_TERMS = 7.0
# A cosine is special from this many deviations above the mean of the query's cosines.
SPECIAL = 1.0
# Scores that differ by less than this share of the largest differ by rounding.
_ROUNDING = 1e-6
# Smaller scores have too few digits left.
_LEAST = float(np.finfo(np.float32).tiny) / _ROUNDING


class Standard(NamedTuple):
    """The mean of scores, and 1 / their deviation; 0 if all are equal, so that they become 0."""

    mean: np.float32
    inverse: np.float32

    def of(self, scores: Scores) -> Scores:
        """Standardise some or all of the scores."""
        return np.asarray((scores - self.mean) * self.inverse)


def standard_of(scores: Scores, documents: int | None = None) -> Standard:
    """Return how one row of scores is standardised; `documents` as in `standardised`."""
    known = scores[:documents]
    if not known.size:
        return Standard(np.float32(0), np.float32(0))
    spread = map_chunks(len(known), lambda part: _spread(known[part]))
    counts, means, squares, most = (np.array(values) for values in zip(*spread, strict=True))
    total = int(counts.sum())
    mean = means[0] if len(spread) == 1 else float(counts @ means / total)
    # The squares of a chunk are about its own mean (Chan, Golub and LeVeque 1983).
    variance = float(squares.sum() + counts @ np.square(means - mean)) / total
    deviation, largest = np.sqrt(variance), float(most.max())
    says_something = deviation > _ROUNDING * largest and largest >= _LEAST
    return Standard(np.float32(mean), np.float32(1 / deviation if says_something else 0))


def standard_of_moments(number: int, total: float, squares: float, most: float) -> Standard:
    """Return how scores are standardised by their number, sum, sum of squares and largest."""
    mean = total / max(number, 1)
    deviation = max(squares / max(number, 1) - mean * mean, 0.0) ** 0.5
    says_something = deviation > _ROUNDING * most and most >= _LEAST
    return Standard(np.float32(mean), np.float32(1 / deviation if says_something else 0))


def _spread(scores: Scores) -> tuple[int, float, float, float]:
    """Return the number of scores, their mean, the squares about it, and the largest magnitude."""
    wide = scores.astype(np.float64)
    mean = float(wide.mean())
    wide -= mean
    most = max(abs(float(scores.max())), abs(float(scores.min())))
    wide *= wide  # not a product, which BLAS would split among threads of its own
    return len(scores), mean, float(wide.sum()), most


def subspace_scores(cosines: Scores, certainty: Scores, documents: int | None = None) -> Scores:
    """Return what the vectors of documents add to the score, before the weight.

    `certainty` is that of `vector_certainty`; `documents` as in `standardised`.
    """
    return certainty * bounded(standardised(cosines, documents), SUBSPACE_BOUND)


def vector_certainty(distinct_terms: NDArray[np.integer]) -> Scores:
    """Return how certain the vectors of documents are, from 0 to 1, by their distinct terms."""
    return (distinct_terms / (distinct_terms + HALF_SURE_TERMS)).astype(np.float32)


def known_part(
    counts: NDArray[np.floating],
    frequencies: NDArray[np.integer],
    has_column: NDArray[np.bool_],
    n_documents: int,
) -> float:
    """Return the cosine between a query and the part of it that the subspace covers.

    For each distinct term: its count, in how many of the n documents it is, and whether it has a
    column. A term in no document is as telling as one in one.
    """
    idf = np.log((n_documents + 1) / np.maximum(frequencies, 1))
    squares = np.square(np.log1p(counts) * idf)
    total = float(squares.sum())
    return float(np.sqrt(squares[has_column].sum() / total)) if total > 0 else 1.0


def standardised(scores: Scores, documents: int | None = None) -> Scores:
    """Return scores with mean 0 and deviation 1 over all documents; zeros if all are equal.

    The rows of a matrix are standardised separately. Scores after the first `documents` are those
    of passages, which do not count for mean and deviation.
    """
    if not scores.size:
        return scores
    known = scores[..., :documents]
    mean = known.mean(axis=-1, dtype=np.float64, keepdims=True)
    deviation = known.std(axis=-1, dtype=np.float64, keepdims=True, mean=mean)
    largest = np.maximum(
        np.abs(known.max(axis=-1, keepdims=True)), np.abs(known.min(axis=-1, keepdims=True))
    )
    says_something = (deviation > _ROUNDING * largest) & (largest >= _LEAST)
    inverse = np.divide(1, deviation, out=np.zeros_like(deviation), where=says_something)
    return np.asarray((scores - mean.astype(np.float32)) * inverse.astype(np.float32))


def bounded(scores: Scores, bound: float) -> Scores:
    """Bound standardised scores smoothly: small ones hardly change."""
    return np.asarray(np.float32(bound) * np.tanh(scores / np.float32(bound)))


def above_all(cosines: Scores, standard: Standard, documents: int) -> NDArray[np.bool_]:
    """Tell which of some cosines stand out among those of n documents.

    They are a deviation above the mean, as one in six is by chance: below that, documents without a
    word are relevant no more often than any (docs/ranking.md). Few documents cannot differ that
    much: of n, one can lie √(n - 1) above at most, and half of that is enough.
    """
    least = min(SPECIAL, np.sqrt(max(documents - 1, 0)) / 2)
    return np.asarray((standard.of(cosines) >= least) & (cosines > 0))


def evidence_of(
    words: Scores, cosines: Scores, standard: Standard, documents: int
) -> NDArray[np.bool_]:
    """Tell which units have a word of the query, or a cosine that stands out."""
    evidence = np.empty(len(cosines), np.bool_)

    def compare(part: slice) -> None:
        special = above_all(cosines[part], standard, documents)
        evidence[part] = (words[part] > 0) | special

    map_chunks(len(evidence), compare)
    return evidence


SAMPLE = 1 << 16
_BLOCK = 4096


@dataclass(frozen=True, eq=False, slots=True)
class Moments:
    """Mean and covariance (dimensions x dimensions) of the vectors of documents."""

    mean: NDArray[np.float32]
    covariance: NDArray[np.float32]

    @classmethod
    def of_rows(cls, rows: PackedRows) -> Self:
        """Compute them from documents."""
        numbers = np.arange(0, len(rows), max(1, -(-len(rows) // SAMPLE)))
        total = np.zeros(rows.shape[1])
        products = np.zeros((rows.shape[1], rows.shape[1]))
        for start in range(0, len(numbers), _BLOCK):
            some = rows.at(numbers[start : start + _BLOCK])
            total += some.sum(axis=0, dtype=np.float64)
            products += some.T @ some
        mean = total / max(len(numbers), 1)
        covariance = products / max(len(numbers), 1) - np.outer(mean, mean)
        return cls(mean.astype(np.float32), covariance.astype(np.float32))

    @classmethod
    def of_array(cls, array: NDArray[np.float32]) -> Self:
        """Read the array of `as_array`."""
        return cls(array[0], array[1:])

    def as_array(self) -> NDArray[np.float32]:
        """Return them as one array."""
        return np.concatenate([self.mean[np.newaxis], self.covariance])

    def standard(self, place: NDArray[np.float32]) -> Standard:
        """Return how the cosines of all documents with a vector are standardised."""
        variance = float(place @ self.covariance @ place)
        inverse = 1 / np.sqrt(variance) if variance > np.finfo(np.float32).tiny else 0.0
        return Standard(np.float32(self.mean @ place), np.float32(inverse))
