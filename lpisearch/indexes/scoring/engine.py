"""Scoring engine: lexical and semantic scores of all documents for queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpisearch.compute.stretches import over_stretches
from lpisearch.indexes.scoring.calibration import Calibration
from lpisearch.indexes.scoring.fusion import above_all, standard_of
from lpisearch.indexes.scoring.hybrid import Hybrid
from lpisearch.indexes.scoring.question import ask
from lpisearch.indexes.scoring.scores import Scores, UnitScores
from lpisearch.indexes.scoring.units import Units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.scoring.fusion import Standard
    from lpisearch.indexes.scoring.question import Question

WAYS = ("hybrid", "semantic", "lexical")
# So many scores are held at once while a batch is answered: 64 queries of 60,000 documents.
_BATCH_SCORES = 4_000_000
_BATCH_QUERIES = 64


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
        return scored.scores.of_documents(self.units)

    def unit_scores(
        self, question: Question, by: str, *, feedback: bool = True, weight: float | None = None
    ) -> UnitScores:
        """Score all documents as wholes, and after them all passages; else as `scores`."""
        units = self.units
        bm25 = units.bm25(question)
        found = question.is_known(by)
        if by == "lexical":
            return UnitScores(Scores(bm25, bm25, None, found, bm25 > 0))
        cosines = units.cosines(question.vector)
        standard = standard_of(cosines, units.documents)
        evidence = _evidence(bm25, cosines, standard, units.documents)
        if by == "semantic":
            return UnitScores(Scores(cosines, None, cosines, found, evidence))
        hybrid = self._hybrid(question, bm25, weight, units)
        fused = moved = hybrid.fused(cosines, standard)
        if feedback:
            moved = hybrid.moved(fused, self.index.moments)
            fused = hybrid.with_feedback(moved)
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
        self, question: Question, bm25: NDArray[np.float32], weight: float | None, units: Units
    ) -> Hybrid:
        if weight is None:
            weight = self.calibration.weight(question.length)
        standard = standard_of(bm25, units.documents)
        return Hybrid(question, bm25, standard, np.float32(weight * question.known), units)


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
