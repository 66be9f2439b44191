"""Postings, BM25, and the strongest terms of documents.

All terms have postings, also those too rare for a column of the subspace, and those of documents
added later. Terms are sorted, so that one is found by bisection in the mapped file; the documents
of a term are ascending numbers of rows (of the index's `vectors`).

With f the count of a term in a document, n the number of documents and d of those that have it:

    f (k1 + 1) / (f + k1 (1 - b + b · length / mean length)) · log(1 + (n - d + ½) / (d + ½))

summed over the words of the query. The logarithm is never below zero, unlike that of FTS5, so a
word that is in most documents cannot count against them. k1 and b are those of FTS5. To the
logarithm is added how rare the word is in its language (text/vocabulary.py).

Feedback needs the telling terms of the first documents, and the certainty of a vector the number of
terms it was made from. Twenty terms per document are stored: 120 bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from lpisearch.numeric.threads import CHUNK, chunks, map_chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csc_array, csr_array

    from lpisearch.numeric.rows import SparseRows
    from lpisearch.text.vocabulary import GeneralWords

    Integers = NDArray[np.integer[Any]]


MOST = np.iinfo(np.uint16).max
NO_COLUMN = -1
LEXICON = ("lexicon", "lexicon_starts", "lexicon_columns")
_MOST_FOUND = 10_000
NOTHING = np.empty(0, np.int64)
NEW = -1  # a document that the postings do not have yet
APPENDED = "new_"  # begins the names of what an index has beside the arrays of its last rewrite
_LINES = "line_numbers"
LOST = "lost_frequencies"


class Entries(NamedTuple):
    """The entries of each term, from `starts` on: documents, ascending, and counts."""

    starts: Integers
    places: Integers
    counts: Integers

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Self | None:
        """Take the arrays of an index; None if no document was appended."""
        names = [f"{APPENDED}{prefix}posting_{name}" for name in cls._fields]
        own = [arrays[name].view(np.ndarray) for name in names if name in arrays]
        return cls(*own) if own else None

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays to store, by name."""
        names = [f"{APPENDED}{prefix}posting_{name}" for name in self._fields]
        return dict(zip(names, self, strict=True))

    @property
    def terms(self) -> NDArray[np.int64]:
        """The term of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True, eq=False)
class Postings:
    """The documents of each term.

    The lexicon has the sorted terms in UTF-8, a line each, where each begins and where all end, and
    the column of each in the subspace (or -1). The entries of each term begin at `posting_starts`:
    a document, and how often the term is in it (65,535 at most). Files have the least types that
    suffice. Lengths are numbers of tokens.

    Documents that were appended have larger numbers than all others, and entries of their own. A
    term that came with them has the next number, so `line_numbers` has that of each line of the
    lexicon; None if terms are numbered by their lines.

    Documents in `removed` have entries, which do not count: `lost_frequencies` has their number for
    each term; None if no document is removed.
    """

    lexicon: NDArray[np.uint8]
    lexicon_starts: Integers
    lexicon_columns: NDArray[np.int32]
    posting_starts: Integers
    posting_places: Integers
    posting_counts: Integers
    document_lengths: NDArray[np.int32]
    appended: Entries | None = None
    line_numbers: NDArray[np.int32] | None = None
    lost_frequencies: NDArray[np.int32] | None = None
    removed: NDArray[np.int64] = field(default_factory=lambda: NOTHING)

    @classmethod
    def of_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        prefix: str = "",
        lexicon: str | None = None,
        removed: NDArray[np.int64] = NOTHING,
    ) -> Postings:
        """Take the arrays of an index that are named after the attributes.

        Their names begin with `prefix`, those of the terms with `lexicon` if it is given.
        """
        lexicon = prefix if lexicon is None else lexicon
        names = {name: lexicon + name for name in LEXICON}
        names |= {name: prefix + name for name in _DOCUMENTS}
        for name, at in ((_LINES, APPENDED + lexicon + _LINES), (LOST, APPENDED + prefix + LOST)):
            if at in arrays:
                names[name] = at
        # A plain view: slicing a memory-mapped array costs ten times as much.
        own: dict[str, Any] = {name: arrays[at].view(np.ndarray) for name, at in names.items()}
        return cls(**own, appended=Entries.of_arrays(arrays, prefix), removed=removed)

    @property
    def parts(self) -> tuple[Entries, ...]:
        """All entries, and those of appended documents."""
        every = Entries(self.posting_starts, self.posting_places, self.posting_counts)
        return (every,) if self.appended is None else (every, self.appended)

    def entries(self, term: int) -> tuple[Integers, Integers]:
        """Return the documents of a term by its number, ascending, and its count in each."""
        places, counts = [], []
        for part in self.parts:
            start, end = part.starts[term : term + 2].tolist()
            places.append(part.places[start:end])
            counts.append(part.counts[start:end])
        if len(places) == 1 and not len(self.removed):
            return places[0], counts[0]
        documents, times = np.concatenate(places), np.concatenate(counts)
        if len(self.removed):
            stays = ~self._is_removed[documents]
            return documents[stays], times[stays]
        return documents, times

    @cached_property
    def _is_removed(self) -> NDArray[np.bool_]:
        marked = np.zeros(len(self.document_lengths), np.bool_)
        marked[self.removed] = True
        return marked

    @property
    def n_documents(self) -> int:
        """The number of documents that are not removed."""
        return len(self.document_lengths) - len(self.removed)

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of a document."""
        lengths = self.document_lengths
        total = int(lengths.sum(dtype=np.int64) - lengths[self.removed].sum(dtype=np.int64))
        return total / self.n_documents if self.n_documents else 0.0

    def frequencies(self, words: NDArray[np.integer[Any]] | int | None = None) -> NDArray[np.int64]:
        """Return the document frequencies of terms by their numbers, or of all terms."""
        every = [part.starts for part in self.parts]
        some = slice(None) if words is None else words
        lost = 0 if self.lost_frequencies is None else self.lost_frequencies[some]
        if words is None:
            return np.asarray(sum(map(np.diff, every)) - lost)
        return np.asarray(sum(starts[words + 1] - starts[words] for starts in every) - lost)

    @classmethod
    def build(
        cls,
        terms: Sequence[str],
        counts: csr_array,
        lengths: NDArray[np.int32],
        columns: Mapping[str, int],
    ) -> Postings:
        """Invert counts: documents as rows (columns in the papers), terms in any order.

        Terms in no document are left out; `columns` gives the column of a term in the subspace.
        """
        by_term = counts.tocsc()
        present = np.flatnonzero(np.diff(by_term.indptr)).tolist()
        order = sorted(present, key=terms.__getitem__)
        by_term = by_term[:, order]
        names = [terms[column] for column in order]
        own: dict[str, Any] = lexicon_arrays(names, columns) | _entries(by_term, lengths)
        return cls(**own)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store, by name."""
        return {name: getattr(self, name) for name in POSTINGS}

    def with_rows(self, counts: csr_array, lengths: NDArray[np.int32]) -> Postings:
        """Return the postings of other rows, such as passages, by the same terms in order."""
        own: dict[str, Any] = _entries(counts.tocsc(), lengths)
        return replace(self, appended=None, lost_frequencies=None, removed=NOTHING, **own)

    def counts(self) -> csr_array:
        """Return the count of each term (column) in each document (row)."""
        from scipy.sparse import csc_array

        shape = (len(self.document_lengths), len(self))
        every = [
            csc_array((counts.astype(np.float32), places, starts), shape=shape).tocsr()
            for starts, places, counts in self.parts
        ]
        counts: csr_array = every[0] if len(every) == 1 else every[0] + every[1]
        return counts

    def numbers(self, terms: Iterable[str]) -> NDArray[np.int64]:
        """Return the numbers of terms, or -1."""
        number = {term: at for at, term in enumerate(self.terms())}
        return np.array([number.get(term, -1) for term in terms], np.int64)

    def __len__(self) -> int:
        return len(self.lexicon_columns)

    def terms(self) -> tuple[str, ...]:
        """Return all terms in their order."""
        lines = self.lexicon.tobytes().decode().split()
        if self._lines is not None:
            lines = [lines[at] for at in self._lines.tolist()]
        return tuple(lines)

    def term(self, number: int) -> str:
        """Return a term by its number."""
        line = number if self._lines is None else int(self._lines[number])
        return self._line(line).decode().rstrip("\n")

    def find(self, term: str) -> int:
        """Return the number of a term that a document has, or -1."""
        if term in self._terms_seen:
            return self._terms_seen[term]
        found = self.number(term)
        if found >= 0 and self.lost_frequencies is not None and not self.frequencies(found):
            found = -1
        if len(self._terms_seen) < _MOST_FOUND:
            self._terms_seen[term] = found
        return found

    def number(self, term: str) -> int:
        """Return the number of a term, also one that removed documents alone have, or -1."""
        line = f"{term}\n".encode("utf-8", "surrogatepass")
        found = bisect_left(range(len(self)), line, key=self._line)
        if found == len(self) or self._line(found) != line:
            return -1
        return found if self.line_numbers is None else int(self.line_numbers[found])

    @cached_property
    def _terms_seen(self) -> dict[str, int]:
        """The numbers of terms that were looked up: a query looks for each several times."""
        return {}

    @cached_property
    def _lines(self) -> NDArray[np.int64] | None:
        """The line of each term in the lexicon, unless terms are numbered by their lines."""
        return None if self.line_numbers is None else np.argsort(self.line_numbers)

    def _line(self, number: int) -> bytes:
        starts = self._starts
        return self._bytes[starts[number] : starts[number + 1]].tobytes()

    @cached_property
    def _bytes(self) -> memoryview:
        return self.lexicon.data

    @cached_property
    def _starts(self) -> memoryview:
        return self.lexicon_starts.data


_DOCUMENTS = ("posting_starts", "posting_places", "posting_counts", "document_lengths")
POSTINGS = (*LEXICON, *_DOCUMENTS)  # the names of their arrays in an index


def lexicon_arrays(names: Sequence[str], columns: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """Return the arrays of sorted terms."""
    lines = [f"{name}\n".encode() for name in names]
    return {
        "lexicon": np.frombuffer(b"".join(lines), np.uint8),
        "lexicon_starts": _running_total([len(line) for line in lines]),
        "lexicon_columns": np.array([columns.get(name, NO_COLUMN) for name in names], np.int32),
    }


def _entries(by_term: csc_array, lengths: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    by_term.sort_indices()
    return {
        "posting_starts": by_term.indptr.astype(np.int64),
        "posting_places": by_term.indices.astype(np.int32),
        "posting_counts": np.minimum(by_term.data, MOST).astype(np.uint16),
        "document_lengths": np.asarray(lengths, np.int32),
    }


def _running_total(sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    totals = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=totals[1:])
    return totals


class GeneralIdf:
    """What the frequencies of a language add to the idf of terms by their numbers."""

    def __init__(self, postings: Postings, words: GeneralWords) -> None:
        self._postings, self._words = postings, words
        self._known: dict[int, float] = {}

    def of(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return it for some terms."""
        new = [number for number in numbers.tolist() if number not in self._known]
        if new:
            terms = self._postings.terms() if len(new) > MANY_TERMS else None
            names = [terms[number] if terms else self._postings.term(number) for number in new]
            self._known |= zip(new, self.of_terms(names).tolist(), strict=True)
        return np.array([self._known[number] for number in numbers.tolist()], np.float32)

    def of_terms(self, terms: Iterable[str]) -> NDArray[np.float32]:
        """Return it for terms that the postings need not have."""
        return self._words.idf(terms, self._postings.n_documents)


