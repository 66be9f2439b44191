"""Hybrid scoring of one query, step by step; see `lpisearch.indexes.scoring.fusion`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.stretches import largest, over_stretches
from lpisearch.indexes.scoring import fusion  # whose constants a benchmark changes
from lpisearch.indexes.scoring.feedback import (
    FeedbackWords,
    first_count,
    first_places,
    moved_place,
)
from lpisearch.indexes.scoring.fusion import bounded, standard_from, standard_of
from lpisearch.indexes.scoring.steps import Border, First, Sums

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from lpisearch.indexes.scoring.fusion import Standard
    from lpisearch.indexes.scoring.moments import Moments
    from lpisearch.indexes.scoring.question import Question
    from lpisearch.indexes.scoring.steps import Said
    from lpisearch.indexes.scoring.units import Units

# In a larger library a question that was moved is compared with the best so far alone: with those,
# or with a share of all, whichever are more.
COMPARED_AGAIN = 20_000
SHARE_AGAIN = 0.05


@dataclass(frozen=True, eq=False, slots=True)
class Hybrid:
    """What a question that goes by words and places gives each unit.

    Attributes
    ----------
    bm25, standard
        The BM25 of each unit, and how it is standardised.
    weight
        Of the subspace for this question.
    """

    question: Question
    bm25: NDArray[np.float32]
    standard: Standard
    weight: np.float32
    units: Units

    def fused(
        self, cosines: NDArray[np.float32], standard: Standard | None = None
    ) -> NDArray[np.float32]:
        """Add the places to the words."""
        spread = standard or standard_of(cosines, self.units.documents)
        scores = np.empty_like(self.bm25)

        def fuse(part: slice) -> None:
            scores[part] = self._fused(part, cosines[part], spread)

        over_stretches(len(scores), fuse)
        return scores

    def moving(
        self, fused: NDArray[np.float32], every: Sums, moments: Moments | None
    ) -> Generator[Said, Any, NDArray[np.float32]]:
        """Return the scores by the place that is moved towards the documents that come first.

        In a large library it is compared with the best so far alone: others keep their scores.
        """
        first: First = yield self._first_vectors(fused, every.movers)
        place = moved_place(self.question.vector, first)
        count = max(COMPARED_AGAIN, int(SHARE_AGAIN * every.units))
        if moments is None or count >= every.units:
            cosines = self.units.cosines(place)
            spread: Sums = yield self.units.sums(cosines)
            return self.fused(cosines, standard_from(spread.legs[0]))
        best = np.sort(largest(fused, count))
        border: Border = yield Border.of(fused[best], count)
        return self._compared_again(fused, best[fused[best] >= border.value], place, moments)

    def telling(
        self, fused: NDArray[np.float32], every: Sums
    ) -> Generator[Said, Any, NDArray[np.float32]]:
        """Add what the words of the documents that come first find."""
        first: First = yield self._first_words(fused, every.movers)
        bm25 = self.units.bm25(FeedbackWords.of_first(first, self.units))
        spread: Sums = yield self.units.sums(bm25)
        return self._with_words(fused, bm25, standard_from(spread.legs[0]))

    def moved_place(self, fused: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the question's place moved towards the documents that come first."""
        return moved_place(self.question.vector, self._first_vectors(fused, self.units.movers))

    def with_feedback(self, fused: NDArray[np.float32]) -> NDArray[np.float32]:
        """Add what the words of the documents that come first find, in a library that is whole."""
        first = self._first_words(fused, self.units.movers)
        bm25 = self.units.bm25(FeedbackWords.of_first(first, self.units))
        return self._with_words(fused, bm25, standard_of(bm25, self.units.documents))

    def _compared_again(
        self,
        fused: NDArray[np.float32],
        best: NDArray[np.int64],
        place: NDArray[np.float32],
        moments: Moments,
    ) -> NDArray[np.float32]:
        again = fused.copy()

        def compare(part: slice) -> None:
            some = best[part]
            cosines = self.units.cosines_at(some, place)
            again[some] = self._fused(some, cosines, moments.standard(place))

        over_stretches(len(best), compare)
        return again

    def _fused(
        self, some: slice | NDArray[np.int64], cosines: NDArray[np.float32], standard: Standard
    ) -> NDArray[np.float32]:
        places = self.units.certainty[some] * bounded(standard.of(cosines), fusion.PLACE_BOUND)
        return self.standard.of(self.bm25[some]) + self.weight * places

    def _with_words(
        self, fused: NDArray[np.float32], bm25: NDArray[np.float32], standard: Standard
    ) -> NDArray[np.float32]:
        share = np.float32(self.question.known)
        scores = np.empty_like(fused)

        def add(part: slice) -> None:
            said = bounded(standard.of(bm25[part]), fusion.FEEDBACK_BOUND)
            scores[part] = fused[part] + share * (np.float32(fusion.FEEDBACK_WEIGHT) * said)

        over_stretches(len(scores), add)
        return scores

    def _first_vectors(self, fused: NDArray[np.float32], movers: int) -> First:
        first = self._first(fused, movers)
        return First(first_count(movers), fused[first], [self.units.vectors_at(first)])

    def _first_words(self, fused: NDArray[np.float32], movers: int) -> First:
        first = self._first(fused, movers)
        return First(first_count(movers), fused[first], [*self.units.telling_words(first)])

    def _first(self, fused: NDArray[np.float32], movers: int) -> NDArray[np.int64]:
        return first_places(fused, first_count(movers), self.units.long)
