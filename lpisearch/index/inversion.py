"""Tokens to counts, counts to postings.

Each block of documents is sorted by term; then the entries of some terms at a time are merged from
all blocks and written to their final offsets. Workers read and write the files themselves: no entry
passes through the main process.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.errors import NothingToIndex
from lpisearch.index.checkpoint import StepOutput, StepResult
from lpisearch.index.positions import SEQUENCE_STARTS, SEQUENCE_TERMS, SequenceWriter
from lpisearch.index.postings import (
    MOST,
    NO_COLUMN,
    STRONGEST,
    half_saturation,
    inverse_frequency,
    lexicon_arrays,
    strongest_of_rows,
)
from lpisearch.messages import Message, call
from lpisearch.numeric.row_blocks import BLOCK_ROWS, DerivedBlocks, map_blocks, map_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.model.documents import TokenShard
    from lpisearch.numeric.row_blocks import Part, RowBlocks, RowTarget
    from lpisearch.text.boilerplate import EdgeCounts, Edges
    from lpisearch.text.vocabulary import Vocabulary, Weighting

    Array = NDArray[Any]


_LARGEST = np.iinfo(np.uint16).max
_AT_ONCE = 2_000_000  # entries merged at a time
_TEMPORARY = ("sorted_terms", "sorted_places", "sorted_counts")


def invert(counted: Counted, columns: Mapping[str, int], output: StepOutput) -> StepResult:
    """Write the arrays of `Postings` and of `DocumentTerms`; `columns` maps terms to columns."""
    terms = counted.terms
    order = sorted(range(len(terms)), key=terms.__getitem__)
    names = [terms[column] for column in order]
    numbers = np.empty(len(terms), np.int32)
    numbers[order] = np.arange(len(terms), dtype=np.int32)
    lexicon = lexicon_arrays(names, columns)
    for name, values in lexicon.items():
        output.put(name, values)
    starts = np.zeros(len(terms) + 1, np.int64)
    np.cumsum(counted.frequencies[order], out=starts[1:])
    output.put("posting_starts", starts)
    output.put("document_lengths", counted.lengths)
    _invert(counted, numbers, starts, output)
    has_column = lexicon["lexicon_columns"] != NO_COLUMN
    _strongest(counted, numbers, starts, has_column, output)
    return StepResult()


def _invert(
    counted: Counted, numbers: NDArray[np.int32], starts: NDArray[np.int64], output: StepOutput
) -> None:
    """Write the entries of each term, documents ascending."""
    total = (int(starts[-1]),)
    sizes = list(map_blocks(_entries, counted.rows))
    bounds = np.append(0, np.cumsum(sizes, dtype=np.int64))
    kinds = (np.int32, np.int32, np.uint16)
    terms, places, counts = (
        output.target(name, total, kind) for name, kind in zip(_TEMPORARY, kinds, strict=True)
    )
    entries = _SortedEntries(terms, places, counts, bounds)
    parts = zip(counted.rows.parts(), bounds[:-1].tolist(), strict=True)
    list(map_parts(_Sort(numbers, entries), parts))
    merge = _Merge(
        entries,
        output.target("posting_places", total, np.int32),
        output.target("posting_counts", total, np.uint16),
    )
    list(map_parts(merge, _term_ranges(starts)))
    for name in _TEMPORARY:
        output.drop(name)


def _entries(block: csr_array, start: int) -> int:
    del start
    return int(block.nnz)


@dataclass(frozen=True, eq=False, slots=True)
class _SortedEntries:
    """The entries of each block, sorted by term: those of block i from bounds[i] to bounds[i + 1].

    An entry is a term (by its number in the postings), a document and a count.
    """

    terms: RowTarget
    places: RowTarget
    counts: RowTarget
    bounds: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class _Sort:
    """Writes the entries of a block, sorted by term."""

    numbers: NDArray[np.int32]
    into: _SortedEntries

    def __call__(self, block: tuple[Part, int]) -> None:
        part, at = block
        by_term = _numbered(part.rows(), self.numbers).tocsc()
        by_term.sort_indices()
        terms = np.arange(by_term.shape[1], dtype=np.int32)
        self.into.terms.write(at, np.repeat(terms, np.diff(by_term.indptr)))
        self.into.places.write(at, (by_term.indices + part.start).astype(np.int32))
        self.into.counts.write(at, np.minimum(by_term.data, MOST).astype(np.uint16))


@dataclass(frozen=True, eq=False, slots=True)
class _TermRange:
    """Consecutive terms."""

    first: int
    starts: NDArray[np.int64]  # of the entries of each in the postings, and the end of the last


def _term_ranges(starts: NDArray[np.int64]) -> Iterator[_TermRange]:
    """Divide the terms so that each range has about `_AT_ONCE` entries."""
    at = np.searchsorted(starts[:-1], np.arange(0, starts[-1], _AT_ONCE))
    for first, last in pairwise(np.unique([0, *at, len(starts) - 1]).tolist()):
        yield _TermRange(first, starts[first : last + 1])


@dataclass(frozen=True, eq=False, slots=True)
class _Merge:
    """Writes the postings of a range of terms: their entries of each block in turn."""

    of_blocks: _SortedEntries
    places: RowTarget
    counts: RowTarget

    def __call__(self, terms_range: _TermRange) -> None:
        begin, end = terms_range.starts[[0, -1]].tolist()
        places, counts = np.empty(end - begin, np.int32), np.empty(end - begin, np.uint16)
        free = terms_range.starts[:-1] - begin
        for terms, some_places, some_counts in self._entries(terms_range):
            heads = np.flatnonzero(np.diff(terms, prepend=-1))
            sizes = np.diff(heads, append=len(terms))
            into = np.repeat(free[terms[heads]] - heads, sizes) + np.arange(len(terms))
            places[into], counts[into] = some_places, some_counts
            free[terms[heads]] += sizes
        self.places.write(begin, places)
        self.counts.write(begin, counts)

    def _entries(self, terms_range: _TermRange) -> Iterator[tuple[Array, Array, Array]]:
        """Yield the entries of these terms in each block; terms count from the first one."""
        of = self.of_blocks
        targets = (of.terms, of.places, of.counts)
        terms, places, counts = (target.array().view(np.ndarray) for target in targets)
        first = terms_range.first
        ends = np.array([first, first + len(terms_range.starts) - 1], terms.dtype)
        for low, high in pairwise(of.bounds.tolist()):
            own = slice(*(low + np.searchsorted(terms[low:high], ends)).tolist())
            yield terms[own] - ends[0], places[own], counts[own]


def _strongest(
    counted: Counted,
    numbers: NDArray[np.int32],
    starts: NDArray[np.int64],
    has_column: NDArray[np.bool_],
    output: StepOutput,
) -> None:
    """Write the strongest terms of each document, and its number of terms with a column."""
    n = len(counted.lengths)
    work = _Strongest(
        numbers,
        has_column,
        half_saturation(np.asarray(counted.lengths)),
        inverse_frequency(np.diff(starts), n),
        output.target("distinct_terms", (n,), np.int32),
        output.target("strongest_terms", (n, STRONGEST), np.int32),
        output.target("strongest_counts", (n, STRONGEST), np.uint16),
    )
    list(map_blocks(work, counted.rows))


@dataclass(frozen=True, eq=False, slots=True)
class _Strongest:
    numbers: NDArray[np.int32]
    has_column: NDArray[np.bool_]
    half: NDArray[np.float32]
    idf: NDArray[np.float32]
    distinct: RowTarget
    terms: RowTarget
    counts: RowTarget

    def __call__(self, block: csr_array, start: int) -> None:
        counts = _numbered(block, self.numbers)
        counts.data = np.minimum(counts.data, _LARGEST)
        counts.sort_indices()
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        known = self.has_column[counts.indices]
        distinct = np.bincount(rows[known], minlength=counts.shape[0]).astype(np.int32)
        half = self.half[start : start + counts.shape[0]]
        terms, most = strongest_of_rows(counts, half, self.idf)
        self.distinct.write(start, distinct)
        self.terms.write(start, terms)
        self.counts.write(start, most)


def _numbered(block: csr_array, numbers: NDArray[np.int32]) -> csr_array:
    """Return a copy of counts, by the numbers of terms in the postings."""
    from scipy.sparse import csr_array

    parts = (block.data.copy(), numbers[block.indices], block.indptr)
    numbered: csr_array = csr_array(parts, shape=block.shape, copy=False)
    return numbered


HASH_BYTES = 16


@dataclass(frozen=True, eq=False, slots=True)
class Counted:
    """All documents as counts of terms: documents are rows here, columns in the papers."""

    terms: tuple[str, ...]  # the columns of `rows`, in the order of first appearance
    rows: RowBlocks
    frequencies: NDArray[np.int32]  # number of documents with each term
    factors: NDArray[np.float32]  # of each term: below 1 for boilerplate
    lengths: NDArray[np.int32]  # tokens of each document
    keys: NDArray[np.int64]
    hashes: NDArray[np.uint8]  # content hashes: documents x bytes

    @classmethod
    def from_step(cls, step: StepResult) -> Counted:
        """Return the result of `count_tokens`."""
        if step.rows is None:
            raise ValueError("This step has no rows.")
        arrays = step.arrays
        terms = tuple(arrays["all_terms"].tobytes().decode().split())
        names = ("all_frequencies", "all_factors", "lengths", "document_rows", "content_hashes")
        frequencies, factors, lengths, keys, hashes = (arrays[name] for name in names)
        return cls(terms, step.rows, frequencies, factors, lengths, keys, hashes)

    @property
    def words(self) -> int:
        """Number of tokens."""
        return int(self.lengths.sum(dtype=np.int64))

    def vocabulary(self) -> tuple[Vocabulary, NDArray[np.bool_]]:
        """Choose the terms that become columns; return also the mask of all terms."""
        from lpisearch.text.vocabulary import Vocabulary

        n_documents = len(self.keys)
        vocabulary, stays = Vocabulary.choose_by(self.terms, self.frequencies, n_documents)
        if not len(vocabulary):
            raise NothingToIndex(
                f"None of the {n_documents:,} documents contains words to index.",
                Message(call("entries"), "  (is the language right? ", call("status"), ")"),
            )
        return vocabulary, stays

    def known_words(self, stays: NDArray[np.bool_]) -> int:
        """Return the number of tokens that have a column."""
        return int(sum(map_blocks(_KnownWords(stays), self.rows)))

    def weighted(self, stays: NDArray[np.bool_], weighting: Weighting) -> RowBlocks:
        """Return lazy rows of weights of the terms with a column, at unit length."""
        return DerivedBlocks(self.rows, _Weigh(stays, weighting), int(np.count_nonzero(stays)))


def count_tokens(shards: Iterable[TokenShard], output: StepOutput) -> StepResult:
    """Count the terms of all documents, a block at a time; `shards` are read once."""
    from lpisearch.text.boilerplate import Edges
    from lpisearch.text.vocabulary import TermNumbers

    numbers, edges, writer = TermNumbers(), Edges(), output.rows()
    keys, hashes, lengths = array("q"), bytearray(), array("i")
    for texts in _blocks(shards, edges, keys, hashes):
        counts = numbers.count(texts)
        writer.add(counts.matrix)
        lengths.frombytes(counts.lengths.tobytes())
    terms = numbers.terms
    rows = writer.finish(len(terms))
    frequencies = np.zeros(len(terms), np.int32)
    for of_block in map_blocks(_document_frequencies, rows):
        frequencies += of_block
    documents = CountedDocuments(
        np.array(keys, np.int64),
        np.frombuffer(bytes(hashes), np.uint8).reshape(-1, HASH_BYTES),
        np.array(lengths, np.int32),
    )
    return write_counted(
        output, rows, CountedTerms(terms, frequencies, edges.of_terms(terms)), documents
    )


class CountedTerms(NamedTuple):
    """All terms in order, their document frequencies, and counts at the edges of documents."""

    terms: Sequence[str]
    frequencies: NDArray[np.int32]
    edges: EdgeCounts


class CountedDocuments(NamedTuple):
    """Key, content hash and number of tokens of each document."""

    keys: NDArray[np.int64]
    hashes: NDArray[np.uint8]
    lengths: NDArray[np.int32]


def write_counted(
    output: StepOutput, rows: RowBlocks, terms: CountedTerms, documents: CountedDocuments
) -> StepResult:
    """Write the arrays that `Counted.from_step` reads."""
    output.put("all_terms", np.frombuffer("\n".join(terms.terms).encode(), np.uint8))
    output.put("all_frequencies", terms.frequencies)
    output.put("all_factors", terms.edges.factors(rows))
    output.put("lengths", documents.lengths)
    output.put("document_rows", documents.keys)
    output.put("content_hashes", documents.hashes)
    return StepResult(rows=rows)


def _blocks(
    shards: Iterable[TokenShard], edges: Edges, keys: array[int], hashes: bytearray
) -> Iterator[Sequence[str]]:
    """Yield the tokens of a block of documents at a time; collect their keys and hashes."""
    texts: list[str] = []
    for shard in shards:
        keys.extend(shard.keys)
        hashes += b"".join(shard.hashes)
        texts += next(edges.watch([shard.tokens]))
        while len(texts) >= BLOCK_ROWS:
            yield texts[:BLOCK_ROWS]
            texts = texts[BLOCK_ROWS:]
    if texts:
        yield texts


def _document_frequencies(block: csr_array, start: int) -> NDArray[np.int32]:
    del start
    return np.bincount(block.indices, minlength=block.shape[1]).astype(np.int32)


@dataclass(frozen=True, eq=False, slots=True)
class _KnownWords:
    stays: NDArray[np.bool_]

    def __call__(self, block: csr_array, start: int) -> float:
        del start
        return float(block.data[self.stays[block.indices]].sum(dtype=float))


@dataclass(frozen=True, eq=False, slots=True)
class _Weigh:
    """Turns counts of all terms into weights of those with a column, rows at unit length."""

    stays: NDArray[np.bool_]
    weighting: Weighting

    def __call__(self, block: csr_array) -> csr_array:
        from lpisearch.text.vocabulary import narrow, normalise_rows

        return normalise_rows(self.weighting.apply(narrow(block, self.stays)))


def write_sequences(
    batches: Iterable[tuple[int, list[str]]],
    numbers: Mapping[str, int],
    lengths: NDArray[np.integer],
    output: StepOutput,
) -> None:
    """Write the sequences of documents of the given lengths; those of length 0 have none.

    Each batch is the first of consecutive documents, and the joined tokens of those with a length.
    """
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    output.put(SEQUENCE_STARTS, starts)
    target = output.target(SEQUENCE_TERMS, (int(starts[-1]),), np.int32)
    for first, texts in batches:
        writer = SequenceWriter(numbers)
        writer.add(texts)
        target.write(int(starts[first]), writer.finish().terms)
