"""Weighted documents as rows, one block at a time, in memory or on disk.

In: anything that keeps the contract `RowBlocks`: a matrix in memory (`InMemory`), or files on disk
(`lpisearch.compute.shards`). Out: products with blocks of columns, in one pass over the rows each,
which hold a few blocks and what they return. Sums are taken in the order of the rows: the bits
depend neither on threads nor on where the rows lie, but on the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from lpisearch.compute.spread import map_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Floats = NDArray[np.floating[Any]]

T = TypeVar("T")

# Columns that are multiplied together: they stay in the processor's cache.
PANEL = 40
BLOCK_ROWS = 8192


class Part(Protocol):
    """Some rows that follow each other: small, and to be read where it is worked on."""

    @property
    def start(self) -> int:
        """The number of its first row."""

    def rows(self, chosen: NDArray[np.integer[Any]] | None = None) -> csr_array:
        """Read them, or only those with these numbers, counted from the first one."""


class RowBlocks(Protocol):
    """Documents x terms, read from the first row to the last as often as is wanted."""

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the weights."""

    def parts(self) -> Sequence[Part]:
        """Return the rows in order, some to each part; always the same parts."""


@dataclass(frozen=True, eq=False, slots=True)
class Slice:
    """Some rows of a matrix in memory: they keep the contract `Part`."""

    start: int
    matrix: csr_array

    def rows(self, chosen: NDArray[np.integer[Any]] | None = None) -> csr_array:
        """Return them, or those of these numbers."""
        return self.matrix if chosen is None else self.matrix[chosen]


@dataclass(frozen=True, eq=False, slots=True)
class InMemory:
    """A matrix in memory as blocks of its rows.

    Attributes
    ----------
    matrix
        Documents x terms.
    block_rows
        How many rows a block has; the last one has what is left.
    """

    matrix: csr_array
    block_rows: int = BLOCK_ROWS

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the weights."""
        return np.dtype(self.matrix.dtype)

    def parts(self) -> Sequence[Part]:
        """Return the rows in order, some to each part."""
        starts = range(0, self.shape[0], self.block_rows)
        return [Slice(at, rows_of(self.matrix, at, at + self.block_rows)) for at in starts]


def rows_of(matrix: csr_array, start: int, stop: int) -> csr_array:
    """Return some rows of a matrix without copying them."""
    from scipy.sparse import csr_array

    bounds = matrix.indptr[start : stop + 1]
    own = slice(int(bounds[0]), int(bounds[-1]))
    parts = (matrix.data[own], matrix.indices[own], bounds - bounds[0])
    some: csr_array = csr_array(parts, shape=(len(bounds) - 1, matrix.shape[1]), copy=False)
    some.has_canonical_format = matrix.has_canonical_format
    return some


def blocks(rows: RowBlocks) -> Iterator[csr_array]:
    """Give the rows in order, those of a part at a time."""
    for part in rows.parts():
        yield part.rows()


def map_blocks(work: Callable[[csr_array, int], T], rows: RowBlocks) -> Iterator[T]:
    """Call `work` for the rows of each part and the number of its first row; results in order."""
    return map_parts(_OnRows(work), rows.parts())


def times(rows: RowBlocks, V: Floats) -> Iterator[Floats]:
    """Give X V, the rows of each block in turn: all of it need not fit into memory."""
    return map_blocks(_Times(V), rows)


def transposed_times(rows: RowBlocks, U: Floats) -> Floats:
    """Return Xᵀ U. Of U, which may be mapped from a file, the rows of a few blocks are read."""
    return _sum(map_blocks(_TransposedTimes(U), rows), rows, U.shape[1])


def gram_times(rows: RowBlocks, V: Floats) -> Floats:
    """Return Xᵀ (X V) in one pass, without X V."""
    return _sum(map_blocks(_GramTimes(V), rows), rows, V.shape[1])


@dataclass(frozen=True, eq=False, slots=True)
class _OnRows:
    """Reads the rows of a part where it is worked on."""

    work: Callable[[csr_array, int], Any]

    def __call__(self, part: Part) -> Any:
        return self.work(part.rows(), part.start)


@dataclass(frozen=True, eq=False, slots=True)
class _Times:
    V: Floats

    def __call__(self, block: csr_array, start: int) -> Floats:
        del start
        return _product(block, self.V)


@dataclass(frozen=True, eq=False, slots=True)
class _TransposedTimes:
    U: Floats

    def __call__(self, block: csr_array, start: int) -> Floats:
        own = np.asarray(self.U[start : start + block.shape[0]], block.dtype)
        return _product(block.T, own)


@dataclass(frozen=True, eq=False, slots=True)
class _GramTimes:
    V: Floats

    def __call__(self, block: csr_array, start: int) -> Floats:
        del start
        return _product(block.T, _product(block, self.V))


def _product(block: Any, V: Floats) -> Floats:
    """Multiply, some columns at a time."""
    edges = np.linspace(0, V.shape[1], -(-V.shape[1] // PANEL) + 1).astype(int)
    out = np.empty((block.shape[0], V.shape[1]), np.result_type(block.dtype, V.dtype))
    for first, last in pairwise(edges.tolist()):
        out[:, first:last] = block @ np.ascontiguousarray(V[:, first:last])
    return out


def _sum(parts: Iterator[Floats], rows: RowBlocks, n_columns: int) -> Floats:
    """Add up in the order of the rows."""
    total = np.zeros((rows.shape[1], n_columns), rows.dtype)
    for part in parts:
        total += part
    return total
