"""What is scored: all documents, and after them the passages of those that are long.

A long document is found by the best of its passages: each is scored as a short document would be,
among whole documents. So one page that answers a question is found in a book of any length, and a
book has no more of a say than the best page in it, but for a tenth of its own score. Where no
passage has a word of the question, but the whole document has (in a table of contents, at the foot
of a page), the whole stands for itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lpisearch.compute.packed_rows import PackedRows
from lpisearch.indexes.scoring.bm25 import Bm25
from lpisearch.indexes.scoring.document_terms import NO_TERM
from lpisearch.indexes.scoring.fusion import place_certainty

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.passages import Passages
    from lpisearch.indexes.scoring.bm25 import WeightedWords
    from lpisearch.indexes.scoring.document_terms import DocumentTerms

    Span = tuple[int, int]
    Floats = NDArray[np.float32]
    Places = NDArray[np.int64]

WHOLE_SHARE = 0.1
_WORTH_SHOWING = 0.5  # of the score of the best passage


@dataclass(frozen=True, eq=False)
class Units:
    """Documents, and the passages of long ones, in one row of numbers: passages come last.

    Attributes
    ----------
    passages
        Of the index; None where documents are whole.
    documents
        How many there are.
    vectors, terms, words
        Of the documents, and of the passages if there are any.
    """

    passages: Passages | None
    documents: int
    vectors: tuple[PackedRows, ...]
    terms: tuple[DocumentTerms, ...]
    words: tuple[Bm25, ...]

    @classmethod
    def of_index(cls, index: SubspaceIndex, passages: Passages | None) -> Self:
        """Take the documents of an index, and passages of theirs."""
        own = Bm25(index.postings)
        n = len(index.document_rows)
        if passages is None:
            return cls(None, n, (index.places,), (index.document_terms,), (own,))
        return cls(
            passages,
            n,
            (index.places, PackedRows(passages.vectors)),
            (index.document_terms, passages.terms),
            (own, Bm25(passages.postings, among=index.postings)),
        )

    def weighed(self) -> Units:
        """Return the same with the weight of every word worked out, for many queries."""
        return replace(self, words=tuple(each.weighed() for each in self.words))

    def idf(self, words: Places) -> Floats:
        """Return how rare words are among the documents."""
        return self.words[0].idf(words)

    def bm25(self, question: WeightedWords) -> Floats:
        """Return the score of each unit; 0 where no word of the query is."""
        return _joined([each.scores(question) for each in self.words])

    def cosines(self, places: Floats) -> Floats:
        """Return the cosine of each unit with a place, or with each of several (rows)."""
        if places.ndim == 1:
            return _joined([vectors.times(places) for vectors in self.vectors])
        return _joined([vectors.times_each(places) for vectors in self.vectors])

    @cached_property
    def certainty(self) -> Floats:
        """How sure the place of each unit is."""
        return place_certainty(_joined([each.distinct_terms for each in self.terms]))

    def cosines_at(self, units: Places, place: Floats) -> Floats:
        """Return the cosines of some units with a place."""
        found = np.empty(len(units), np.float32)
        for part, own, places in self._parts(units):
            found[own] = self.vectors[part].times_at(places, place)
        return found

    def vectors_at(self, units: Places) -> Floats:
        """Return the vectors of some units, as rows."""
        found = np.empty((len(units), self.vectors[0].shape[1]), np.float32)
        for part, own, places in self._parts(units):
            found[own] = self.vectors[part].at(places)
        return found

    def telling_words(self, units: Places) -> tuple[Places, Floats]:
        """Return the words that some units say most (rows), `NO_TERM` where there are fewer.

        Returns
        -------
        tuple
            The numbers of the words, and what they are worth without idf.
        """
        width = self.terms[0].strongest_terms.shape[1]
        words = np.full((len(units), width), NO_TERM, np.int64)
        worth = np.zeros((len(units), width), np.float32)
        for part, own, places in self._parts(units):
            terms, bm25 = self.terms[part], self.words[part]
            words[own] = terms.strongest_terms[places]
            counts = terms.strongest_counts[places]
            every = np.broadcast_to(places[:, np.newaxis], counts.shape)
            worth[own] = bm25.saturated(counts, every)
        return words, worth

    @cached_property
    def long(self) -> Places:
        """Long documents: the best of all else, passages too, move a question."""
        if self.passages is None:
            return np.empty(0, np.int64)
        return np.unique(self.passages.owners).astype(np.int64)

    @property
    def movers(self) -> int:
        """How many units may move a question."""
        return len(self.certainty) - len(self.long)

    def best(self, scores: Floats, bm25: Floats | None) -> Places:
        """Return the unit that stands for each document: itself, or the best of its passages.

        Parameters
        ----------
        scores
            Of each unit.
        bm25
            Of each unit, where words were asked for.
        """
        units = np.arange(self.documents)
        if self.passages is None:
            return units
        starts, first = self._first_passages
        own = scores[self.documents :]
        most = np.maximum.reduceat(own, starts)
        is_best = own == np.repeat(most, np.diff(np.append(starts, len(own))))
        at = np.flatnonzero(is_best)
        owners, where = np.unique(self.passages.owners[at], return_index=True)
        units[owners] = self.documents + at[where]
        if bm25 is not None:
            wordless = np.maximum.reduceat(bm25[self.documents :], starts) == 0
            kept = first[wordless & (bm25[first] > 0)]
            units[kept] = kept
        return units

    def best_passages(self, place: int, scores: Floats, most: int) -> list[Span]:
        """Return where the best passages of a document are in its text, best first.

        Parameters
        ----------
        place
            Of the document.
        scores
            Of all passages; those without any evidence are below all others.
        most
            Of passages; less than half as good as the best are left out.
        """
        if self.passages is None:
            return []
        part = self.passages.of_document(place)
        own = scores[part]
        best = np.argsort(-own, kind="stable")[:most]
        kept = best[(own[best] >= own[best[:1]] * _WORTH_SHOWING) & np.isfinite(own[best])]
        spans = self.passages.spans[part][kept].tolist()
        return [(start, end) for start, end in spans]

    def of_documents(self, scores: Floats, best: Places, *, fused: bool) -> Floats:
        """Return the scores of documents, given the unit that stands for each.

        In the fused score of a long document the whole has a small say: of two whose best pages
        are alike, the one that is about the matter comes first.
        """
        found = self.chosen(scores, best)
        if fused:
            late = np.flatnonzero(best >= self.documents)
            found[late] += np.float32(WHOLE_SHARE) * scores[late]
        return found

    def chosen(self, values: NDArray[Any], best: Places) -> NDArray[Any]:
        """Return the values of the units that stand for documents: mostly themselves."""
        found = values[: self.documents].copy()
        late = np.flatnonzero(best >= self.documents)
        found[late] = values[best[late]]
        return found

    @cached_property
    def _first_passages(self) -> tuple[Places, Places]:
        """Where the passages of each long document begin, and which document that is."""
        assert self.passages is not None  # noqa: S101
        owners, starts = np.unique(self.passages.owners, return_index=True)
        return starts, owners.astype(np.int64)

    def _parts(self, units: Places) -> list[tuple[int, NDArray[np.bool_], Places]]:
        """Part units into documents and passages, each numbered from 0."""
        late = units >= self.documents
        parts = [(0, ~late, units[~late])]
        if late.any():
            parts.append((1, late, units[late] - self.documents))
        return parts


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
