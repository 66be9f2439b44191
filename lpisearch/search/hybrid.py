"""Hybrid: the score of one query by words and by meaning, moved by what it finds first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.index import fusion
from lpisearch.index.fusion import Moments, Standard, bounded
from lpisearch.numeric.threads import largest, map_chunks
from lpisearch.search.feedback import FeedbackWords, first_count, first_units, moved_vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.search.engine import Units
    from lpisearch.search.query import Query
    from lpisearch.search.word_scores import WordScores

    Floats = NDArray[np.float32]


# In a large library a moved query is compared with the best units alone: this many, or this share
# of all, whichever is more.
COMPARED_AGAIN = 20_000
SHARE_AGAIN = 0.05
_ROUNDING = 1e-4  # more than scores differ by rounding
WHOLE_SHARE = 0.5


def whole_share(by: str) -> float:
    """Return the share of the whole in the score of a long document; the rest is its passage's.

    The cosine stays that of one vector.
    """
    return 0.0 if by == "semantic" else WHOLE_SHARE


# The map is trusted less where its first documents have less than this share of what those of the
# words have of the query.
_AGREEING = 0.6
_FIRST = 10


def agreement(query: Query, bm25: Floats, cosines: Floats, units: Units) -> float:
    """Return how far the map agrees with the words on what a query is about, from 0 to 1.

    A map that has seen a word once or twice may take it for another subject. Then the documents
    that are nearest to the query have its common words alone: the share of the query's idf that
    they contain is small, compared with that of the best documents by words.
    """
    n = units.documents
    count = min(_FIRST, units.size, n)
    if not query.ordered or not len(query.words) or not count:
        return 1.0
    first = np.concatenate([largest(cosines[:n], count), largest(bm25[:n], count)])
    by_meaning, by_words = (
        (units.documents_with(query.words, first).T @ units.idf(query.words))
        .reshape(2, count)
        .mean(axis=1)
        .tolist()
    )
    return float(min(1.0, by_meaning / (_AGREEING * by_words)) ** 2) if by_words > 0 else 1.0


@dataclass(frozen=True, eq=False, slots=True)
class Hybrid:
    """The hybrid scores of one query.

    Attributes
    ----------
    words
        What the words are worth in each unit.
    weight
        Of the subspace for this query.
    share
        How far its part beside the words is trusted: how much of the query the map knows, by how
        far it agrees with the words.
    """

    query: Query
    words: WordScores
    weight: np.float32
    share: np.float32
    units: Units

    def fused(self, cosines: Floats, standard: Standard | None = None) -> Floats:
        """Add the cosines to the words."""
        spread = standard or self.units.standard_of(cosines)
        scores = np.empty_like(self.words.total)

        def fuse(part: slice) -> None:
            scores[part] = self._fused(part, cosines[part], spread)

        map_chunks(len(scores), fuse)
        return scores

    def moved(self, fused: Floats, moments: Moments | None) -> Floats:
        """Return the scores by a vector that is moved towards the first documents.

        In a large library the best units alone are compared with it: the others keep their scores.
        """
        vector, n_units, count = self.moved_vector(fused), len(fused), self._compared_again
        if moments is None or count >= n_units:
            cosines = self.units.cosines(vector)
            return self.fused(cosines, self.units.cosine_standard(vector, cosines))
        best, standard = np.sort(largest(fused, count)), moments.standard(vector)
        scores = fused.copy()

        def compare(part: slice) -> None:
            some = best[part]
            scores[some] = self._fused(some, self.units.cosines_at(some, vector), standard)

        map_chunks(len(best), compare)
        return scores

    def moved_vector(self, fused: Floats, first: NDArray[np.int64] | None = None) -> Floats:
        """Return the vector of the query moved towards the first documents."""
        first = self._first(fused) if first is None else first
        return moved_vector(self.query.vector, fused[first], self.units.vectors_at(first))

    def best_moved(self, fused: Floats, moments: Moments, needed: int) -> tuple[Floats, float]:
        """Return the scores with feedback, and from which score on they are exact.

        At least `needed` units have such a score. So have all passages that `moved` compares: the
        best one stands for its document. Meaning adds at most its bound, so a document that cannot
        be among the best even with that keeps its score by the query as it was.
        """
        first = self._first(fused)
        vector = self.moved_vector(fused, first)
        standard, scores = moments.standard(vector), fused.copy()

        def compare(some: NDArray[np.int64]) -> None:
            scores[some] = self._fused(some, self.units.cosines_at(some, vector), standard)

        again = largest(fused, self._compared_again)
        compare(again[again >= self.units.documents])
        bound = np.float32(fusion.SUBSPACE_BOUND + _ROUNDING) * self.weight
        most = self.words.standard.of(self.words.total) + bound * self.units.certainty
        compare(first)
        compare(np.flatnonzero(most >= scores[first].min(initial=np.inf)))
        feedback = self.with_feedback(scores) - scores
        best = largest(scores + feedback, needed)
        compare(best)
        least = float((scores + feedback)[best].min(initial=np.inf))
        units = np.flatnonzero(most + feedback >= least)
        late = units >= self.units.documents
        owners = self.units.owners[units[late] - self.units.documents]
        compare(np.concatenate([units[~late], owners]))
        return scores + feedback, least

    def with_feedback(self, fused: Floats) -> Floats:
        """Add what the words of the first documents find."""
        first = self._first(fused)
        words = FeedbackWords.of_first(fused[first], *self.units.telling_words(first), self.units)
        bm25 = self.units.bm25(words)
        standard = self.units.word_standard(words, bm25)
        scores = np.empty_like(fused)

        def add(part: slice) -> None:
            feedback = bounded(standard.of(bm25[part]), fusion.FEEDBACK_BOUND)
            scores[part] = fused[part] + self.share * (
                np.float32(fusion.FEEDBACK_WEIGHT) * feedback
            )

        map_chunks(len(scores), add)
        return scores

    def _fused(
        self, some: slice | NDArray[np.int64], cosines: Floats, standard: Standard
    ) -> Floats:
        meaning = self.units.certainty[some] * bounded(standard.of(cosines), fusion.SUBSPACE_BOUND)
        return self.words.standard.of(self.words.total[some]) + self.weight * meaning

    @property
    def _compared_again(self) -> int:
        return max(COMPARED_AGAIN, int(SHARE_AGAIN * len(self.words.total)))

    def _first(self, fused: Floats) -> NDArray[np.int64]:
        return first_units(fused, first_count(self.units.movers), self.units.unmoving)


@dataclass(frozen=True, eq=False, slots=True)
class UnitScores:
    """The scores of all units, documents first; see `Scores`.

    `hybrid` says how a hybrid score is composed, and `moved` is that score before term feedback.
    """

    total: Floats
    words: WordScores | None
    cosines: Floats | None
    evidence: NDArray[np.bool_]
    hybrid: Hybrid | None = None
    moved: Floats | None = None
    exact_from: float = -np.inf
