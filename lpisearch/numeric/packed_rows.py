"""Unit rows as bytes, mapped files.

Packed, an entry is its code times the step of its row times the scale of its dimension: dimensions
differ in size, and each is to have all the codes. With two bytes (int16) a cosine is off by
0.000002 or so, with one (int8) by 0.0005. Products go block by block: a block is turned into
float32 where the cache holds it, so that they take no longer than those of float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lpisearch.numeric.threads import map_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


# A block of so many rows of 300 numbers stays in the cache nearest to a processor: measured.
_PRODUCT_ROWS = 256
_BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False, slots=True)
class PackedRows:
    """Rows.

    Attributes
    ----------
    codes
        The rows as float32, or their codes as int8 or int16.
    steps, scales
        What 1 is worth in each row of codes, and in each dimension besides; None where the rows
        are as they are.
    """

    codes: NDArray[Any]
    steps: Floats | None = None
    scales: Floats | None = None

    @classmethod
    def pack(
        cls,
        rows: Floats,
        kind: np.dtype[Any] | type[np.signedinteger[Any]] = np.int16,
        scales: Floats | None = None,
    ) -> Self:
        """Turn rows into codes, by scales of their own or by given ones."""
        scales = scales_of(rows) if scales is None else scales
        codes = np.empty(rows.shape, kind)
        steps = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            codes[part], steps[part] = _packed(rows[part] / scales, np.iinfo(kind).max)
        return cls(codes, steps, scales)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows x dimensions."""
        return len(self.codes), self.codes.shape[1]

    @property
    def is_packed(self) -> bool:
        """Whether there is a byte a number."""
        return self.steps is not None

    def __len__(self) -> int:
        return len(self.codes)

    def with_rows(self, kept: NDArray[np.integer[Any]], fresh: Floats) -> PackedRows:
        """Return rows in another order, with new ones packed alike.

        Parameters
        ----------
        kept
            For each row in the new order its number now, below zero for the next of the new ones.
        """
        stays = kept >= 0
        codes = np.empty((len(kept), self.shape[1]), self.codes.dtype)
        if self.steps is None:
            codes[stays], codes[~stays] = self.codes[kept[stays]], fresh
            return PackedRows(codes)
        new = PackedRows.pack(fresh, self.codes.dtype, self.scales)
        codes[stays], codes[~stays] = self.codes[kept[stays]], new.codes
        steps = np.empty(len(kept), np.float32)
        steps[stays], steps[~stays] = self.steps[kept[stays]], new.steps
        return PackedRows(codes, steps, self.scales)

    def leading(self, dims: int) -> PackedRows:
        """Return the same rows with their first dimensions alone: a view."""
        scales = None if self.scales is None else self.scales[:dims]
        return PackedRows(self.codes[:, :dims], self.steps, scales)

    def column(self, at: int) -> Floats:
        """Return one dimension of all rows."""
        found: Floats = self.codes[:, at].astype(np.float32)
        if self.steps is None or self.scales is None:
            return found
        return np.asarray(found * (self.steps * self.scales[at]))

    def filled(self) -> NDArray[np.bool_]:
        """Tell which rows are not zeros."""
        if self.steps is not None:
            return self.steps > 0
        found = np.empty(len(self.codes), np.bool_)
        for part, rows in self.blocks():
            found[part] = rows.any(axis=1)
        return found

    def at(self, rows: Any) -> Floats:
        """Return some rows as float32: a slice of them, by their numbers, or one."""
        found = self.codes[rows]
        if self.steps is None or self.scales is None:
            return np.asarray(found)
        unpacked: Floats = found.astype(np.float32)
        unpacked *= self.steps[rows, np.newaxis] if unpacked.ndim > 1 else self.steps[rows]
        unpacked *= self.scales
        return unpacked

    def blocks(self, rows: int = _BLOCK_ROWS) -> Iterator[tuple[slice, Floats]]:
        """Give all rows in order, some at a time, with where they are."""
        for start in range(0, len(self.codes), rows):
            part = slice(start, min(start + rows, len(self.codes)))
            yield part, self.at(part)

    def times(self, place: Floats) -> Floats:
        """Return the product of each row with a place."""
        if self.steps is None or self.scales is None:
            return np.asarray(self.codes @ place)
        products = np.empty(len(self.codes), np.float32)
        scaled = place * self.scales
        map_chunks(len(products), lambda part: self._multiply(part, scaled, products))
        return products

    def times_at(self, rows: NDArray[np.int64], place: Floats) -> Floats:
        """Return the product of some rows, by their numbers, with a place."""
        products = np.empty(len(rows), np.float32)
        scaled = place if self.scales is None else place * self.scales
        for start in range(0, len(rows), _PRODUCT_ROWS):
            some = rows[start : start + _PRODUCT_ROWS]
            block = np.asarray(self.codes[some], np.float32)
            np.dot(block, scaled, out=products[start : start + len(some)])
        if self.steps is not None:
            products *= self.steps[rows]
        return products

    def times_each(self, places: Floats) -> Floats:
        """Return the product of each row with each of several places: places x rows."""
        if self.steps is None:
            return np.asarray(places @ self.codes.T)
        products = np.empty((len(places), len(self.codes)), np.float32)
        for part, rows in self.blocks():
            products[:, part] = places @ rows.T
        return products

    def _multiply(self, part: slice, place: Floats, products: Floats) -> None:
        assert self.steps is not None  # noqa: S101
        rows = np.empty((_PRODUCT_ROWS, self.codes.shape[1]), np.float32)
        for start in range(part.start, part.stop, _PRODUCT_ROWS):
            stop = min(start + _PRODUCT_ROWS, part.stop)
            block = rows[: stop - start]
            np.copyto(block, self.codes[start:stop])
            np.dot(block, place, out=products[start:stop])
        products[part] *= self.steps[part]


def scales_of(rows: Floats) -> Floats:
    """Return how large the entries of each dimension are, from some of the rows: its scale."""
    some = rows[:: max(1, len(rows) // _BLOCK_ROWS)]
    sizes = np.sqrt(np.einsum("ij,ij->j", some, some) / max(len(some), 1)).astype(np.float32)
    sizes[sizes == 0] = 1
    return np.asarray(sizes)


def _packed(rows: Floats, largest: int) -> tuple[Floats, Floats]:
    """Return whole numbers up to the largest, and what 1 is worth in each row."""
    steps = np.abs(rows).max(axis=1, initial=0) / np.float32(largest)
    scale = np.divide(1, steps, out=np.zeros_like(steps), where=steps > 0)
    return np.rint(rows * scale[:, np.newaxis]).clip(-largest, largest), steps
