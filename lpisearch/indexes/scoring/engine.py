"""Both legs over one index: questions in, scores of all its documents out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.indexes.scoring.bm25 import Bm25
from lpisearch.indexes.scoring.calibration import Calibration
from lpisearch.indexes.scoring.feedback import FeedbackWords, FirstDocuments, moved_place
from lpisearch.indexes.scoring.fusion import (
    feedback_scores,
    is_special,
    place_certainty,
    place_scores,
    standardised,
)
from lpisearch.indexes.scoring.question import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.scoring.document_terms import DocumentTerms
    from lpisearch.indexes.scoring.question import Question

WAYS = ("hybrid", "semantic", "lexical")
# So many scores are held at once while a batch is answered: 64 queries of 60,000 documents.
_BATCH_SCORES = 4_000_000
_BATCH_QUERIES = 64


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """What the legs give each document.

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
    """

    by: NDArray[np.float32]
    bm25: NDArray[np.float32] | None
    cosines: NDArray[np.float32] | None
    found: bool
    evidence: NDArray[np.bool_] | None = None


class Engine:
    """Answers questions from an open index.

    Parameters
    ----------
    index
        Its arrays may be memory-mapped.
    """

    def __init__(self, index: SubspaceIndex) -> None:
        self.index = index
        self.postings = index.postings
        self.vectors: NDArray[np.float32] = index.vectors
        self.rows: NDArray[np.int64] = index.document_rows
        self.hashes: NDArray[np.uint8] = index.content_hashes
        self.calibration = Calibration.of_manifest(index.manifest.calibration)
        self._bm25 = Bm25(self.postings)
        self._terms = index.document_terms

    def ask(self, tokens: Iterable[str] | Mapping[str, float]) -> Question:
        """Return a query as this index sees it."""
        return ask(self.index, self.postings, tokens)

    def idf(self, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how rare words are."""
        return self._bm25.idf(words)

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
        bm25 = self._bm25.scores(question)
        if by == "lexical":
            return Scores(bm25, bm25, None, question.is_known(by), bm25 > 0)
        cosines = self.vectors @ question.vector
        evidence = (bm25 > 0) | is_special(cosines)
        if by == "semantic":
            return Scores(cosines, None, cosines, question.is_known(by), evidence)
        hybrid = self._hybrid(question, bm25, weight)
        fused = hybrid.fused(cosines)
        if feedback:
            fused = hybrid.fused(self.vectors @ hybrid.moved_place(fused))
            fused = hybrid.with_feedback(fused, self._bm25)
        return Scores(fused, bm25, cosines, question.is_known(by), evidence)

    def batch(
        self, questions: Sequence[Question], by: str, weight: float | None = None
    ) -> Iterator[NDArray[np.float32]]:
        """Yield the scores of one question after the other, by which it is to be ranked.

        They are those of `scores`; the matrix products of many questions are done at once.
        """
        size = max(1, min(_BATCH_QUERIES, _BATCH_SCORES // max(len(self.rows), 1)))
        bm25 = self._bm25.weighed() if by != "semantic" else self._bm25
        for start in range(0, len(questions), size):
            some = questions[start : start + size]
            if by == "lexical":
                yield from map(bm25.scores, some)
                continue
            cosines = np.stack([question.vector for question in some]) @ self.vectors.T
            yield from cosines if by == "semantic" else self._fused(some, cosines, bm25, weight)

    def _fused(
        self,
        questions: Sequence[Question],
        cosines: NDArray[np.float32],
        bm25: Bm25,
        weight: float | None,
    ) -> Iterator[NDArray[np.float32]]:
        hybrids = [self._hybrid(question, bm25.scores(question), weight) for question in questions]
        moved = [
            hybrid.moved_place(hybrid.fused(each))
            for hybrid, each in zip(hybrids, cosines, strict=True)
        ]
        for hybrid, again in zip(hybrids, np.stack(moved) @ self.vectors.T, strict=True):
            yield hybrid.with_feedback(hybrid.fused(again), bm25)

    def _hybrid(
        self, question: Question, bm25: NDArray[np.float32], weight: float | None
    ) -> _Hybrid:
        if weight is None:
            weight = self.calibration.weight(question.length)
        return _Hybrid(
            question,
            standardised(bm25),
            np.float32(weight * question.known),
            self.vectors,
            self._certainty,
            self._terms,
        )

    @cached_property
    def _certainty(self) -> NDArray[np.float32]:
        return place_certainty(self._terms.distinct_terms)


@dataclass(frozen=True, eq=False, slots=True)
class _Hybrid:
    """The hybrid score of one question, step by step: `lpisearch.indexes.scoring.fusion` states it.

    Attributes
    ----------
    words
        The standardised BM25 of each document.
    weight
        Of the subspace for this question.
    """

    question: Question
    words: NDArray[np.float32]
    weight: np.float32
    vectors: NDArray[np.float32]
    certainty: NDArray[np.float32]
    terms: DocumentTerms

    def fused(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """Add the places to the words."""
        return self.words + self.weight * place_scores(cosines, self.certainty)

    def moved_place(self, fused: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the question's place moved towards the documents that come first."""
        return moved_place(self.question.vector, self.vectors, FirstDocuments.of_scores(fused))

    def with_feedback(self, fused: NDArray[np.float32], bm25: Bm25) -> NDArray[np.float32]:
        """Add what the words of the documents that come first find."""
        words = FeedbackWords.of_documents(FirstDocuments.of_scores(fused), self.terms, bm25)
        return fused + np.float32(self.question.known) * feedback_scores(bm25.scores(words))
