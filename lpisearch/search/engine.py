"""Both legs over one index: questions in, scores of all its documents out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.search.feedback import pulled
from lpisearch.search.fusion import fuse
from lpisearch.search.lexical import Bm25
from lpisearch.search.question import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.search.question import Question

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
    """

    by: NDArray[np.float32]
    bm25: NDArray[np.float32] | None
    cosines: NDArray[np.float32] | None
    found: bool


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
        self._bm25 = Bm25(self.postings)

    def ask(self, tokens: Iterable[str] | Mapping[str, float]) -> Question:
        """Return a query as this index sees it."""
        return ask(self.index, self.postings, tokens)

    def idf(self, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how rare words are."""
        return self._bm25.idf(words)

    def scores(self, question: Question, by: str, *, pull: bool = True) -> Scores:
        """Score all documents.

        Parameters
        ----------
        question
            From `ask`.
        by
            One of `WAYS`.
        pull
            In hybrid, whether the documents that are found first pull the question towards them.
        """
        if by == "lexical":
            bm25 = self._bm25.scores(question)
            return Scores(bm25, bm25, None, question.is_known(by))
        cosines = self.vectors @ question.vector
        if by == "semantic":
            return Scores(cosines, None, cosines, question.is_known(by))
        bm25, most = self._bm25.scores(question), self._bm25.most(question)
        fused = fuse(bm25, cosines, most)
        if pull:
            moved = pulled(question.vector, self.vectors, fused)
            if moved is not question.vector:
                fused = fuse(bm25, self.vectors @ moved, most)
        return Scores(fused, bm25, cosines, question.is_known(by))

    def batch(self, questions: Sequence[Question], by: str) -> Iterator[NDArray[np.float32]]:
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
            places = np.stack([question.vector for question in some])
            cosines = places @ self.vectors.T
            yield from cosines if by == "semantic" else self._fused(some, places, cosines, bm25)

    def _fused(
        self,
        questions: Sequence[Question],
        places: NDArray[np.float32],
        cosines: NDArray[np.float32],
        bm25: Bm25,
    ) -> Iterator[NDArray[np.float32]]:
        words = [bm25.scores(question) for question in questions]
        most = [bm25.most(question) for question in questions]
        moved = [
            pulled(place, self.vectors, fused)
            for place, fused in zip(places, map(fuse, words, cosines, most), strict=True)
        ]
        yield from map(fuse, words, np.stack(moved) @ self.vectors.T, most)
