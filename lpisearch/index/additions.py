"""Append documents to an index, at the cost of these documents.

Most arrays have a row for each document, passage or term, so rows are written behind those of the
files, beyond what the present manifest names. What cannot be appended to is small, or is what was
appended so far: the entries of these documents in the postings, which are read next to those of the
others (see `Postings`).

Terms keep their numbers, and a new term has the next one. The strongest terms of passages that are
there already stay as they are, as those of documents do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.index.field_words import FIELD, read_fields
from lpisearch.index.postings import (
    APPENDED,
    MOST,
    NEW,
    NO_COLUMN,
    NO_TERM,
    DocumentTerms,
    Entries,
    half_saturation,
    inverse_frequency,
    strongest_of_rows,
)
from lpisearch.index.sequences import Sequences, SequenceWriter
from lpisearch.index.subspace import PASSAGE, cut_documents
from lpisearch.index.twins import holders_of_keys, joined_groups, twin_keys, twin_pairs
from lpisearch.numeric.packed_rows import PackedRows
from lpisearch.numeric.rows import SparseRows
from lpisearch.text.spans import LONG_DOCUMENT
from lpisearch.text.spelling import Lines, count_written, with_spelled, with_written
from lpisearch.text.tokeniser import Tokenisers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.postings import Postings
    from lpisearch.index.subspace import Passages, SubspaceIndex
    from lpisearch.storage.store import ReadTransaction

    Array = NDArray[Any]
    Whole = NDArray[np.int64]


APPEND_FROM = 10_000
"""The documents from which an index is appended to; a smaller one is rewritten, which is quick."""
_APPENDED_SHARE = 0.1  # of the documents, beyond which all are written together again
_NEEDED = ("twins", "strongest_terms", "sequence_terms", "field_name_sizes", "written_words")


@dataclass(frozen=True, slots=True)
class Change:
    """What an update writes: whole arrays, and rows behind others; `gone` are not there any more.

    `passages` are all, `appended` the documents since the arrays were last written as a whole.
    """

    passages: int | None
    appended: int = 0
    arrays: dict[str, Array] = field(default_factory=dict)
    rows: dict[str, Array] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()


class Target(NamedTuple):
    """The documents of the updated index."""

    rows: Whole  # keys, ascending
    hashes: NDArray[np.uint8]
    places: Whole  # row of each in the index before, or `NEW`

    @classmethod
    def of(cls, rows: Whole, content: NDArray[np.uint8], index: SubspaceIndex) -> Target:
        """Compare the keys and content hashes of all documents with those of an index."""
        before = index.document_rows
        at = np.searchsorted(before, rows)
        known = at < len(before)
        known[known] = before[at[known]] == rows[known]
        known[known] = (index.content_hashes[at[known]] == content[known]).all(axis=1)
        return cls(rows, content, np.where(known, at, NEW))


def can_append(index: SubspaceIndex, target: Target) -> bool:
    """Tell whether few documents came, behind all others, and none is gone or has changed."""
    n, n_new = len(index.document_rows), int(np.count_nonzero(target.places < 0))
    return (
        n >= APPEND_FROM
        and len(target.rows) == n + n_new
        and bool((target.places[:n] >= 0).all())
        and index.manifest.appended + n_new <= _APPENDED_SHARE * n
        and index.manifest.passages is not None
        and all(name in index.arrays for name in _NEEDED)
    )


def append_documents(
    index: SubspaceIndex, target: Target, snapshot: ReadTransaction
) -> Change | None:
    """Append documents; None if one is the first that is long enough to have passages."""
    n = len(index.document_rows)
    tokens = snapshot.corpus.tokens(target.rows[n:].tolist())
    counted = _Counted.of(tokens)
    is_long = counted.lengths >= LONG_DOCUMENT
    if is_long.any() and index.passages is None:
        return None
    lexicon = _Lexicon.of(index.postings, counted.names, index.vocabulary.index)
    addition = _Addition(index, target, snapshot, lexicon)
    lexicon.write(addition.arrays, index.postings, "")
    addition.documents(counted, ["" if a else b for a, b in zip(is_long, tokens, strict=True)])
    passages = addition.passages(n + np.flatnonzero(is_long))
    addition.fields(passages)
    addition.words()
    return Change(
        (index.manifest.passages or 0) + (0 if passages is None else len(passages)),
        index.manifest.appended + len(tokens),
        addition.arrays,
        addition.rows,
    )


class _Counted(NamedTuple):
    """Counts of words in a few texts, which are tokens joined by spaces."""

    names: list[str]  # in order
    rows: SparseRows  # texts x names
    lengths: NDArray[np.int32]

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Counted:
        counted = [Counter(text.split()) for text in texts]
        names = sorted(set[str]().union(*counted))
        at = {name: number for number, name in enumerate(names)}
        own = [sorted((at[name], times) for name, times in one.items()) for one in counted]
        entries = np.array([pair for pairs in own for pair in pairs], np.int64).reshape(-1, 2)
        starts = np.cumsum([0, *map(len, own)])
        rows = SparseRows(starts, entries[:, 0], entries[:, 1].astype(np.float32), len(names))
        return cls(names, rows, np.array([one.total() for one in counted], np.int32))

    def among(self, numbers: Whole) -> SparseRows:
        """Return the counts by other numbers of the names; those below zero are left out."""
        stays = numbers[self.rows.indices] >= 0
        starts = np.concatenate([[0], np.cumsum(stays)])[self.rows.indptr]
        own = numbers[self.rows.indices[stays]]
        return SparseRows(starts, own, self.rows.data[stays], self.rows.n_terms)


class _Lexicon(NamedTuple):
    """The words of postings and of new texts: the number of each, and the column of each number.

    `new` are the words that the postings did not have.
    """

    numbers: dict[str, int]
    columns: NDArray[np.int32]
    new: list[str]

    @classmethod
    def of(cls, postings: Postings, names: Sequence[str], columns: Mapping[str, int]) -> _Lexicon:
        numbers = {name: postings.find(name) for name in names}
        new = [name for name, number in numbers.items() if number < 0]
        numbers |= {name: len(postings) + at for at, name in enumerate(new)}
        own = np.array([columns.get(name, NO_COLUMN) for name in new], np.int32)
        return cls(numbers, np.concatenate([postings.lexicon_columns, own]), new)

    def of_names(self, names: Sequence[str]) -> Whole:
        """Return the numbers of words, or -1."""
        return np.array([self.numbers.get(name, -1) for name in names], np.int64)

    def write(self, arrays: dict[str, Array], postings: Postings, prefix: str) -> None:
        """Put the new words between the lines of the lexicon; the number of no word changes."""
        if self.new:
            lines, at = Lines(postings.lexicon, postings.lexicon_starts).with_lines(self.new)
            before, size = postings.line_numbers, len(postings)
            before = np.arange(size, dtype=np.int32) if before is None else before
            own = np.arange(size, len(self.columns), dtype=np.int32)
            arrays[f"{prefix}lexicon"] = lines.text
            arrays[f"{prefix}lexicon_starts"] = lines.starts
            arrays[f"{APPENDED}{prefix}line_numbers"] = np.insert(before, at, own)


@dataclass(frozen=True, eq=False)
class _Addition:
    """The arrays and rows of documents that are appended."""

    index: SubspaceIndex
    target: Target
    snapshot: ReadTransaction
    lexicon: _Lexicon
    arrays: dict[str, Array] = field(default_factory=dict)
    rows: dict[str, Array] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of documents before."""
        return len(self.index.document_rows)

    @property
    def keys(self) -> list[int]:
        """The keys of the new documents."""
        return list(self.target.rows[self.n :].tolist())

    def documents(self, counted: _Counted, sequences: Sequence[str]) -> None:
        """Append documents, with the tokens in order of those that have no passages."""
        packed = self.index.packed_vectors
        fresh = PackedRows(self._units(self.index.postings, counted, ""))
        if packed.steps is not None:
            fresh = PackedRows.pack(fresh.codes, packed.codes.dtype, packed.scales)
            self.rows["vector_steps"] = np.asarray(fresh.steps)
        self.rows["vectors"] = fresh.codes
        has_column = self.lexicon.columns[self.lexicon.of_names(counted.names)] != NO_COLUMN
        counts = counted.rows.data * ~has_column[counted.rows.indices]
        unknown = np.bincount(counted.rows.row_numbers, counts, len(counted.lengths))
        taken_in = [np.ones_like(counted.lengths), counted.lengths, unknown.astype(np.int32)]
        self.rows["taken_in"] = np.column_stack(taken_in)
        self.rows["document_rows"] = self.target.rows[self.n :]
        self.rows["content_hashes"] = self.target.hashes[self.n :]
        self._sequences(self.index.sequences, sequences, "")
        self._twins(fresh)

    def passages(self, long: Whole) -> Passages | None:
        """Append the passages of long documents, given by row, and return them."""
        before = self.index.passages
        if before is None:
            return None
        keys = self.target.rows[long].tolist()
        tokeniser = Tokenisers().of(self.index.manifest.tokeniser)
        rows = dict(zip(keys, long.tolist(), strict=True))
        cut = list(cut_documents(self.snapshot, tokeniser, rows))
        tokens = [span.tokens for _, span in cut]
        own: dict[str, Any] = {
            "owners": np.array([row for row, _ in cut], np.int32),
            "spans": np.array([one[:2] for _, one in cut], np.int32).reshape(-1, 2),
            "vectors": self._units(before.postings, _Counted.of(tokens), PASSAGE),
        }
        self.rows.update({f"{PASSAGE}{name}": array for name, array in own.items()})
        self._sequences(before.sequences, tokens, PASSAGE)
        return replace(before, **own)

    def fields(self, passages: Passages | None) -> None:
        """Append the fields of documents and of their passages, which come behind all documents."""
        assert self.index.fields is not None  # noqa: S101
        n, keys, postings = self.n, self.keys, self.index.fields.postings
        k, lengths = len(keys), postings.document_lengths
        tokeniser = Tokenisers().of(self.index.manifest.tokeniser)
        rows = dict(zip(keys, range(n, n + k), strict=True))
        texts = read_fields(self.snapshot, tokeniser, rows, passages)
        counted = _Counted.of(texts.units)
        lexicon = _Lexicon.of(postings, counted.names, {})
        lexicon.write(self.arrays, postings, FIELD)
        if len(lengths) > n:  # the passages before are moved
            moved = [
                one._replace(places=one.places + np.int32(k) * (one.places >= n))
                for one in postings.parts
            ]
            self.arrays[f"{FIELD}posting_places"] = moved[0].places
            postings = replace(postings, appended=moved[1] if len(moved) > 1 else None)
        units = np.arange(n, n + len(counted.lengths))
        units[k:] += len(lengths) - n
        self._entries(postings, lexicon, counted, units, FIELD)
        split = [lengths[:n], counted.lengths[:k], lengths[n:], counted.lengths[k:]]
        self.arrays[f"{FIELD}document_lengths"] = np.concatenate(split)
        self.rows[f"{FIELD}name_sizes"] = np.array(texts.name_sizes, np.uint8)

    def words(self) -> None:
        """Write the tables of words with those of the new documents."""
        index, texts = self.index, self.snapshot.documents.texts(self.keys)
        if index.written_words is None or index.plain_spellings is None:
            return
        written = count_written(f"{title}\n{text}" for _, title, text in texts)
        self.arrays.update(with_written(index.written_words, index.written_documents, written))
        tokeniser = Tokenisers().of(index.manifest.tokeniser)
        self.arrays.update(with_spelled(index.plain_spellings, self.lexicon.new, tokeniser))

    def _units(self, postings: Postings, counted: _Counted, prefix: str) -> NDArray[np.float32]:
        """Append the words of documents or passages; return their vectors."""
        n, index = postings.n_documents, self.index
        numbers = self.lexicon.of_names(counted.names)
        columns = np.where(numbers >= 0, self.lexicon.columns[numbers], NO_COLUMN).astype(np.int64)
        units = np.arange(n, n + len(counted.lengths))
        self._entries(postings, self.lexicon, counted, units, prefix)
        frequencies = np.bincount(counted.rows.indices, minlength=len(counted.names))
        before = (numbers >= 0) & (numbers < len(postings))
        frequencies[before] += postings.frequencies(numbers[before])
        lengths = np.concatenate([postings.document_lengths, counted.lengths])
        half = half_saturation(counted.lengths, float(lengths.mean()) if len(lengths) else 0.0)
        idf = inverse_frequency(frequencies, len(lengths))
        strongest, times = strongest_of_rows(counted.rows, half, idf)
        strongest[strongest != NO_TERM] = numbers[strongest[strongest != NO_TERM]]
        known = counted.rows.row_numbers[columns[counted.rows.indices] != NO_COLUMN]
        distinct = np.bincount(known, minlength=len(counted.lengths)).astype(np.int32)
        own = DocumentTerms(distinct, strongest, times).arrays()
        own["document_lengths"] = counted.lengths
        self.rows.update({f"{prefix}{name}": array for name, array in own.items()})
        counts = counted.among(columns)
        weights = index.weighting.of_rows(counts)
        rows = SparseRows(counts.indptr, counts.indices, weights, index.n_terms)
        return index.project_weights(rows.unit())

    def _entries(
        self,
        postings: Postings,
        lexicon: _Lexicon,
        counted: _Counted,
        units: Whole,
        prefix: str,
    ) -> None:
        """Write the entries of all appended units; new words have no others."""
        rows = counted.among(lexicon.of_names(counted.names))
        columns: list[Array] = [rows.indices, units[rows.row_numbers], np.minimum(rows.data, MOST)]
        if postings.appended is not None:
            old = postings.appended
            before: list[Array] = [old.terms, old.places, old.counts]
            columns = [np.concatenate(pair) for pair in zip(before, columns, strict=True)]
        terms, places, counts = columns
        order, size = np.lexsort((places, terms)), len(lexicon.columns)
        starts = np.concatenate([[0], np.cumsum(np.bincount(terms, minlength=size))])
        own = Entries(starts, places[order].astype(np.int32), counts[order].astype(np.uint16))
        self.arrays.update(own.arrays(prefix))
        end = postings.posting_starts[-1:]
        self.rows[f"{prefix}posting_starts"] = np.repeat(end, size - len(postings))
        if prefix != PASSAGE:
            self.rows[f"{prefix}lexicon_columns"] = lexicon.columns[len(postings) :]

    def _sequences(self, before: Sequences | None, tokens: Sequence[str], prefix: str) -> None:
        """Append the tokens of units in order."""
        if before is not None:
            writer = SequenceWriter(self.lexicon.numbers)
            writer.add(tokens)
            starts, terms = writer.finish().starts[1:], writer.finish().terms
            self.rows.update(Sequences(starts + before.starts[-1], terms).arrays(prefix))

    def _twins(self, fresh: PackedRows) -> None:
        """Let the new documents join groups; only documents with one of their keys are compared."""
        n, before, terms = self.n, self.index.document_terms, self.rows["strongest_terms"]
        new = twin_keys(terms)
        keys = np.concatenate([self.index.twin_keys, new])
        some = holders_of_keys(keys, new)
        old, late = some[some < n], some[some >= n] - n
        distinct = [before.distinct_terms[old], self.rows["distinct_terms"][late]]
        strongest = np.concatenate([before.strongest_terms[old], terms[late]])
        compared = DocumentTerms(
            np.concatenate(distinct), strongest, np.empty((len(some), 0), np.uint16)
        )

        def vectors_at(numbers: Whole) -> NDArray[np.float32]:
            rows = some[numbers]
            vectors = np.empty((len(rows), fresh.shape[1]), np.float32)
            vectors[rows < n] = self.index.packed_vectors.at(rows[rows < n])
            vectors[rows >= n] = fresh.at(rows[rows >= n] - n)
            return vectors

        pairs = some[twin_pairs(keys[some], compared, vectors_at)]
        leaders = np.concatenate([self.index.twins, np.arange(n, len(keys), dtype=np.int32)])
        self.arrays["twins"] = joined_groups(leaders, pairs)
        if "twin_keys" in self.index.arrays:
            self.rows["twin_keys"] = new
        else:  # written by an earlier version
            self.arrays["twin_keys"] = keys
