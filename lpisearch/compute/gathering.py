"""Lazily computed rows stored in blocks and gathered by number."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.row_blocks import InMemory, Slice, blocks
from lpisearch.compute.spread import map_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.compute.row_blocks import Part, RowBlocks


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