MANY_TERMS = 1000
K1 = 1.2
B = 0.75


class WeightedWords(Protocol):
    """Words by their numbers in the postings, and how much each counts."""

    @property
    def words(self) -> NDArray[np.int64]:
        """Numbers of terms."""

    @property
    def weights(self) -> NDArray[np.float32]:
        """The weight of each."""


@dataclass(frozen=True, eq=False)
class Bm25:
    """BM25 over postings.

    `among` are the documents that determine idf and mean length, if not those of the postings:
    passages are scored among whole documents, as short documents would be. `general` is added to
    their idf. `long_from` is that of `half_saturation`.
    """

    postings: Postings
    k1: float = K1
    b: float = B
    among: Postings | None = None
    general: GeneralIdf | None = None
    long_from: int | None = None

    def scores(self, query: WeightedWords) -> NDArray[np.float32]:
        """Return the score of each document; 0 if it has no word of the query."""
        scores = np.zeros(len(self.half_saturation), np.float32)
        factors = query.weights * self.idf(query.words)
        for entries in self.postings.parts if len(factors) else ():
            self._add(scores, entries, query.words, factors)
        scores[self.postings.removed] = 0
        return scores

    def _add(
        self,
        scores: NDArray[np.float32],
        entries: Entries,
        words: NDArray[np.int64],
        factors: NDArray[np.float32],
    ) -> None:
        """Add the scores of some words, one word after the other."""
        edges = np.column_stack([entries.starts[words], entries.starts[words + 1]]).tolist()
        if inner := [part.start for part in chunks(len(scores))][1:]:
            for own in edges:
                places = entries.places[own[0] : own[1]]
                own[1:1] = (own[0] + np.searchsorted(places, inner)).tolist()

        def add(part: slice) -> None:
            at = part.start // CHUNK
            runs = [slice(own[at], own[at + 1]) for own in edges]
            places = np.concatenate([entries.places[run] for run in runs])
            counts = np.concatenate([entries.counts[run] for run in runs])
            each = np.repeat(factors, [run.stop - run.start for run in runs])
            np.add.at(scores, places, each * self.saturated(counts, places))

        # A chunk of the scores stays in the cache while the entries of all words are added.
        map_chunks(len(scores), add)

    def worth(self) -> NDArray[np.float32]:
        """Return the weight of every entry of the postings, without idf."""
        return self.saturated(self.postings.posting_counts, self.postings.posting_places)

    def idf(self, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the idf of words."""
        among = self.among or self.postings
        idf = inverse_frequency(among.frequencies(words), among.n_documents)
        return idf if self.general is None else idf + self.general.of(words)

    def saturated(
        self, counts: NDArray[np.integer], documents: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        """Return the BM25 of counts of a word in documents, without idf."""
        return saturation(counts, self.half_saturation[documents], self.k1)

    @cached_property
    def half_saturation(self) -> NDArray[np.float32]:
        """The count at which a word has half its full weight in each document."""
        mean = (self.among or self.postings).mean_length
        lengths = self.postings.document_lengths
        return half_saturation(lengths, mean, k1=self.k1, b=self.b, long_from=self.long_from)


def inverse_frequency(frequencies: NDArray[np.integer], n_documents: int) -> NDArray[np.float32]:
    """Return the idf of words by their document frequencies."""
    others = n_documents - frequencies
    return np.log1p((others + 0.5) / (frequencies + 0.5)).astype(np.float32)


def half_saturation(
    lengths: NDArray[np.integer],
    mean_length: float | None = None,
    *,
    k1: float = K1,
    b: float = B,
    long_from: int | None = None,
) -> NDArray[np.float32]:
    """Return for documents by their lengths the count at which a word has half its full weight.

    Documents of `long_from` tokens or more count by the logarithm of their length: a book of a
    hundred pages says each thing in one place, not a hundred times.
    """
    if mean_length is None:
        mean_length = float(lengths.mean()) if len(lengths) else 0.0
    relative = lengths / (mean_length or 1.0)
    if long_from is not None:
        tempered = 1 + np.log(np.maximum(relative, 1))
        relative = np.where((lengths >= long_from) & (relative > 1), tempered, relative)
    return (k1 * (1 - b + b * relative)).astype(np.float32)


def saturation(
    counts: NDArray[np.generic], half: NDArray[np.float32], k1: float = K1
) -> NDArray[np.float32]:
    """Return the saturated counts: each further one adds less, and all at most k1 + 1."""
    values = counts.astype(np.float32)
    return np.asarray(values * np.float32(k1 + 1) / (values + half), np.float32)


STRONGEST = 20
NO_TERM = -1
_BLOCK = 50_000
_MANY = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False, slots=True)
class DocumentTerms:
    """The strongest terms of documents.

    For each document: the number of its terms that have a column; the numbers (in the postings) of
    the terms with the largest BM25, in falling order and padded with `NO_TERM`; and their counts.
    """

    distinct_terms: NDArray[np.int32]
    strongest_terms: NDArray[np.int32]
    strongest_counts: NDArray[np.uint16]

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_documents: int) -> DocumentTerms:
        """Take the arrays of an index that are named after the attributes.

        An index of an earlier program has none: every vector is certain, and no term is strong.
        """
        names = [field.name for field in fields(cls)]
        if all(name in arrays for name in names):
            return cls(*(arrays[name].view(np.ndarray) for name in names))
        nothing = np.empty((n_documents, 0), np.int32)
        return cls(np.full(n_documents, _MANY, np.int32), nothing, nothing.astype(np.uint16))

    @classmethod
    def of_postings(cls, postings: Postings) -> DocumentTerms:
        """Compute them from postings."""
        counts = postings.counts()
        n = counts.shape[0]
        half = half_saturation(postings.document_lengths, postings.mean_length)
        idf = inverse_frequency(postings.frequencies(), postings.n_documents)
        terms = np.empty((n, STRONGEST), np.int32)
        times = np.empty((n, STRONGEST), np.uint16)
        for start in range(0, n, _BLOCK):
            rows = slice(start, start + _BLOCK)
            terms[rows], times[rows] = strongest_of_rows(counts[rows], half[rows], idf)
        has_column = postings.lexicon_columns != NO_COLUMN
        with_column = np.repeat(has_column, np.diff(postings.posting_starts))
        distinct = np.bincount(postings.posting_places[with_column], minlength=n)
        return cls(distinct.astype(np.int32), terms, times)

    def with_documents(
        self, places: NDArray[np.int64], numbers: NDArray[np.int64], fresh: csr_array, now: Postings
    ) -> DocumentTerms:
        """Return the terms of changed documents; those that stay have the same strongest terms.

        `places` has for each document its old row, below zero for a new one; `numbers` the new
        number of each old term; `fresh` the counts of the new documents; `now` all postings.
        """
        is_new, stays = places < 0, places[places >= 0]
        n, width = len(places), self.strongest_terms.shape[1]
        distinct = np.empty(n, np.int32)
        terms = np.full((n, width), NO_TERM, np.int32)
        times = np.zeros((n, width), np.uint16)
        distinct[~is_new] = self.distinct_terms[stays]
        times[~is_new] = self.strongest_counts[stays]
        before = self.strongest_terms[stays]
        filled = before != NO_TERM
        renumbered = np.full(before.shape, NO_TERM, np.int32)
        renumbered[filled] = numbers[before[filled]]
        terms[~is_new] = renumbered
        known = now.lexicon_columns[fresh.indices] != NO_COLUMN
        rows = np.repeat(np.arange(fresh.shape[0]), np.diff(fresh.indptr))
        distinct[is_new] = np.bincount(rows[known], minlength=fresh.shape[0])
        if width:
            half = half_saturation(now.document_lengths)[is_new]
            idf = inverse_frequency(np.diff(now.posting_starts), n)
            terms[is_new], times[is_new] = strongest_of_rows(fresh, half, idf)
        return DocumentTerms(distinct, terms, times)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def strongest_of_rows(
    counts: csr_array | SparseRows, half: NDArray[np.float32], idf: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
    """Return the terms with the largest BM25 of each row of counts, and their counts.

    `half` is the `half_saturation` of each row. Columns ascend in each row.
    """
    n = len(counts.indptr) - 1
    terms = np.full((n, STRONGEST), NO_TERM, np.int32)
    times = np.zeros((n, STRONGEST), np.uint16)
    rows = np.repeat(np.arange(n), np.diff(counts.indptr))
    strengths = saturation(counts.data, half[rows]) * idf[counts.indices]
    # Row and strength in one number: one sort brings the strongest of each row to its front.
    keys = rows - strengths / (2 * max(float(strengths.max(initial=0)), 1e-9))
    order = np.argsort(keys, kind="stable")
    ranks = np.arange(len(order)) - counts.indptr[rows]
    first = ranks < STRONGEST
    terms[rows[first], ranks[first]] = counts.indices[order[first]]
    times[rows[first], ranks[first]] = counts.data[order[first]]
    return terms, times
