"""Output arrays that workers fill row by row, in memory or in a shared file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[Any]


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
