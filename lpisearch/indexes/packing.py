"""Quantise document vectors of a large library, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.mapped import let_go
from lpisearch.compute.packed_rows import PackedRows, scales_of
from lpisearch.compute.row_blocks import BLOCK_ROWS
from lpisearch.compute.spread import map_parts
from lpisearch.indexes.index import place_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.compute.row_targets import RowTarget
    from lpisearch.indexes.workspace import Room

_KIND = np.int16


def pack_places(unpacked: RowTarget, room: Room) -> None:
    """Write the arrays of places that were written as they are, as `PackedRows.pack` has them."""
    rows = unpacked.array()
    scales = scales_of(rows)
    let_go(rows)
    codes = room.target("vectors", rows.shape, _KIND)
    steps = room.target("vector_steps", (len(rows),), np.float32)
    starts = [*range(0, len(rows), BLOCK_ROWS), len(rows)]
    for _ in map_parts(_Pack(unpacked, scales, codes, steps), pairwise(starts)):
        pass
    packed = PackedRows(codes.array(), steps.array(), scales)
    for name, array in place_arrays(packed).items():
        if name not in {"vectors", "vector_steps"}:
            room.put(name, array)


@dataclass(frozen=True, eq=False, slots=True)
class _Pack:
    """Packs the rows from one to before another."""

    unpacked: RowTarget
    scales: NDArray[np.float32]
    codes: RowTarget
    steps: RowTarget

    def __call__(self, part: tuple[int, int]) -> None:
        start, stop = part
        rows: NDArray[Any] = self.unpacked.array()[start:stop]
        packed = PackedRows.pack(rows, _KIND, self.scales)
        self.codes.write(start, packed.codes)
        self.steps.write(start, np.asarray(packed.steps))
