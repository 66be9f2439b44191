"""Counts of documents turned around into postings, block by block, and what documents say most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.row_blocks import map_blocks
from lpisearch.indexes.postings import MOST, NO_COLUMN, lexicon_arrays
from lpisearch.indexes.scoring.bm25 import half_saturation, inverse_frequency
from lpisearch.indexes.scoring.document_terms import STRONGEST, strongest_of_rows
from lpisearch.indexes.workspace import Kept, let_go

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.indexes.counting import Counted
    from lpisearch.indexes.workspace import Room

    Array = NDArray[Any]

# Blocks after which pages that were written are given back to the system.
_LET_GO_AFTER = 16


def turn_around(counted: Counted, columns: Mapping[str, int], room: Room) -> Kept:
    """Write the arrays of `Postings` and of `DocumentTerms`.

    Parameters
    ----------
    counted
        The documents.
    columns
        Term → column in the subspace.
    room
        Where they are put.
    """
    terms = counted.terms
    order = sorted(range(len(terms)), key=terms.__getitem__)
    names = [terms[column] for column in order]
    numbers = np.empty(len(terms), np.int32)
    numbers[order] = np.arange(len(terms), dtype=np.int32)
    lexicon = lexicon_arrays(names, columns)
    for name, array in lexicon.items():
        room.put(name, array)
    starts = np.zeros(len(terms) + 1, np.int64)
    np.cumsum(counted.frequencies[order], out=starts[1:])
    room.put("posting_starts", starts)
    room.put("document_lengths", counted.lengths)
    _scatter(counted, numbers, starts, room)
    has_column = lexicon["lexicon_columns"] != NO_COLUMN
    _strongest(counted, numbers, starts, has_column, room)
    return Kept()


def _scatter(
    counted: Counted, numbers: NDArray[np.int32], starts: NDArray[np.int64], room: Room
) -> None:
    """Write every entry to the next free place of its term: documents of a term ascend."""
    total = int(starts[-1])
    places = room.empty("posting_places", (total,), np.int32)
    counts = room.empty("posting_counts", (total,), np.uint16)
    free = starts[:-1].copy()
    for at, part in enumerate(map_blocks(_ByTerm(numbers), counted.rows)):
        into = np.repeat(free[part.terms] - part.starts[:-1], np.diff(part.starts))
        into += np.arange(part.starts[-1])
        places[into], counts[into] = part.documents, part.counts
        free[part.terms] += np.diff(part.starts)
        if at % _LET_GO_AFTER == _LET_GO_AFTER - 1:
            let_go(places)
            let_go(counts)


@dataclass(frozen=True, eq=False, slots=True)
class _Entries:
    """The entries of a block by term: those of `terms[i]` are from starts[i] to starts[i + 1]."""

    terms: NDArray[np.integer[Any]]
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    counts: NDArray[np.uint16]


@dataclass(frozen=True, eq=False, slots=True)
class _ByTerm:
    numbers: NDArray[np.int32]

    def __call__(self, block: csr_array, start: int) -> _Entries:
        by_term = _numbered(block, self.numbers).tocsc()
        by_term.sort_indices()
        sizes = np.diff(by_term.indptr)
        terms = np.flatnonzero(sizes)
        starts = np.append(0, np.cumsum(sizes[terms], dtype=np.int64))
        counts = np.minimum(by_term.data, MOST).astype(np.uint16)
        return _Entries(terms, starts, (by_term.indices + start).astype(np.int32), counts)


def _strongest(
    counted: Counted,
    numbers: NDArray[np.int32],
    starts: NDArray[np.int64],
    has_column: NDArray[np.bool_],
    room: Room,
) -> None:
    """Write what each document says most, and of how many terms its place is made."""
    n = len(counted.lengths)
    work = _Strongest(
        numbers,
        has_column,
        half_saturation(np.asarray(counted.lengths)),
        inverse_frequency(np.diff(starts), n),
    )
    distinct = np.empty(n, np.int32)
    terms = room.empty("strongest_terms", (n, STRONGEST), np.int32)
    counts = room.empty("strongest_counts", (n, STRONGEST), np.uint16)
    at = 0
    for of_block in map_blocks(work, counted.rows):
        rows = slice(at, at + len(of_block[0]))
        distinct[rows], terms[rows], counts[rows] = of_block
        at = rows.stop
    room.put("distinct_terms", distinct)


@dataclass(frozen=True, eq=False, slots=True)
class _Strongest:
    numbers: NDArray[np.int32]
    has_column: NDArray[np.bool_]
    half: NDArray[np.float32]
    idf: NDArray[np.float32]

    def __call__(self, block: csr_array, start: int) -> tuple[Array, Array, Array]:
        counts = _numbered(block, self.numbers)
        counts.data = np.minimum(counts.data, MOST)
        counts.sort_indices()
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        known = self.has_column[counts.indices]
        distinct = np.bincount(rows[known], minlength=counts.shape[0]).astype(np.int32)
        half = self.half[start : start + counts.shape[0]]
        return distinct, *strongest_of_rows(counts, half, self.idf)


def _numbered(block: csr_array, numbers: NDArray[np.int32]) -> csr_array:
    """Return counts by the numbers of terms in the postings: a copy."""
    from scipy.sparse import csr_array

    parts = (block.data.copy(), numbers[block.indices], block.indptr)
    found: csr_array = csr_array(parts, shape=block.shape, copy=False)
    return found
