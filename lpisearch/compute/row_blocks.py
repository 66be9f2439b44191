"""Weighted documents as rows, one block at a time, in memory or on disk.

In: anything that keeps the contract `RowBlocks`: a matrix in memory (`InMemory`), or files on disk
(`lpisearch.compute.shards`). Out: what some work gives of each block, in the order of the rows: the
bits depend neither on threads nor on where the rows lie, but on the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from lpisearch.compute.spread import map_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Floats = NDArray[np.floating[Any]]

T = TypeVar("T")

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


@dataclass(frozen=True, eq=False, slots=True)
class _OnRows:
    """Reads the rows of a part where it is worked on."""

    work: Callable[[csr_array, int], Any]

    def __call__(self, part: Part) -> Any:
        return self.work(part.rows(), part.start)
