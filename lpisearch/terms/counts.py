"""Count terms in one pass without keeping all texts in memory.

In go shards of texts as the tokeniser joined them, out comes a `csr_array` with documents as ROWS
(the papers write them as columns) and terms as columns: int32 indices, sorted in each row, no
duplicates, float32 counts. A document without a known word is a row without entries.

Columns keep the order in which terms first appear. So the columns of a shard need not be sorted
again once the vocabulary is known, and frequent terms lie close together in memory.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, repeat
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse import csr_array

    from lpisearch.terms.vocabulary import Vocabulary

    FindColumns = Callable[[Iterable[str]], Iterable[int]]

# Documents that are sorted together: few enough for their tokens to stay in the processor's cache.
BLOCK = 256


@dataclass(frozen=True, eq=False, slots=True)
class Counts:
    """How often each term occurs in each document.

    Attributes
    ----------
    matrix
        Documents as rows, terms as columns, float32.
    lengths
        The number of tokens of each document, unknown ones too (int32).
    """

    matrix: csr_array
    lengths: NDArray[np.int32]


def count_all_terms(
    shards: Iterable[Sequence[str]], known: Iterable[str] = ()
) -> tuple[tuple[str, ...], Counts]:
    """Count every term: the known ones in their order, then the others as they come."""
    numbered = {term: column for column, term in enumerate(known)}
    # A new term gets the next column.
    columns: dict[str, int] = defaultdict(count(len(numbered)).__next__, numbered)
    table = _Table.of(shards, partial(map, columns.__getitem__))
    return tuple(columns), table.keep_columns(np.ones(len(columns), np.bool_))


class TermNumbers:
    """Numbers terms in the order of their first appearance, and counts them block by block."""

    def __init__(self) -> None:
        self._columns: dict[str, int] = defaultdict(count(0).__next__)

    def count(self, texts: Sequence[str]) -> Counts:
        """Count the terms of some documents; there are as many columns as terms by now."""
        table = _Table.of([texts], partial(map, self._columns.__getitem__))
        return table.keep_columns(np.ones(len(self._columns), np.bool_))

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms that were seen, in their order."""
        return tuple(self._columns)


def narrow(counts: csr_array, stays: NDArray[np.bool_]) -> csr_array:
    """Return the columns that stay, moved together in their order."""
    from scipy.sparse import csr_array

    kept = stays[counts.indices]
    indptr = _total_before(kept)[counts.indptr].astype(counts.indptr.dtype)
    columns = (np.cumsum(stays) - 1).astype(counts.indices.dtype)
    data = (counts.data[kept], columns[counts.indices[kept]], indptr)
    matrix = csr_array(data, shape=(counts.shape[0], int(np.count_nonzero(stays))))
    matrix.has_canonical_format = True
    return matrix


def count_terms(shards: Iterable[Sequence[str]], vocabulary: Vocabulary) -> Counts:
    """Count the terms of a vocabulary in documents that may be new to it."""
    unknown = len(vocabulary)
    known = vocabulary.index.get
    table = _Table.of(shards, lambda tokens: map(known, tokens, repeat(unknown)))
    return table.keep_columns(np.append(np.ones(unknown, np.bool_), False))


@dataclass(slots=True)
class _Table:
    """The entries of a growing matrix, row after row, in memory that grows in place."""

    columns: array[int] = field(default_factory=lambda: array("i"))
    counts: array[float] = field(default_factory=lambda: array("f"))
    row_sizes: array[int] = field(default_factory=lambda: array("i"))
    tokens: array[int] = field(default_factory=lambda: array("i"))

    @classmethod
    def of(cls, shards: Iterable[Sequence[str]], find: FindColumns) -> _Table:
        table = cls()
        for shard in shards:
            for start in range(0, len(shard), BLOCK):
                table.append(shard[start : start + BLOCK], find)
        return table

    @property
    def indices(self) -> NDArray[np.int32]:
        return np.frombuffer(self.columns, np.int32)

    @property
    def lengths(self) -> NDArray[np.int32]:
        return np.frombuffer(self.tokens, np.int32)

    def append(self, texts: Sequence[str], find: FindColumns) -> None:
        """Add a row for each text."""
        lengths: list[int] = []

        def split() -> Iterator[list[str]]:  # one text at a time: a list of all is slower
            for text in texts:
                tokens = text.split()
                lengths.append(len(tokens))
                yield tokens

        keys = np.fromiter(find(chain.from_iterable(split())), np.int64)
        # Row and column in one number: one sort brings equal ones together, rows in order.
        keys += np.repeat(np.arange(len(texts), dtype=np.int64) << 32, lengths)
        keys.sort()
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        keys_once = keys[firsts]
        sizes = np.bincount(keys_once >> 32, minlength=len(texts))
        self.columns.frombytes(keys_once.astype(np.int32).tobytes())
        self.counts.frombytes(np.diff(firsts, append=len(keys)).astype(np.float32).tobytes())
        self.row_sizes.frombytes(sizes.astype(np.int32).tobytes())
        self.tokens.extend(lengths)

    def keep_columns(self, stays: NDArray[np.bool_]) -> Counts:
        """Return the matrix of the columns that stay, moved together in their order."""
        from scipy.sparse import csr_array

        kept = stays[self.indices]
        row_starts = _total_before(np.frombuffer(self.row_sizes, np.int32))
        indptr = _total_before(kept)[row_starts]
        new_columns = np.cumsum(stays, dtype=np.int32) - 1
        pointer: DTypeLike = np.int32 if indptr[-1] <= np.iinfo(np.int32).max else np.int64
        indices = new_columns[self.indices[kept]].astype(pointer, copy=False)
        counts = np.frombuffer(self.counts, np.float32)[kept]
        shape = (len(self.lengths), int(np.count_nonzero(stays)))
        matrix = csr_array((counts, indices, indptr.astype(pointer)), shape=shape)
        matrix.has_canonical_format = True
        return Counts(matrix, self.lengths.copy())


def _total_before(values: NDArray[np.integer] | NDArray[np.bool_]) -> NDArray[np.int64]:
    totals = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=totals[1:])
    return totals
