"""Rows in blocks: collected, derived, written.

In: anything that keeps the contract `RowBlocks`: a matrix in memory (`InMemory`), or files on disk
(`lpisearch.numeric.row_files`). Out: what some work gives of each block, in the order of the rows:
the bits depend neither on threads nor on where the rows lie, but on the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from lpisearch.numeric.executor import map_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Floats = NDArray[np.floating[Any]]
    Array = NDArray[Any]


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


@dataclass(frozen=True, eq=False, slots=True)
class Collected:
    """Blocks of rows in memory that came one after the other.

    Attributes
    ----------
    matrices
        The blocks; each may end at the last column that it has.
    n_terms
        How many columns there are.
    """

    matrices: Sequence[csr_array]
    n_terms: int

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""
        return sum(each.shape[0] for each in self.matrices), self.n_terms

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the weights."""
        return np.dtype(self.matrices[0].dtype if self.matrices else np.float32)

    def parts(self) -> Sequence[Part]:
        """Return the blocks in order."""
        starts = accumulate((each.shape[0] for each in self.matrices), initial=0)
        wide = (widened(each, self.n_terms) for each in self.matrices)
        return [Slice(start, each) for start, each in zip(starts, wide, strict=False)]


@dataclass(frozen=True, eq=False, slots=True)
class Derived:
    """Rows that are worked out from others, each by itself, whenever they are read.

    Attributes
    ----------
    source
        The others.
    work
        What makes a row of one of them.
    n_terms
        How many columns there are then.
    """

    source: RowBlocks
    work: Callable[[csr_array], csr_array]
    n_terms: int

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""
        return self.source.shape[0], self.n_terms

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the weights."""
        return self.source.dtype

    def parts(self) -> Sequence[Part]:
        """Return the rows in order, in the parts of the others."""
        return [_DerivedPart(part, self.work) for part in self.source.parts()]


@dataclass(frozen=True, eq=False, slots=True)
class _DerivedPart:
    source: Part
    work: Callable[[csr_array], csr_array]

    @property
    def start(self) -> int:
        return self.source.start

    def rows(self, chosen: NDArray[np.integer[Any]] | None = None) -> csr_array:
        return self.work(self.source.rows(chosen))


def whole(rows: RowBlocks) -> csr_array:
    """Return all rows as one matrix in memory."""
    return rows.matrix if isinstance(rows, InMemory) else _stacked(list(blocks(rows)), rows)


def gather(rows: RowBlocks, numbers: NDArray[np.integer[Any]]) -> csr_array:
    """Return the rows of these numbers, ascending, as one matrix in memory."""
    starts = np.array([part.start for part in rows.parts()], np.int64)
    cuts = np.append(np.searchsorted(numbers, starts), len(numbers)).tolist()
    wanted = [
        (part, numbers[first:last] - part.start)
        for part, (first, last) in zip(rows.parts(), pairwise(cuts), strict=True)
        if first < last
    ]
    return _stacked(list(map_parts(_read_chosen, wanted)), rows)


class PickedRows:
    """Rows in blocks that give some of theirs as a matrix does: `rows[numbers]`, ascending.

    Parameters
    ----------
    rows
        Where they lie.
    sizes
        How many entries each has.
    """

    def __init__(self, rows: RowBlocks, sizes: NDArray[np.integer[Any]]) -> None:
        self.shape = rows.shape
        self.indptr = np.append(0, np.cumsum(sizes, dtype=np.int64))
        self._rows = rows

    def __getitem__(self, numbers: NDArray[np.integer[Any]]) -> csr_array:
        return gather(self._rows, numbers)


def _read_chosen(wanted: tuple[Part, NDArray[np.integer[Any]]]) -> csr_array:
    part, chosen = wanted
    return part.rows(chosen)


def _stacked(matrices: Sequence[csr_array], rows: RowBlocks) -> csr_array:
    from scipy.sparse import csr_array, vstack

    if not matrices:
        return csr_array((0, rows.shape[1]), dtype=rows.dtype)
    found: csr_array = csr_array(vstack(matrices, format="csr"))
    return found


def widened(matrix: csr_array, n_terms: int) -> csr_array:
    """Return a matrix with more columns, to the right of its own; nothing is copied."""
    from scipy.sparse import csr_array

    parts = (matrix.data, matrix.indices, matrix.indptr)
    wide: csr_array = csr_array(parts, shape=(matrix.shape[0], n_terms), copy=False)
    wide.has_canonical_format = matrix.has_canonical_format
    return wide


class RowTarget(Protocol):
    """Takes rows in any order, from any thread; if it is a file, from any process."""

    def write(self, start: int, rows: Array) -> None:
        """Write some rows, the first of which has the number `start`."""

    def array(self) -> Array:
        """Return all that was written."""


@dataclass(frozen=True, eq=False, slots=True)
class RowsInMemory:
    """Rows in memory."""

    rows: Array

    def write(self, start: int, rows: Array) -> None:
        """Write some rows, the first of which has the number `start`."""
        self.rows[start : start + len(rows)] = rows

    def array(self) -> Array:
        """Return all that was written."""
        return self.rows


@dataclass(frozen=True, slots=True)
class RowsInFile:
    """Rows in a file. They are written, not mapped: what is written need not stay in memory.

    Attributes
    ----------
    path, begin
        Where the first row begins.
    shape, dtype
        Of all rows.
    """

    path: Path
    begin: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """How many bytes all rows take."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def write(self, start: int, rows: Array) -> None:
        """Write some rows, the first of which has the number `start`."""
        content = np.ascontiguousarray(rows, self.dtype)
        if rows.shape[1:] != self.shape[1:] or start + len(rows) > self.shape[0]:
            raise ValueError(f"Rows of {rows.shape} from {start} on are not of {self.shape}.")
        width = self.size // self.shape[0] if self.shape[0] else 0
        with self.path.open("r+b") as stream:
            stream.seek(self.begin + start * width)
            stream.write(content.data)

    def array(self) -> Array:
        """Map all rows into memory."""
        if not self.size:  # nothing can be mapped
            return np.empty(self.shape, self.dtype)
        mapped: Array = np.memmap(self.path, self.dtype, "r", self.begin, self.shape)
        return mapped
