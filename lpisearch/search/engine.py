"""Engine: scores of documents and of the passages of long ones.

A long document has the mean of two scores: of the best of its passages, scored as a short document
would be among whole documents, and of all its words. So one page that answers a question is found
in a book of any length, and so is a manual page that answers it in several places. If no passage
has a word of the query but the whole document has (in a table of contents, or at the foot of a
page), the whole stands for itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lpisearch.index.encoded_units import EncodedUnits, Leg
from lpisearch.index.fusion import (
    Calibration,
    evidence_of,
    known_part,
    standard_of,
    vector_certainty,
)
from lpisearch.index.postings import (
    NO_TERM,
    NOTHING,
    Bm25,
    DocumentTerms,
    Postings,
    WeightedWords,
    inverse_frequency,
)
from lpisearch.numeric.rows import REMOVED, PackedRows, SparseRows
from lpisearch.search.hybrid import COMPARED_AGAIN, Hybrid, UnitScores, agreement, whole_share
from lpisearch.search.query import Query
from lpisearch.search.word_scores import WordScores, score_words
from lpisearch.text.spans import LONG_DOCUMENT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.fusion import Standard
    from lpisearch.index.positions import Fields, Sequences
    from lpisearch.index.subspace import Passages, SubspaceIndex
    from lpisearch.options import SearchOptions
    from lpisearch.storage.store import ReadTransaction

    Span = tuple[int, int]
    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]


# The most scores of a batch in memory at once: 64 queries of 60,000 documents.
_BATCH_SCORES = 4_000_000
_BATCH_QUERIES = 64


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """Documents and what ranks them; a long document has the scores of its best passage.

    Attributes
    ----------
    by
        The mode: "hybrid", "semantic" or "lexical".
    rows
        The key of each document.
    total
        The score of each document.
    bm25, cosines
        The legs that were computed. The cosines are those of the query before feedback.
    is_known
        Whether any leg has a word or a vector to rank by.
    evidence
        Whether a document has a word of the query, or a cosine that stands out: others are not
        worth showing. None in "lexical".
    candidates
        The numbers (positions in `rows`) of the documents that may be found; None for all.
    hashes, vectors
        The content and the vector of each document in the index; None without an index.
    compounds
        What compounds of the query add to the score of each document; None if it has none.
    demoted
        The numbers of the documents that count half, by the reason.
    units, passages
        The unit of the engine that stands for each document, and the score of each passage, below
        all others if there is no evidence for it; None without passages.
    encoder, notes, exact_from
        What the user's encoder adds to `total`; what the user should know; smaller totals may be
        without feedback.
    """

    by: str
    rows: Numbers
    total: Floats
    bm25: Floats | None
    cosines: Floats | None = None
    is_known: bool = True
    evidence: NDArray[np.bool_] | None = None
    candidates: Numbers | None = None
    hashes: NDArray[np.uint8] | None = None
    vectors: PackedRows | None = None
    units: Numbers | None = None
    passages: Floats | None = None
    compounds: Floats | None = None
    demoted: Mapping[str, Numbers] = field(default_factory=dict)
    encoder: Leg | None = None
    notes: tuple[str, ...] = ()
    exact_from: float = -np.inf


class Engine:
    """Scores queries by an open index; with `whole`, long documents as wholes alone."""

    def __init__(self, index: SubspaceIndex, *, whole: bool = False) -> None:
        self.index = index
        self.postings = index.postings
        self.calibration = Calibration.of_manifest(index.manifest.calibration)
        self.units = Units.of_index(index, None if whole else index.passages)

    @cached_property
    def encoded(self) -> EncodedUnits | None:
        """The passages that the user's encoder has encoded; None if there are none."""
        return EncodedUnits.of_index(self.index)

    @property
    def covered(self) -> tuple[int, int]:
        """The number of documents of the index, and the sum of their keys."""
        rows = self.index.document_rows
        return self.index.n_documents, int(rows.sum()) - REMOVED * len(self.index.removed)

    has_all = True
    """Whether the index has all documents, not the candidates of one query."""

    @property
    def whole_index(self) -> SubspaceIndex:
        """The index of all documents."""
        return self.index

    def of_query(
        self, _query: Query, _transaction: ReadTransaction, _options: SearchOptions
    ) -> Engine:
        """Return the engine that scores a query: this one, unless a database finds candidates."""
        return self

    def look_up(
        self, tokens: Iterable[str] | Mapping[str, float], without: Collection[str] = ()
    ) -> Query:
        """Find the terms of a query, and its vector as those of documents were made.

        Tokens may be counted already, and count in parts. No document has those in `without` now.
        """
        counted = Counter(tokens)
        numbers = {
            token: -1 if token in without else self.postings.find(token) for token in counted
        }
        known = {numbers[token]: count for token, count in counted.items() if numbers[token] >= 0}
        words = np.array(sorted(known), np.int64)
        counts = np.array([known[number] for number in words.tolist()], np.float32)
        unknown = [counted[token] for token in counted if numbers[token] < 0]
        return Query(
            words=words,
            weights=counts,
            vector=self._vector(words, counts),
            length=round(sum(counted.values())),
            known=self._known(words, counts, unknown),
        )

    def _vector(self, words: Numbers, counts: Floats) -> Floats:
        """Return the vector that a document with these terms would have."""
        columns = self.postings.lexicon_columns[words]
        has_column = columns >= 0
        columns, counts = columns[has_column], counts[has_column]
        weights = self.index.weighting.weigh_query(columns, counts)
        rows = SparseRows.of_query(columns, weights, self.index.n_terms)
        return np.asarray(self.index.project_weights(rows)[0])

    def _known(self, words: Numbers, counts: Floats, unknown: Sequence[int]) -> float:
        none = np.zeros(len(unknown), np.int64)
        return known_part(
            np.concatenate([counts, np.array(unknown, np.float32)]),
            np.concatenate([self.postings.frequencies(words), none]),
            np.concatenate([self.postings.lexicon_columns[words] >= 0, none.astype(np.bool_)]),
            self.postings.n_documents,
        )

    def is_in_field(self, word: str) -> bool:
        """Tell whether a word is in a title, a heading or a path."""
        fields = self.units.fields
        return fields is not None and fields.postings.find(word) >= 0

    def rarity(self, query: Query) -> dict[str, float]:
        """Return the idf of each term of a query."""
        names = map(self.postings.term, query.words.tolist())
        return dict(zip(names, self.units.idf(query.words).tolist(), strict=True))

    def scores(self, query: Query, by: str, weight: float | None = None) -> Scores:
        """Score all documents; `weight` of the subspace in hybrid, None for the calibration's."""
        return self.of_documents(self.unit_scores(query, by, weight), query, by)

    def unit_scores(
        self, query: Query, by: str, weight: float | None = None, needed: int | None = None
    ) -> UnitScores:
        """Score all documents as wholes, and after them all passages.

        If only the best are `needed`, scores below those may be without feedback: `exact_from`.
        """
        units = self.units
        words = score_words(query, units)
        if by == "lexical":
            return UnitScores(words.total, words, None, words.total > 0)
        cosines = units.cosines(query.vector)
        standard = units.cosine_standard(query.vector, cosines)
        evidence = evidence_of(words.total, cosines, standard, units.size)
        if by == "semantic":
            return UnitScores(cosines, None, cosines, evidence)
        hybrid = self._hybrid(query, words, cosines, weight, units)
        fused = moved = hybrid.fused(cosines, standard)
        moments = self.index.moments
        if query.feedback and needed and moments is not None and len(fused) > COMPARED_AGAIN:
            total, least = hybrid.best_moved(fused, moments, needed)
            return UnitScores(total, words, cosines, evidence, exact_from=least)
        if query.feedback:
            moved = hybrid.moved(fused, moments)
            fused = hybrid.with_feedback(moved)
        return UnitScores(fused, words, cosines, evidence, hybrid, moved)

    def of_documents(self, scores: UnitScores, query: Query, by: str) -> Scores:
        """Turn scores of units into those of documents: long ones have their best passage's."""
        units, index = self.units, self.index
        total, cosines = scores.total, scores.cosines
        bm25 = None if scores.words is None else scores.words.bm25
        evidence, best, passages = scores.evidence, None, None
        if units.passages is not None:
            best = units.best(total, bm25)
            n = units.documents
            passages = np.where(evidence[n:], total[n:], np.float32(-np.inf))
            total = units.of_documents(total, best, whole_share(by))
            bm25 = None if bm25 is None else units.chosen(bm25, best)
            cosines = None if cosines is None else units.chosen(cosines, best)
            evidence = units.chosen(evidence, best)
        return Scores(
            by,
            index.document_rows,
            total,
            bm25,
            cosines,
            query.is_known(by),
            evidence,
            None,
            index.content_hashes,
            index.packed_vectors,
            best,
            passages,
            exact_from=scores.exact_from,
        )

    def best_passages(self, scores: Scores, document: int, most: int) -> list[Span]:
        """Return the spans of the best passages of a document in its text, best first.

        There are none if the document stands for itself: it is short, or the words of the query
        are outside all of its passages.
        """
        if scores.units is None or scores.passages is None:
            return []
        if scores.units[document] < self.units.documents:
            return []
        return self.units.best_passages(document, scores.passages, most)

    def batch(
        self, queries: Sequence[Query], by: str, weight: float | None = None
    ) -> Iterator[Floats]:
        """Yield the total scores of each query, as `scores` has them.

        The matrix products of many queries are computed together.
        """
        units = self.units
        n_units = len(units.certainty)
        size = max(1, min(_BATCH_QUERIES, _BATCH_SCORES // max(n_units, 1)))
        for start in range(0, len(queries), size):
            some = queries[start : start + size]
            scored: Iterator[tuple[Floats, Floats | None]]
            if by == "hybrid":
                scored = self._fused(some, units, weight)
            elif by == "lexical":
                scored = (
                    (words.total, words.bm25) for words in map(score_words, some, repeat(units))
                )
            else:
                vectors = np.stack([query.vector for query in some])
                scored = ((cosines, None) for cosines in units.cosines(vectors))
            for total, bm25 in scored:
                if units.passages is None:
                    yield total
                else:
                    best = units.best(total, bm25)
                    yield units.of_documents(total, best, whole_share(by))

    def _fused(
        self, queries: Sequence[Query], units: Units, weight: float | None
    ) -> Iterator[tuple[Floats, Floats | None]]:
        """Yield the hybrid score and the BM25 of each unit, for each query."""
        cosines = units.cosines(np.stack([query.vector for query in queries]))
        hybrids = [
            self._hybrid(query, score_words(query, units), own, weight, units)
            for query, own in zip(queries, cosines, strict=True)
        ]
        moved = [
            hybrid.moved_vector(hybrid.fused(own)) if hybrid.query.feedback else hybrid.query.vector
            for hybrid, own in zip(hybrids, cosines, strict=True)
        ]
        again = units.cosines(np.stack(moved))
        for hybrid, own in zip(hybrids, again, strict=True):
            fused = hybrid.fused(own)
            yield hybrid.with_feedback(fused) if hybrid.query.feedback else fused, hybrid.words.bm25

    def _hybrid(
        self,
        query: Query,
        words: WordScores,
        cosines: Floats,
        weight: float | None,
        units: Units,
    ) -> Hybrid:
        if weight is None:
            weight = self.calibration.weight(query.length)
        share = query.known * agreement(query, words.bm25, cosines, units)
        return Hybrid(query, words, np.float32(weight * share), np.float32(share), units)


# A document of no more passages moves a query as a whole, too: it is about one thing.
_OF_ONE_THING = 10
_WORTH_SHOWING = 0.5  # of the score of the best passage


@dataclass(frozen=True, eq=False)
class Units:
    """What is scored: all documents, then the passages of long ones (None if there are none).

    `vectors`, `terms` and `words` are those of the documents, and of the passages if there are any.
    Units that are `removed` have the least scores, and count for no mean.
    """

    passages: Passages | None
    documents: int
    vectors: tuple[PackedRows, ...]
    terms: tuple[DocumentTerms, ...]
    words: tuple[Bm25, ...]
    fields: Fields | None = None
    sequences: tuple[Sequences, ...] = ()
    removed: Numbers = field(default_factory=lambda: NOTHING)

    @classmethod
    def of_index(cls, index: SubspaceIndex, passages: Passages | None) -> Self:
        """Take the documents of an index, and passages of theirs."""
        own = Bm25(index.postings, general=index.general_idf)
        n = len(index.document_rows)
        fields, sequences = index.fields, index.sequences
        of_documents = () if sequences is None else (sequences,)
        if passages is None:
            vectors = (index.packed_vectors,)
            terms = (index.document_terms,)
            return cls(None, n, vectors, terms, (own,), fields, of_documents, index.removed)
        of_passages = () if passages.sequences is None else (passages.sequences,)
        return cls(
            passages,
            n,
            (index.packed_vectors, passages.vectors),
            (index.document_terms, passages.terms),
            (
                replace(own, long_from=LONG_DOCUMENT),
                replace(own, postings=passages.postings, among=index.postings),
            ),
            fields,
            of_documents + of_passages if of_passages else (),
            np.concatenate([index.removed, n + index.removed_passages]),
        )

    @property
    def size(self) -> int:
        """The number of documents of the index."""
        return self.words[0].postings.n_documents

    def word_standard(self, _query: WeightedWords, bm25: Floats) -> Standard:
        """Return how the BM25 of a query is standardised."""
        return self.standard_of(bm25)

    def cosine_standard(self, _vector: Floats, cosines: Floats) -> Standard:
        """Return how the cosines with a vector are standardised."""
        return self.standard_of(cosines)

    def standard_of(self, scores: Floats) -> Standard:
        """Return how scores are standardised among documents."""
        if not len(self.removed):
            return standard_of(scores, self.documents)
        return standard_of(np.delete(scores[: self.documents], self.postings.removed))

    def named_documents(self, _words: Sequence[str], found: int) -> int:
        """Return how many documents have any of some words in their name: those found."""
        return found

    def idf(self, words: Numbers) -> Floats:
        """Return the idf of words among the documents."""
        return self.words[0].idf(words)

    def idf_of(self, names: Sequence[str], numbers: Numbers) -> Floats:
        """Return the idf of words by name and number; below 0, one is in no text."""
        idf = inverse_frequency(np.zeros(len(names), np.int64), self.size)
        general = self.words[0].general
        if general is not None:
            idf += general.of_terms(names)
        idf[numbers >= 0] = self.idf(numbers[numbers >= 0])
        return idf

    @property
    def postings(self) -> Postings:
        """The postings of the documents."""
        return self.words[0].postings

    @cached_property
    def owners(self) -> Numbers:
        """The document of each passage."""
        if self.passages is None:
            return np.empty(0, np.int64)
        return self.passages.owners.astype(np.int64)

    def documents_with(self, words: Numbers, documents: Numbers) -> NDArray[np.bool_]:
        """Tell for each word (rows) which of some documents have it."""
        found = np.zeros((len(words), len(documents)), np.bool_)
        for own, word in zip(found, words.tolist(), strict=True):
            holders, _ = self.postings.entries(word)
            at = np.searchsorted(holders, documents)
            inside = at < len(holders)
            own[inside] = holders[at[inside]] == documents[inside]
        return found

    def half_at(self, units: Numbers) -> Floats:
        """Return the counts at which a word has half its full weight in some units."""
        half = np.empty(len(units), np.float32)
        for part, own, numbers in self._parts(units):
            half[own] = self.words[part].half_saturation[numbers]
        return half

    def terms_in_order(self, units: Numbers) -> tuple[NDArray[np.int32], Numbers]:
        """Return the terms of some ascending units in order, and where those of each begin."""
        terms, first = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for part, _, numbers in self._parts(units):
            own, at = self.sequences[part].of_units(numbers)
            first.append(at + sum(map(len, terms)))
            terms.append(own)
        return np.concatenate(terms), np.concatenate(first)

    def bm25(self, query: WeightedWords) -> Floats:
        """Return the BM25 of each unit; 0 if it has no word of the query."""
        return _joined(list(map(Bm25.scores, self.words, repeat(query))))

    def cosines(self, vectors: Floats) -> Floats:
        """Return the cosine of each unit with a vector, or with each of several (rows)."""
        times = PackedRows.times if vectors.ndim == 1 else PackedRows.scale_rows_by
        cosines = _joined([times(own, vectors) for own in self.vectors])
        if len(self.removed):
            cosines[..., self.removed] = -1
        return cosines

    @cached_property
    def certainty(self) -> Floats:
        """How certain the vector of each unit is."""
        return vector_certainty(_joined([terms.distinct_terms for terms in self.terms]))

    def cosines_at(self, units: Numbers, vector: Floats) -> Floats:
        """Return the cosines of some units with a vector."""
        cosines = np.empty(len(units), np.float32)
        for part, own, numbers in self._parts(units):
            cosines[own] = self.vectors[part].times_at(numbers, vector)
        return cosines

    def vectors_at(self, units: Numbers) -> Floats:
        """Return the vectors of some units, as rows."""
        vectors = np.empty((len(units), self.vectors[0].shape[1]), np.float32)
        for part, own, numbers in self._parts(units):
            vectors[own] = self.vectors[part].at(numbers)
        return vectors

    def telling_words(self, units: Numbers) -> tuple[Numbers, Floats]:
        """Return the strongest words of some units (rows), padded with `NO_TERM`, and their BM25.

        The BM25 is without idf.
        """
        width = self.terms[0].strongest_terms.shape[1]
        words = np.full((len(units), width), NO_TERM, np.int64)
        worth = np.zeros((len(units), width), np.float32)
        for part, own, numbers in self._parts(units):
            terms, bm25 = self.terms[part], self.words[part]
            words[own] = terms.strongest_terms[numbers]
            counts = terms.strongest_counts[numbers]
            every = np.broadcast_to(numbers[:, np.newaxis], counts.shape)
            worth[own] = bm25.saturated(counts, every)
        return words, worth

    @cached_property
    def unmoving(self) -> Numbers:
        """The documents of many passages, whose passages move a query, and what is removed."""
        if self.passages is None:
            return self.removed
        owners, sizes = np.unique(self.passages.owners, return_counts=True)
        return np.union1d(owners[sizes > _OF_ONE_THING], self.removed).astype(np.int64)

    @property
    def movers(self) -> int:
        """The number of units that may move a query."""
        return len(self.certainty) - len(self.unmoving)

    def best(self, scores: Floats, bm25: Floats | None) -> Numbers:
        """Return the unit that stands for each document: itself, or the best of its passages.

        `bm25` is None if the words of the query do not count.
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
            wholes = first[wordless & (bm25[first] > 0)]
            units[wholes] = wholes
        return units

    def best_passages(self, document: int, scores: Floats, most: int) -> list[Span]:
        """Return the spans of the best passages of a document in its text, best first.

        Passages without evidence, or half as good as the best or less, are left out.
        """
        if self.passages is None:
            return []
        part = self.passages.of_document(document)
        own = scores[part]
        best = np.argsort(-own, kind="stable")[:most]
        shown = best[(own[best] >= own[best[:1]] * _WORTH_SHOWING) & np.isfinite(own[best])]
        spans = self.passages.spans[part][shown].tolist()
        return [(start, end) for start, end in spans]

    def of_documents(self, scores: Floats, best: Numbers, whole: float) -> Floats:
        """Return the scores of documents, given the unit that stands for each.

        `whole` is the share of the whole in the score of a long document.
        """
        totals = self.chosen(scores, best)
        if whole:
            late = np.flatnonzero(best >= self.documents)
            totals[late] += np.float32(whole) * (scores[late] - totals[late])
        return totals

    def chosen(self, values: NDArray[Any], best: Numbers) -> NDArray[Any]:
        """Return the values of the units that stand for documents: mostly themselves."""
        chosen = values[: self.documents].copy()
        late = np.flatnonzero(best >= self.documents)
        chosen[late] = values[best[late]]
        return chosen

    @cached_property
    def _first_passages(self) -> tuple[Numbers, Numbers]:
        """Where the passages of each long document begin, and which document that is."""
        assert self.passages is not None  # noqa: S101
        owners, starts = np.unique(self.passages.owners, return_index=True)
        return starts, owners.astype(np.int64)

    def _parts(self, units: Numbers) -> list[tuple[int, NDArray[np.bool_], Numbers]]:
        """Split units into documents and passages, each numbered from 0."""
        late = units >= self.documents
        parts = [(0, ~late, units[~late])]
        if late.any():
            parts.append((1, late, units[late] - self.documents))
        return parts


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
