"""Append documents to an index and remove some, at the cost of these documents.

Most arrays have a row for each document, passage or term, so rows are written behind those of the
files, beyond what the present manifest names. What cannot be appended to is small, or is what was
appended so far: the entries of these documents in the postings, which are read next to those of the
others (see `Postings`).

The row of a document that was changed or deleted stays, with `REMOVED` for its key, and counts
nowhere. A changed one has a new row behind all others, so keys do not ascend any more.

Terms keep their numbers, and a new term has the next one. The strongest terms of passages that are
there already stay as they are, as those of documents do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.index.positions import FIELD, Sequences, SequenceWriter, read_fields
from lpisearch.index.postings import (
    APPENDED,
    LOST,
    MOST,
    NEW,
    NO_COLUMN,
    NO_TERM,
    NOTHING,
    DocumentTerms,
    Entries,
    half_saturation,
    inverse_frequency,
    strongest_of_rows,
)
from lpisearch.index.subspace import PASSAGE, TAKEN_IN, Passages, SubspaceIndex, cut_documents
from lpisearch.index.twins import holders_of_keys, joined_groups, twin_keys, twin_pairs
from lpisearch.numeric.row_files import release_pages
from lpisearch.numeric.rows import REMOVED, PackedRows, SparseRows, numbers_of
from lpisearch.text.spans import LONG_DOCUMENT
from lpisearch.text.spelling import Lines, count_written, with_spelled, with_written
from lpisearch.text.tokeniser import Tokenisers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.postings import Postings
    from lpisearch.storage.store import ReadTransaction

    Array = NDArray[Any]
    Whole = NDArray[np.int64]


APPEND_FROM = 10_000
"""The documents from which an index is appended to; a smaller one is rewritten, which is quick."""
_APPENDED_SHARE = 0.1  # of the documents, beyond which all are written together again
_READ_AT_ONCE = 1 << 22  # entries
_NEEDED = ("twins", "strongest_terms", "sequence_terms", "field_name_sizes", "written_words")


@dataclass(frozen=True, slots=True)
class Change:
    """What an update writes: whole arrays, and rows behind others; `gone` are not there any more.

    `passages` are all; `appended` and `removed` count the documents since the arrays were last
    written as a whole. `folded` is what the manifest has of the same name.
    """

    passages: int | None
    folded: dict[str, int]
    appended: int = 0
    removed: int = 0
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
        at = numbers_of(rows, index.document_rows)
        known = at >= 0
        known[known] = (index.content_hashes[at[known]] == content[known]).all(axis=1)
        return cls(rows, content, np.where(known, at, NEW))

    @property
    def fresh(self) -> Whole:
        """The keys of the documents that the index does not have as they are."""
        return self.rows[self.places < 0]

    def gone(self, index: SubspaceIndex) -> Whole:
        """Return the rows of an index whose documents have changed, or are not there any more."""
        stays = np.zeros(len(index.document_rows), np.bool_)
        stays[self.places[self.places >= 0]] = True
        stays[index.removed] = True
        return np.flatnonzero(~stays)


def can_append(index: SubspaceIndex, target: Target) -> bool:
    """Tell whether few documents came or went since all were written together."""
    before, fresh, manifest = index.document_rows, target.fresh, index.manifest
    removed = manifest.removed + len(target.gone(index))
    return (
        len(before) >= APPEND_FROM
        and max(manifest.appended + len(fresh), removed) <= _APPENDED_SHARE * len(before)
        and (removed > 0 or bool((fresh > before[-1]).all()))  # else keys ascend
        and manifest.passages is not None
        and all(name in index.arrays for name in _NEEDED)
    )


def append_documents(
    index: SubspaceIndex, target: Target, snapshot: ReadTransaction
) -> Change | None:
    """Append and remove documents; None if one is the first long enough to have passages."""
    n = len(index.document_rows)
    tokens = snapshot.documents.tokens(target.fresh.tolist())
    counted = _Counted.of(tokens)
    is_long = counted.lengths >= LONG_DOCUMENT
    if is_long.any() and index.passages is None:
        return None
    manifest, gone = index.manifest, target.gone(index)
    now = without(index, gone) if len(gone) else index
    lexicon = _Lexicon.of(now.postings, counted.names, now.vocabulary.index)
    addition = _Addition(now, target, snapshot, lexicon, gone)
    lexicon.write(addition.arrays, now.postings, "")
    addition.documents(counted, ["" if a else b for a, b in zip(is_long, tokens, strict=True)])
    passages = addition.passages(n + np.flatnonzero(is_long))
    addition.fields(passages)
    addition.words()
    totals = addition.rows["taken_in"].sum(axis=0, dtype=int)
    totals -= index.taken_in[gone].sum(axis=0, dtype=int)
    before = manifest.folded
    return Change(
        0 if now.passages is None else now.passages.postings.n_documents + len(passages or ()),
        {name: before[name] + more for name, more in zip(TAKEN_IN, totals.tolist(), strict=True)},
        manifest.appended + len(tokens),
        now.manifest.removed,
        addition.arrays,
        addition.rows,
    )


def without(index: SubspaceIndex, gone: Whole) -> SubspaceIndex:
    """Return an index of which some more rows are removed."""
    arrays, n, passages = dict(index.arrays), len(index.document_rows), index.passages
    arrays["document_rows"] = index.document_rows.copy()
    arrays["document_rows"][gone] = REMOVED
    own = NOTHING if passages is None else np.flatnonzero(np.isin(passages.owners, gone))
    every = {"": (index.postings, gone)}
    if passages is not None:
        every[PASSAGE] = (passages.postings, own)
    if index.fields is not None:
        every[FIELD] = (index.fields.postings, np.concatenate([gone, n + own]))
    for prefix, (postings, units) in every.items():
        arrays[f"{APPENDED}{prefix}{LOST}"] = _lost(postings, units)
    removed = index.manifest.removed + len(gone)
    return SubspaceIndex(replace(index.manifest, removed=removed), arrays)


def _lost(postings: Postings, units: Whole) -> NDArray[np.int32]:
    """Count the entries of each term in units that are removed now, or were before."""
    is_gone = np.zeros(len(postings.document_lengths), np.bool_)
    is_gone[units] = True
    lost = np.zeros(len(postings), np.int32)
    if postings.lost_frequencies is not None:
        lost += postings.lost_frequencies
    for starts, places, _ in postings.parts:
        for first in range(0, len(places), _READ_AT_ONCE):
            some = first + np.flatnonzero(is_gone[places[first : first + _READ_AT_ONCE]])
            np.add.at(lost, np.searchsorted(starts, some, "right") - 1, 1)
        release_pages(places)
    return lost


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
        numbers = {name: postings.number(name) for name in names}
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
    gone: Whole
    arrays: dict[str, Array] = field(default_factory=dict)
    rows: dict[str, Array] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of documents before."""
        return len(self.index.document_rows)

    @property
    def keys(self) -> list[int]:
        """The keys of the new documents."""
        return list(self.target.fresh.tolist())

    def documents(self, counted: _Counted, sequences: Sequence[str]) -> None:
        """Append documents, with the tokens in order of those that have no passages."""
        vectors = self._units(self.index.postings, counted, "")
        fresh = self._vectors(self.index.packed_vectors, vectors, "")
        has_column = self.lexicon.columns[self.lexicon.of_names(counted.names)] != NO_COLUMN
        counts = counted.rows.data * ~has_column[counted.rows.indices]
        unknown = np.bincount(counted.rows.row_numbers, counts, len(counted.lengths))
        taken_in = [np.ones_like(counted.lengths), counted.lengths, unknown.astype(np.int32)]
        self.rows["taken_in"] = np.column_stack(taken_in)
        if self.index.manifest.removed:
            before = self.index.document_rows
            self.arrays["document_rows"] = np.concatenate([before, self.target.fresh])
        else:
            self.rows["document_rows"] = self.target.fresh
        self.rows["content_hashes"] = self.target.hashes[self.target.places < 0]
        self._sequences(self.index.sequences, sequences, "")
        self._twins(fresh)

    def passages(self, long: Whole) -> Passages | None:
        """Append the passages of long documents, given by row, and return them."""
        before = self.index.passages
        if before is None:
            return None
        keys = self.target.fresh[long - self.n].tolist()
        tokeniser = Tokenisers().of(self.index.manifest.tokeniser)
        rows = dict(zip(keys, long.tolist(), strict=True))
        cut = list(cut_documents(self.snapshot, tokeniser, rows))
        tokens = [span.tokens for _, span in cut]
        own: dict[str, Any] = {
            "owners": np.array([row for row, _ in cut], np.int32),
            "spans": np.array([one[:2] for _, one in cut], np.int32).reshape(-1, 2),
        }
        self.rows.update({f"{PASSAGE}{name}": array for name, array in own.items()})
        vectors = self._units(before.postings, _Counted.of(tokens), PASSAGE)
        self._vectors(before.vectors, vectors, PASSAGE)
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
        if len(lengths) > n and k:  # the passages before are moved
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

    def _vectors(self, before: PackedRows, fresh: NDArray[np.float32], prefix: str) -> PackedRows:
        """Append vectors, packed as those before, and return them."""
        rows = before.packed_alike(fresh)
        self.rows.update(replace(rows, scales=None).arrays(f"{prefix}vector"))
        return rows

    def _units(self, postings: Postings, counted: _Counted, prefix: str) -> NDArray[np.float32]:
        """Append the words of documents or passages; return their vectors."""
        n, index = len(postings.document_lengths), self.index
        numbers = self.lexicon.of_names(counted.names)
        columns = np.where(numbers >= 0, self.lexicon.columns[numbers], NO_COLUMN).astype(np.int64)
        units = np.arange(n, n + len(counted.lengths))
        self._entries(postings, self.lexicon, counted, units, prefix)
        frequencies = np.bincount(counted.rows.indices, minlength=len(counted.names))
        before = (numbers >= 0) & (numbers < len(postings))
        frequencies[before] += postings.frequencies(numbers[before])
        n_documents = postings.n_documents + len(counted.lengths)
        total = round(postings.mean_length * postings.n_documents) + int(counted.lengths.sum())
        half = half_saturation(counted.lengths, total / max(n_documents, 1))
        idf = inverse_frequency(frequencies, n_documents)
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
        if postings.lost_frequencies is not None:
            lost = np.pad(postings.lost_frequencies, (0, size - len(postings)))
            self.arrays[f"{APPENDED}{prefix}{LOST}"] = lost
        if prefix != PASSAGE:
            self.rows[f"{prefix}lexicon_columns"] = lexicon.columns[len(postings) :]

    def _sequences(self, before: Sequences | None, tokens: Sequence[str], prefix: str) -> None:
        """Append the tokens of units in order."""
        if before is not None:
            writer = SequenceWriter(self.lexicon.numbers)
            writer.add(tokens)
            own, end = writer.finish(), int(before.starts[-1])
            own = before.coded_alike(Sequences(own.starts[1:] + end, own.terms), end)
            self.rows.update(replace(own, codes=None).arrays(prefix))

    def _twins(self, fresh: PackedRows) -> None:
        """Let the new documents join groups; only documents with one of their keys are compared.

        So are the groups that lose a document.
        """
        n, before, terms = self.n, self.index.document_terms, self.rows["strongest_terms"]
        new = twin_keys(terms)
        keys = np.concatenate([self.index.twin_keys, new])
        leaders = np.concatenate([self.index.twins, np.arange(n, len(keys), dtype=np.int32)])
        apart = np.flatnonzero(np.isin(leaders[:n], leaders[self.gone]))
        leaders[apart] = apart
        some = holders_of_keys(keys, np.concatenate([new, keys[apart]]))
        some = np.setdiff1d(some, self.index.removed, assume_unique=True)
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
        self.arrays["twins"] = joined_groups(leaders, pairs)
        if "twin_keys" in self.index.arrays:
            self.rows["twin_keys"] = new
        else:  # written by an earlier version
            self.arrays["twin_keys"] = keys
