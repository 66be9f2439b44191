"""Hybrid score of one query, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.index import fusion
from lpisearch.index.fusion import bounded, standard_of
from lpisearch.numeric.threads import largest, map_chunks
from lpisearch.search.feedback import FeedbackWords, first_count, first_places, moved_place

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.index.fusion import Moments, Standard
    from lpisearch.search.engine import Units
    from lpisearch.search.query import Question


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

        map_chunks(len(scores), fuse)
        return scores

    def moved(self, fused: NDArray[np.float32], moments: Moments | None) -> NDArray[np.float32]:
        """Return the scores by the place that is moved towards the documents that come first.

        In a large library it is compared with the best so far alone: others keep their scores.
        """
        place, every = self.moved_place(fused), len(fused)
        count = max(COMPARED_AGAIN, int(SHARE_AGAIN * every))
        if moments is None or count >= every:
            return self.fused(self.units.cosines(place))
        return self._compared_again(fused, np.sort(largest(fused, count)), place, moments)

    def moved_place(self, fused: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the question's place moved towards the documents that come first."""
        first = self._first(fused)
        return moved_place(self.question.vector, fused[first], self.units.vectors_at(first))

    def with_feedback(self, fused: NDArray[np.float32]) -> NDArray[np.float32]:
        """Add what the words of the documents that come first find."""
        bm25 = self.units.bm25(self._first_words(fused))
        standard, share = standard_of(bm25, self.units.documents), np.float32(self.question.known)
        scores = np.empty_like(fused)

        def add(part: slice) -> None:
            said = bounded(standard.of(bm25[part]), fusion.FEEDBACK_BOUND)
            scores[part] = fused[part] + share * (np.float32(fusion.FEEDBACK_WEIGHT) * said)

        map_chunks(len(scores), add)
        return scores

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

        map_chunks(len(best), compare)
        return again

    def _fused(
        self, some: slice | NDArray[np.int64], cosines: NDArray[np.float32], standard: Standard
    ) -> NDArray[np.float32]:
        places = self.units.certainty[some] * bounded(standard.of(cosines), fusion.PLACE_BOUND)
        return self.standard.of(self.bm25[some]) + self.weight * places

    def _first_words(self, fused: NDArray[np.float32]) -> FeedbackWords:
        first = self._first(fused)
        words, worth = self.units.telling_words(first)
        return FeedbackWords.of_first(fused[first], words, worth, self.units)

    def _first(self, fused: NDArray[np.float32]) -> NDArray[np.int64]:
        return first_places(fused, first_count(self.units.movers), self.units.long)
