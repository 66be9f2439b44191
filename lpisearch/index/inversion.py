"""Tokens to counts, counts to postings.

Each block is sorted by term for itself; then the entries of some terms at a time are joined from
all blocks, and written where they belong. Whoever works reads and writes them: none passes through
the process that builds.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.errors import NothingToIndex
from lpisearch.index.checkpoint import StepResult
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
from lpisearch.numeric.executor import map_parts
from lpisearch.numeric.row_blocks import BLOCK_ROWS, DerivedBlocks, map_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.index.checkpoint import StepOutput
    from lpisearch.model.documents import TokenShard
    from lpisearch.numeric.row_blocks import Part, RowBlocks, RowTarget
    from lpisearch.text.boilerplate import EdgeCounts, Edges
    from lpisearch.text.vocabulary import Vocabulary
    from lpisearch.text.weighting import Weighting

    Array = NDArray[Any]


# Entries that are joined at a time.
_AT_ONCE = 2_000_000
_ON_THE_WAY = ("sorted_terms", "sorted_places", "sorted_counts")


def invert(counted: Counted, columns: Mapping[str, int], output: StepOutput) -> StepResult:
    """Write the arrays of `Postings` and of `DocumentTerms`."""
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
    """Write the entries of each term: documents of a term ascend."""
    total = (int(starts[-1]),)
    sizes = list(map_blocks(_entries, counted.rows))
    bounds = np.append(0, np.cumsum(sizes, dtype=np.int64))
    kinds = (np.int32, np.int32, np.uint16)
    terms, places, counts = (
        output.target(name, total, kind) for name, kind in zip(_ON_THE_WAY, kinds, strict=True)
    )
    in_order = _Sorted(terms, places, counts, bounds)
    for _ in map_parts(
        _Sort(numbers, in_order), zip(counted.rows.parts(), bounds[:-1].tolist(), strict=True)
    ):
        pass
    join = _Join(
        in_order,
        output.target("posting_places", total, np.int32),
        output.target("posting_counts", total, np.uint16),
    )
    for _ in map_parts(join, _stretches(starts)):
        pass
    for name in _ON_THE_WAY:
        output.drop(name)


def _entries(block: csr_array, start: int) -> int:
    del start
    return int(block.nnz)


@dataclass(frozen=True, eq=False, slots=True)
class _Sorted:
    """The entries of each block, sorted by term: those of block i from bounds[i] to bounds[i + 1].

    Attributes
    ----------
    terms, places, counts
        Of each entry: the number of its term in the postings, its document, and how often.
    bounds
        Where the entries of each block begin, and where all end.
    """

    terms: RowTarget
    places: RowTarget
    counts: RowTarget
    bounds: NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class _Sort:
    """Writes the entries of a block, sorted by term."""

    numbers: NDArray[np.int32]
    into: _Sorted

    def __call__(self, given: tuple[Part, int]) -> None:
        part, at = given
        by_term = _numbered(part.rows(), self.numbers).tocsc()
        by_term.sort_indices()
        terms = np.arange(by_term.shape[1], dtype=np.int32)
        self.into.terms.write(at, np.repeat(terms, np.diff(by_term.indptr)))
        self.into.places.write(at, (by_term.indices + part.start).astype(np.int32))
        self.into.counts.write(at, np.minimum(by_term.data, MOST).astype(np.uint16))


@dataclass(frozen=True, eq=False, slots=True)
class _Stretch:
    """Some terms in a row.

    Attributes
    ----------
    first
        The number of the first one.
    starts
        Where the entries of each begin in the postings, and where those of all of them end.
    """

    first: int
    starts: NDArray[np.int64]


def _stretches(starts: NDArray[np.int64]) -> Iterator[_Stretch]:
    """Cut the terms so that about so many entries are joined at a time."""
    at = np.searchsorted(starts[:-1], np.arange(0, starts[-1], _AT_ONCE))
    for first, last in pairwise(np.unique([0, *at, len(starts) - 1]).tolist()):
        yield _Stretch(first, starts[first : last + 1])


@dataclass(frozen=True, eq=False, slots=True)
class _Join:
    """Writes the postings of some terms: their entries of each block in turn."""

    of_blocks: _Sorted
    places: RowTarget
    counts: RowTarget

    def __call__(self, stretch: _Stretch) -> None:
        begin, end = stretch.starts[[0, -1]].tolist()
        places, counts = np.empty(end - begin, np.int32), np.empty(end - begin, np.uint16)
        free = stretch.starts[:-1] - begin
        for terms, some_places, some_counts in self._of_each_block(stretch):
            heads = np.flatnonzero(np.diff(terms, prepend=-1))
            sizes = np.diff(heads, append=len(terms))
            into = np.repeat(free[terms[heads]] - heads, sizes) + np.arange(len(terms))
            places[into], counts[into] = some_places, some_counts
            free[terms[heads]] += sizes
        self.places.write(begin, places)
        self.counts.write(begin, counts)

    def _of_each_block(self, stretch: _Stretch) -> Iterator[tuple[Array, Array, Array]]:
        """Give the entries of these terms in each block; terms count from the first one."""
        of = self.of_blocks
        every = (of.terms, of.places, of.counts)
        terms, places, counts = (each.array().view(np.ndarray) for each in every)
        ends = np.array([stretch.first, stretch.first + len(stretch.starts) - 1], terms.dtype)
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
    """Write what each document says most, and of how many terms its place is made."""
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
    for _ in map_blocks(work, counted.rows):
        pass


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
        counts.data = np.minimum(counts.data, MOST)
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
    """Return counts by the numbers of terms in the postings: a copy."""
    from scipy.sparse import csr_array

    parts = (block.data.copy(), numbers[block.indices], block.indptr)
    found: csr_array = csr_array(parts, shape=block.shape, copy=False)
    return found


HASH_BYTES = 16


@dataclass(frozen=True, eq=False, slots=True)
class Counted:
    """All documents as counts of terms.

    Attributes
    ----------
    terms
        All of them, in the order of their first appearance: the columns of `rows`.
    rows
        Documents as rows (the papers write them as columns).
    frequencies
        In how many documents each term is.
    factors
        Of each term: below 1 for boilerplate.
    lengths
        The number of tokens of each document.
    keys, hashes
        Of each document: its key in the store, and its content hash (documents x bytes).
    """

    terms: tuple[str, ...]
    rows: RowBlocks
    frequencies: NDArray[np.int32]
    factors: NDArray[np.float32]
    lengths: NDArray[np.int32]
    keys: NDArray[np.int64]
    hashes: NDArray[np.uint8]

    @classmethod
    def from_step(cls, kept: StepResult) -> Counted:
        """Take what `count_tokens` gave."""
        if kept.rows is None:
            raise ValueError("This step has no rows.")
        arrays = kept.arrays
        terms = tuple(arrays["all_terms"].tobytes().decode().split())
        named = ("all_frequencies", "all_factors", "lengths", "document_rows", "content_hashes")
        frequencies, factors, lengths, keys, hashes = (arrays[name] for name in named)
        return cls(terms, kept.rows, frequencies, factors, lengths, keys, hashes)

    @property
    def words(self) -> int:
        """How many tokens there are."""
        return int(self.lengths.sum(dtype=np.int64))

    def vocabulary(self) -> tuple[Vocabulary, NDArray[np.bool_]]:
        """Choose the terms that become columns; return also which those are."""
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
        """Return how many tokens have a column."""
        return int(sum(map_blocks(_KnownWords(stays), self.rows)))

    def weighed(self, stays: NDArray[np.bool_], weighting: Weighting) -> RowBlocks:
        """Return the weights of the terms with a column, rows at unit length, as they are read."""
        return DerivedBlocks(self.rows, _Weigh(stays, weighting), int(np.count_nonzero(stays)))


def count_tokens(shards: Iterable[TokenShard], output: StepOutput) -> StepResult:
    """Count the terms of all documents, a block at a time."""
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
    for found in map_blocks(_document_frequencies, rows):
        frequencies += found
    documents = CountedDocuments(
        np.array(keys, np.int64),
        np.frombuffer(bytes(hashes), np.uint8).reshape(-1, HASH_BYTES),
        np.array(lengths, np.int32),
    )
    return write_counted(
        output, rows, CountedTerms(terms, frequencies, edges.of_terms(terms)), documents
    )


class CountedTerms(NamedTuple):
    """All terms in their order, in how many documents each is, and what stands at edges."""

    terms: Sequence[str]
    frequencies: NDArray[np.int32]
    edges: EdgeCounts


class CountedDocuments(NamedTuple):
    """Of each document: its key, its content hash and the number of its tokens."""

    keys: NDArray[np.int64]
    hashes: NDArray[np.uint8]
    lengths: NDArray[np.int32]


def write_counted(
    output: StepOutput, rows: RowBlocks, terms: CountedTerms, documents: CountedDocuments
) -> StepResult:
    """Put what was counted where `Counted.from_step` finds it."""
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
    """Give the tokens of so many documents at a time as a block has; note whose they are."""
    texts: list[str] = []
    for shard in shards:
        keys.extend(shard.keys)
        for each in shard.hashes:
            hashes += each
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
    """Counts of all terms to weights of those with a column, rows at unit length."""

    stays: NDArray[np.bool_]
    weighting: Weighting

    def __call__(self, block: csr_array) -> csr_array:
        from lpisearch.text.vocabulary import narrow
        from lpisearch.text.weighting import normalise_rows

        return normalise_rows(self.weighting.apply(narrow(block, self.stays)))
