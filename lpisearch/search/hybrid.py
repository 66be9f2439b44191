"""Hybrid: the score of one query by words and by meaning, moved by what it finds first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.index import fusion
from lpisearch.index.fusion import Moments, Standard, bounded, standard_of
from lpisearch.numeric.threads import largest, map_chunks
from lpisearch.search.feedback import FeedbackWords, first_count, first_units, moved_vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.search.engine import Units
    from lpisearch.search.query import Query

    Floats = NDArray[np.float32]


# In a large library a moved query is compared with the best units alone: this many, or this share
# of all, whichever is more.
COMPARED_AGAIN = 20_000
SHARE_AGAIN = 0.05


@dataclass(frozen=True, eq=False, slots=True)
class Hybrid:
    """The hybrid scores of one query.

    Attributes
    ----------
    bm25, standard
        The BM25 of each unit, and how it is standardised.
    weight
        Of the subspace for this query.
    """

    query: Query
    bm25: Floats
    standard: Standard
    weight: np.float32
    units: Units

    @property
    def words(self) -> Floats:
        """What the words add to each score."""
        return self.standard.of(self.bm25)

    def fused(self, cosines: Floats, standard: Standard | None = None) -> Floats:
        """Add the cosines to the words."""
        spread = standard or standard_of(cosines, self.units.documents)
        scores = np.empty_like(self.bm25)

        def fuse(part: slice) -> None:
            scores[part] = self._fused(part, cosines[part], spread)

        map_chunks(len(scores), fuse)
        return scores

    def moved(self, fused: Floats, moments: Moments | None) -> Floats:
        """Return the scores by a vector that is moved towards the first documents.

        In a large library the best units alone are compared with it: the others keep their scores.
        """
        vector, n_units = self.moved_vector(fused), len(fused)
        count = max(COMPARED_AGAIN, int(SHARE_AGAIN * n_units))
        if moments is None or count >= n_units:
            return self.fused(self.units.cosines(vector))
        best, standard = np.sort(largest(fused, count)), moments.standard(vector)
        scores = fused.copy()

        def compare(part: slice) -> None:
            some = best[part]
            scores[some] = self._fused(some, self.units.cosines_at(some, vector), standard)

        map_chunks(len(best), compare)
        return scores

    def moved_vector(self, fused: Floats) -> Floats:
        """Return the vector of the query moved towards the first documents."""
        first = self._first(fused)
        return moved_vector(self.query.vector, fused[first], self.units.vectors_at(first))

    def with_feedback(self, fused: Floats) -> Floats:
        """Add what the words of the first documents find."""
        first = self._first(fused)
        words = FeedbackWords.of_first(fused[first], *self.units.telling_words(first), self.units)
        bm25 = self.units.bm25(words)
        standard, share = standard_of(bm25, self.units.documents), np.float32(self.query.known)
        scores = np.empty_like(fused)

        def add(part: slice) -> None:
            feedback = bounded(standard.of(bm25[part]), fusion.FEEDBACK_BOUND)
            scores[part] = fused[part] + share * (np.float32(fusion.FEEDBACK_WEIGHT) * feedback)

        map_chunks(len(scores), add)
        return scores

    def _fused(
        self, some: slice | NDArray[np.int64], cosines: Floats, standard: Standard
    ) -> Floats:
        meaning = self.units.certainty[some] * bounded(standard.of(cosines), fusion.SUBSPACE_BOUND)
        return self.standard.of(self.bm25[some]) + self.weight * meaning

    def _first(self, fused: Floats) -> NDArray[np.int64]:
        return first_units(fused, first_count(self.units.movers), self.units.long)
