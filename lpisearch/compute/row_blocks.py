"""Weighted documents as rows, a block of them at a time, wherever they lie.

In: anything that keeps the contract `RowBlocks`: a matrix in memory (`InMemory`), or files on disk
(`lpisearch.compute.shards`). Out: products with blocks of columns, in one pass over the rows each,
which hold one block and what they return. Sums are taken in the order of the rows, and threads
share out columns: the bits depend neither on threads nor on where the rows lie, but on the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lpisearch.compute.threads import map_threads, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Floats = NDArray[np.floating[Any]]

# Columns that one thread multiplies by.
PANEL = 40
BLOCK_ROWS = 8192


class RowBlocks(Protocol):
    """Documents x terms, read from the first row to the last as often as is wanted."""

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the weights."""

    def blocks(self) -> Iterator[csr_array]:
        """Give the rows in order, some at a time; every pass gives the same blocks."""


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

    def blocks(self) -> Iterator[csr_array]:
        """Give the rows in order, some at a time."""
        for start in range(0, self.shape[0], self.block_rows):
            yield self.matrix[start : start + self.block_rows]


def times(rows: RowBlocks, V: Floats) -> Iterator[Floats]:
    """Give X V, the rows of each block in turn: all of it need not fit into memory."""
    panels = _panels(V)
    for block in rows.blocks():
        yield np.concatenate(_images(block, panels), axis=1)


def transposed_times(rows: RowBlocks, U: Floats) -> Floats:
    """Return Xᵀ U. Of U, which may be mapped from a file, the rows of one block are read a time."""
    totals = _zeros(rows, U.shape[1])
    cuts = _cuts(U.shape[1])
    start = 0
    for block in rows.blocks():
        stop = start + block.shape[0]
        part = np.asarray(U[start:stop], rows.dtype)
        _add(totals, block.T, [np.ascontiguousarray(part[:, cut]) for cut in cuts])
        start = stop
    return np.concatenate(totals, axis=1)


def gram_times(rows: RowBlocks, V: Floats) -> Floats:
    """Return Xᵀ (X V) in one pass, without X V."""
    panels = _panels(V)
    totals = _zeros(rows, V.shape[1])
    for block in rows.blocks():
        _add(totals, block.T, _images(block, panels))
    return np.concatenate(totals, axis=1)


def _cuts(n_columns: int) -> list[slice]:
    edges = np.linspace(0, n_columns, -(-n_columns // PANEL) + 1).astype(int)
    return list(map(slice, edges[:-1], edges[1:]))


def _panels(V: Floats) -> list[Floats]:
    return [np.ascontiguousarray(V[:, cut]) for cut in _cuts(V.shape[1])]


def _zeros(rows: RowBlocks, n_columns: int) -> list[Floats]:
    sizes = [cut.stop - cut.start for cut in _cuts(n_columns)]
    return [np.zeros((rows.shape[1], size), rows.dtype) for size in sizes]


def _images(block: csr_array, panels: list[Floats]) -> list[Floats]:
    """Multiply a block by every panel."""
    with one_blas_thread():
        return map_threads(lambda panel: np.asarray(block @ panel), panels)


def _add(totals: list[Floats], transposed: Any, images: list[Floats]) -> None:
    """Add the products of a transposed block to the totals, in place."""

    def add(total: Floats, image: Floats) -> None:
        total += transposed @ image

    with one_blas_thread():
        map_threads(add, totals, images)
