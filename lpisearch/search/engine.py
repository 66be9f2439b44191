"""Engine, scored units, Scores.

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

from lpisearch.index.fusion import Calibration, above_all, place_certainty, standard_of
from lpisearch.index.postings import NO_TERM, Bm25
from lpisearch.numeric.packed_rows import PackedRows
from lpisearch.numeric.threads import map_chunks
from lpisearch.search.hybrid import Hybrid
from lpisearch.search.query import ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.fusion import Standard
    from lpisearch.index.postings import DocumentTerms, WeightedWords
    from lpisearch.index.subspace import Passages, SubspaceIndex
    from lpisearch.search.query import Question

    Span = tuple[int, int]
    Floats = NDArray[np.float32]
    Places = NDArray[np.int64]


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

    map_chunks(len(evidence), tell)
    return evidence


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
    hybrid: Hybrid | None = None
    moved: NDArray[np.float32] | None = None

    @property
    def parts(self) -> HybridParts | None:
        """What each hybrid score is the sum of."""
        if self.hybrid is None or self.moved is None:
            return None
        words = self.hybrid.standard.of(self.hybrid.bm25)
        feedback = self.scores.by - self.moved
        return HybridParts(words, self.hybrid.weight, self.moved - words, feedback)
