"""Both legs over one index: questions in, scores of all its documents out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.stretches import largest, over_stretches
from lpisearch.indexes.scoring.calibration import Calibration
from lpisearch.indexes.scoring.feedback import (
    FeedbackWords,
    first_count,
    first_places,
    moved_place,
)
from lpisearch.indexes.scoring.fusion import (
    FEEDBACK_BOUND,
    FEEDBACK_WEIGHT,
    PLACE_BOUND,
    above_all,
    bounded,
    standard_from,
    standard_of,
)
from lpisearch.indexes.scoring.question import ask
from lpisearch.indexes.scoring.steps import Border, First, Sums, in_step
from lpisearch.indexes.scoring.units import Units

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.scoring.fusion import Standard
    from lpisearch.indexes.scoring.moments import Moments
    from lpisearch.indexes.scoring.question import Question
    from lpisearch.indexes.scoring.steps import Said

WAYS = ("hybrid", "semantic", "lexical")
# So many scores are held at once while a batch is answered: 64 queries of 60,000 documents.
_BATCH_SCORES = 4_000_000
_BATCH_QUERIES = 64
# In a larger library a question that was moved is compared with the best so far alone: with those,
# or with a share of all, whichever are more.
COMPARED_AGAIN = 20_000
SHARE_AGAIN = 0.05


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """What the legs give each document; a long one has the scores of its best passage.

    Attributes
    ----------
    by
        What the ranking is by.
    bm25, cosines
        Of the legs that were asked. The cosines are those of the question as it was put.
    found
        Whether the leg or legs found anything at all.
    evidence
        Whether a document has a word of the question, or a cosine that is special among all:
        others are not worth showing. None if that was not asked.
    units
        What stands for each document, as a number in the engine's units; None where each document
        stands for itself.
    passages
        The score of each passage, below all others where there is no evidence for it; None where
        there are no passages.
    """

    by: NDArray[np.float32]
    bm25: NDArray[np.float32] | None
    cosines: NDArray[np.float32] | None
    found: bool
    evidence: NDArray[np.bool_] | None = None
    units: NDArray[np.int64] | None = None
    passages: NDArray[np.float32] | None = None

    def of_documents(self, units: Units) -> Scores:
        """Turn scores of all units into those of documents: long ones have their best passage's."""
        if units.passages is None:
            return self
        best = units.best(self.by, self.bm25)
        fused = self.bm25 is not None and self.cosines is not None
        return Scores(
            units.of_documents(self.by, best, fused=fused),
            None if self.bm25 is None else units.chosen(self.bm25, best),
            None if self.cosines is None else units.chosen(self.cosines, best),
            self.found,
            None if self.evidence is None else units.chosen(self.evidence, best),
            best,
            self._worth_showing(units.documents),
        )

    def _worth_showing(self, documents: int) -> NDArray[np.float32]:
        own = self.by[documents:]
        if self.evidence is None:
            return own
        return np.where(self.evidence[documents:], own, np.float32(-np.inf))


@dataclass(frozen=True, eq=False, slots=True)
class HybridParts:
    """What the hybrid score of each unit is the sum of, and the weight that is in `places`."""

    words: NDArray[np.float32]
    weight: np.float32
    places: NDArray[np.float32]
    feedback: NDArray[np.float32]


@dataclass(frozen=True, eq=False, slots=True)
class UnitScores:
    """What the legs give documents as wholes and passages.

    Attributes
    ----------
    scores
        Of each unit, documents first.
    hybrid, moved
        How they came about, and what they were before the feedback; None but in hybrid.
    """

    scores: Scores
    hybrid: _Hybrid | None = None
    moved: NDArray[np.float32] | None = None

    @property
    def parts(self) -> HybridParts | None:
        """What each hybrid score is the sum of."""
        if self.hybrid is None or self.moved is None:
            return None
        words = self.hybrid.standard.of(self.hybrid.bm25)
        feedback = self.scores.by - self.moved
        return HybridParts(words, self.hybrid.weight, self.moved - words, feedback)


