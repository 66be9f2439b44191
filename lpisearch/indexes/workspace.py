"""Where a build stores its results: the interface and the in-memory version.

A build is a row of steps, each of which gives arrays, rows of a matrix and a few facts. `keep`
works a step out, or gives what an earlier run of the same build left of it: that is for files,
which outlive a kill (`lpisearch.indexes.kept_files`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lpisearch.compute.gathering import Collected
from lpisearch.compute.row_targets import RowsInMemory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse import csr_array

    from lpisearch.compute.row_blocks import RowBlocks
    from lpisearch.compute.row_targets import RowTarget
    from lpisearch.compute.shards import ShardWriter

    Array = NDArray[Any]


@dataclass(slots=True)
class Kept:
    """What a step gave.

    Attributes
    ----------
    arrays
        By name; mapped from files, if it was kept there.
    facts
        Values that JSON has.
    rows
        Rows of a matrix, of a step that has any.
    """

    arrays: dict[str, Array] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    rows: RowBlocks | None = None


class RowWriter(Protocol):
    """Takes rows as they come."""

    def add(self, rows: csr_array) -> None:
        """Take some rows; later ones may have more columns."""

    def finish(self, n_terms: int) -> RowBlocks:
        """Give all of them, with so many columns."""


class Room(Protocol):
    """Where a step puts what it works out."""

    def put(self, name: str, array: Array) -> None:
        """Keep an array as it is."""

    def target(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> RowTarget:
        """Give an array whose rows are written by whoever works them out."""

    def drop(self, name: str) -> None:
        """Throw away an array that was only needed on the way."""

    def rows(self) -> RowWriter:
        """Give what takes the rows of a matrix."""


class FileRoom(Room, Protocol):
    """Where a step puts what it works out, in files that other processes may write to."""

    @property
    def folder(self) -> Path:
        """Of the step; what is left in it at the end is kept."""

    @property
    def mode(self) -> int:
        """Of the files."""

    @property
    def rows_folder(self) -> Path:
        """Of the shards of its rows."""

    def rows(self) -> ShardWriter:
        """Give what takes the rows of a matrix, or notes that others wrote them."""


class Workspace(Protocol):
    """Keeps the steps of a build."""

    @property
    def resumed(self) -> list[str]:
        """The steps that an earlier run had finished."""

    def keep(self, step: str, work: Callable[[Room], Kept]) -> Kept:
        """Return what a step gives, working it out if that was not done."""

    def files(self) -> dict[str, Path]:
        """Return the file of each array that is in one, by name."""


class _RoomInMemory:
    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def put(self, name: str, array: Array) -> None:
        self.arrays[name] = np.ascontiguousarray(array)  # as a file has it

    def target(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> RowTarget:
        self.arrays[name] = np.empty(shape, dtype)
        return RowsInMemory(self.arrays[name])

    def drop(self, name: str) -> None:
        del self.arrays[name]

    def rows(self) -> RowWriter:
        return _Collector()


class _Collector:
    def __init__(self) -> None:
        self._matrices: list[csr_array] = []

    def add(self, rows: csr_array) -> None:
        self._matrices.append(rows)

    def finish(self, n_terms: int) -> RowBlocks:
        return Collected(self._matrices, n_terms)


class MemoryWorkspace:
    """Keeps nothing beyond the build."""

    def __init__(self) -> None:
        self.resumed: list[str] = []

    def keep(self, step: str, work: Callable[[Room], Kept]) -> Kept:
        """Work a step out."""
        del step
        room = _RoomInMemory()
        kept = work(room)
        kept.arrays = room.arrays | kept.arrays
        return kept

    def files(self) -> dict[str, Path]:
        """Return nothing: no array is in a file."""
        return {}