class Engine:
    """Answers questions from an open index.

    Parameters
    ----------
    index
        Its arrays may be memory-mapped.
    whole
        Whether long documents are scored as wholes alone, not by their passages.
    """

    def __init__(self, index: SubspaceIndex, *, whole: bool = False) -> None:
        self.index = index
        self.postings = index.postings
        self.places = index.places
        self.rows: NDArray[np.int64] = index.document_rows
        self.hashes: NDArray[np.uint8] = index.content_hashes
        self.calibration = Calibration.of_manifest(index.manifest.calibration)
        self.units = Units.of_index(index, None if whole else index.passages)

    def ask(self, tokens: Iterable[str] | Mapping[str, float]) -> Question:
        """Return a query as this index sees it."""
        return ask(self.index, self.postings, tokens)

    def idf(self, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how rare words are."""
        return self.units.idf(words)

    def rarity(self, question: Question) -> dict[str, float]:
        """Return how rare each word of a question is."""
        words = question.words
        names = map(self.postings.term, words.tolist())
        return dict(zip(names, self.idf(words).tolist(), strict=True))

    def scores(
        self, question: Question, by: str, *, feedback: bool = True, weight: float | None = None
    ) -> Scores:
        """Score all documents.

        Parameters
        ----------
        question
            From `ask`.
        by
            One of `WAYS`.
        feedback
            In hybrid, whether the documents that are found first move the question.
        weight
            Of the subspace in hybrid; None for that of the calibration.
        """
        scored = self.unit_scores(question, by, feedback=feedback, weight=weight)
        return scored.of_documents(self.units)

    def unit_scores(
        self, question: Question, by: str, *, feedback: bool = True, weight: float | None = None
    ) -> Scores:
        """Score all documents as wholes, and after them all passages; else as `scores`."""
        alone = [self.scoring(question, by, feedback=feedback, weight=weight)]
        return in_step(alone)[0].scores

    def scoring(
        self, question: Question, by: str, *, feedback: bool = True, weight: float | None = None
    ) -> Generator[Said, Any, UnitScores]:
        """Score as `unit_scores`, together with the other parts of the library: see `in_step`."""
        units = self.units
        bm25 = units.bm25(question)
        found = question.is_known(by)
        if by == "lexical":
            return UnitScores(Scores(bm25, bm25, None, found, bm25 > 0))
        cosines = units.cosines(question.vector)
        every: Sums = yield units.sums(cosines, *([bm25] if by == "hybrid" else []))
        standard = standard_from(every.legs[0])
        evidence = _evidence(bm25, cosines, standard, every.documents)
        if by == "semantic":
            return UnitScores(Scores(cosines, None, cosines, found, evidence))
        hybrid = self._hybrid(question, bm25, weight, units, standard_from(every.legs[1]))
        fused = moved = hybrid.fused(cosines, standard)
        if feedback:
            moved = yield from hybrid.moving(fused, every, self.index.moments)
            fused = yield from hybrid.telling(moved, every)
        return UnitScores(Scores(fused, bm25, cosines, found, evidence), hybrid, moved)

    def best_passages(self, scores: Scores, place: int, most: int) -> list[tuple[int, int]]:
        """Return where the best passages of a document are in its text, best first.

        None are returned of a document that stands for itself: it is short, or the words of the
        question are outside all of its passages.
        """
        if scores.units is None or scores.passages is None:
            return []
        if scores.units[place] < self.units.documents:
            return []
        return self.units.best_passages(place, scores.passages, most)

    def batch(
        self, questions: Sequence[Question], by: str, weight: float | None = None
    ) -> Iterator[NDArray[np.float32]]:
        """Yield the scores of one question after the other, by which it is to be ranked.

        They are those of `scores`; the matrix products of many questions are done at once.
        """
        scored = len(self.units.certainty)
        size = max(1, min(_BATCH_QUERIES, _BATCH_SCORES // max(scored, 1)))
        units = self.units.weighed() if by != "semantic" else self.units
        for start in range(0, len(questions), size):
            some = questions[start : start + size]
            found: Iterator[tuple[NDArray[np.float32], NDArray[np.float32] | None]]
            if by == "hybrid":
                found = self._fused(some, units, weight)
            elif by == "lexical":
                found = ((bm25, bm25) for bm25 in map(units.bm25, some))
            else:
                places = np.stack([question.vector for question in some])
                found = ((cosines, None) for cosines in units.cosines(places))
            for scores, bm25 in found:
                if units.passages is None:
                    yield scores
                    continue
                best = units.best(scores, bm25)
                yield units.of_documents(scores, best, fused=by == "hybrid")

    def _fused(
        self, questions: Sequence[Question], units: Units, weight: float | None
    ) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32] | None]]:
        """Yield the hybrid score and the BM25 of each unit, for each question."""
        cosines = units.cosines(np.stack([question.vector for question in questions]))
        words = [units.bm25(question) for question in questions]
        hybrids = [
            self._hybrid(question, bm25, weight, units)
            for question, bm25 in zip(questions, words, strict=True)
        ]
        moved = [
            hybrid.moved_place(hybrid.fused(each))
            for hybrid, each in zip(hybrids, cosines, strict=True)
        ]
        again = units.cosines(np.stack(moved))
        for hybrid, bm25, each in zip(hybrids, words, again, strict=True):
            yield hybrid.with_feedback(hybrid.fused(each)), bm25

    def _hybrid(
        self,
        question: Question,
        bm25: NDArray[np.float32],
        weight: float | None,
        units: Units,
        standard: Standard | None = None,
    ) -> _Hybrid:
        if weight is None:
            weight = self.calibration.weight(question.length)
        standard = standard or standard_of(bm25, units.documents)
        return _Hybrid(question, bm25, standard, np.float32(weight * question.known), units)


@dataclass(frozen=True, eq=False, slots=True)
class _Hybrid:
    """The hybrid score of one question, step by step: `lpisearch.indexes.scoring.fusion` states it.

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
        places = self.units.certainty[some] * bounded(standard.of(cosines), PLACE_BOUND)
        return self.standard.of(self.bm25[some]) + self.weight * places

    def _with_words(
        self, fused: NDArray[np.float32], bm25: NDArray[np.float32], standard: Standard
    ) -> NDArray[np.float32]:
        share = np.float32(self.question.known)
        scores = np.empty_like(fused)

        def add(part: slice) -> None:
            said = bounded(standard.of(bm25[part]), FEEDBACK_BOUND)
            scores[part] = fused[part] + share * (np.float32(FEEDBACK_WEIGHT) * said)

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


def _evidence(
    bm25: NDArray[np.float32], cosines: NDArray[np.float32], standard: Standard, documents: int
) -> NDArray[np.bool_]:
    """Tell which units have a word of the question, or a cosine that is special."""
    evidence = np.empty(len(cosines), np.bool_)

    def tell(part: slice) -> None:
        special = above_all(cosines[part], standard, documents)
        evidence[part] = (bm25[part] > 0) | special

    over_stretches(len(evidence), tell)
    return evidence
