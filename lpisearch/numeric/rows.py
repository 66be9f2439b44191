"""Dense and sparse rows: their lengths, rows at unit length, rows packed into one or two bytes.

SciPy is slow to import and a query does not need it: the placement rules of `lpisearch.methods`
take a matrix of documents, or the single row of a query, as `SparseRows`.

A packed entry is its code times the step of its row times the scale of its dimension; scales let
every dimension use the full range of codes. The error of a cosine is about 0.000002 with int16 and
0.0005 with int8. Products convert a block at a time to float32 in the cache, which takes no longer
than products of float32 rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np

from lpisearch.numeric.threads import map_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Rows = TypeVar("Rows")
    Integers = NDArray[np.integer[Any]]
    Float32s = NDArray[np.float32]


# Rows this close to unit length are not scaled.
UNIT_TOLERANCE = 1e-5
# Numbers between 2 ** -SAFE_EXPONENT and 2 ** SAFE_EXPONENT can be squared safely.
SAFE_EXPONENT = 40


def row_lengths(X: Any) -> Floats:
    """Return the Euclidean length of each row."""
    data = X if isinstance(X, np.ndarray) else X.data
    scale = _safe_scale(data)
    scaled = data if scale == 1 else data / scale
    if isinstance(X, np.ndarray):
        sums = np.einsum("ij,ij->i", scaled, scaled)
    else:
        squares = type(X)((scaled**2, X.indices, X.indptr), shape=X.shape)
        sums = np.asarray(squares.sum(axis=1))
    lengths = np.sqrt(sums.ravel())
    return np.asarray(lengths if scale == 1 else lengths * scale)


def unit_rows(X: Rows) -> Rows:
    """Scale each row to length one; rows of zeros stay as they are."""
    matrix: Any = X
    lengths = row_lengths(matrix)
    if np.all((np.abs(lengths - 1) < UNIT_TOLERANCE) | (lengths == 0)):
        return X
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    scaled: Any
    if isinstance(matrix, np.ndarray):
        scaled = matrix * scale[:, np.newaxis]
    else:
        data = np.repeat(scale, np.diff(matrix.indptr)) * matrix.data
        scaled = type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return cast("Rows", scaled)


def divided_by_lengths(rows: Floats) -> Floats:
    """Divide each row of an array by its length, even if that is nearly 1; zeros stay.

    Unlike `unit_rows`, squares must neither overflow nor underflow.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


def sum_duplicate_terms(X: Rows) -> Rows:
    """Sum duplicate entries in a copy; return X itself if there are none."""
    matrix: Any = X
    if isinstance(matrix, np.ndarray) or matrix.has_canonical_format:
        return X
    copy = matrix.copy()
    copy.sum_duplicates()
    return cast("Rows", copy)


REMOVED = -1
"""Stands for the key of a removed row. Keys of rows ascend where none is removed."""


def numbers_of(keys: Integers, rows: Integers) -> NDArray[np.int64]:
    """Return the number of the row of each key, by the keys of all rows; -1 for a key without."""
    order = np.argsort(rows, kind="stable") if _has_removed(rows) else None
    at = np.searchsorted(rows, keys, sorter=order)
    inside = at < len(rows)
    at = at if order is None else order[np.minimum(at, len(rows) - 1)]
    inside[inside] = rows[at[inside]] == keys[inside]
    return np.where(inside, at, -1)


def positions(keys: Integers, rows: Integers) -> NDArray[np.int64]:
    """Return the numbers of the rows with some keys, by the keys of all rows."""
    if _has_removed(rows):  # sorting a million rows takes longer than to look at each
        return np.flatnonzero(np.isin(rows, keys))
    numbers = numbers_of(keys, rows)
    return numbers[numbers >= 0]


def _has_removed(rows: Integers) -> bool:
    return bool(rows.min(initial=0) < 0)


def _safe_scale(data: Floats) -> float:
    """Return a power of two by which to divide before squaring; 1 for numbers of usual size."""
    largest = float(np.abs(data).max(initial=0))
    exponent = math.frexp(largest)[1] if 0 < largest < math.inf else 0
    return 1.0 if abs(exponent) <= SAFE_EXPONENT else math.ldexp(1.0, exponent)


@dataclass(frozen=True, eq=False, slots=True)
class SparseRows:
    """Documents as rows in CSR form: row i has the entries indptr[i] to indptr[i + 1].

    `indices` are the terms, none twice in a row, and `data` their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.numeric.rows import SparseRows
    >>> rows = SparseRows.of_query(np.array([0, 2]), np.array([0.6, 0.8]), n_terms=3)
    >>> rows.product(np.array([[1.0, 0.0], [5.0, 5.0], [0.0, 1.0]]))
    array([[0.6, 0.8]])
    """

    indptr: Integers
    indices: Integers
    data: Floats
    n_terms: int

    @classmethod
    def of_matrix(cls, X: Any) -> SparseRows:
        """Take the rows of a dense array or of a csr_array, whose arrays are shared if possible."""
        if isinstance(X, np.ndarray):
            rows, terms = np.nonzero(X)
            indptr = np.searchsorted(rows, np.arange(len(X) + 1))
            return cls(indptr, terms, X[rows, terms], X.shape[1])
        X = sum_duplicate_terms(X)
        return cls(X.indptr, X.indices, X.data, X.shape[1])

    @classmethod
    def of_query(cls, columns: Integers, weights: Floats, n_terms: int) -> SparseRows:
        """Make one row from the terms of a query and their weights."""
        return cls(np.array([0, len(columns)]), columns, weights, n_terms)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __iter__(self) -> Iterator[tuple[Integers, Floats]]:
        """Yield the terms and the weights of each row."""
        bounds = self.indptr.tolist()
        for start, stop in pairwise(bounds):
            yield self.indices[start:stop], self.data[start:stop]

    @property
    def row_numbers(self) -> NDArray[np.intp]:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @property
    def lengths(self) -> NDArray[np.float64]:
        """The Euclidean length of each row."""
        squares = np.square(self.data.astype(np.float64))
        return np.sqrt(np.bincount(self.row_numbers, squares, minlength=len(self)))

    def unit(self) -> SparseRows:
        """Scale each row to length one; a row of zeros stays."""
        lengths = self.lengths
        scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        data = (self.data * scale[self.row_numbers]).astype(self.data.dtype)
        return SparseRows(self.indptr, self.indices, data, self.n_terms)

    def product(self, dense: Floats) -> Floats:
        """Multiply by a terms x columns matrix, row by row: bits do not depend on other rows."""
        out = np.empty((len(self), dense.shape[1]), np.result_type(self.data.dtype, dense.dtype))
        for row, (terms, weights) in zip(out, self, strict=True):
            np.matmul(weights, dense[terms], out=row)
        return out


# So many rows of 300 numbers stay in the first-level cache (measured).
_PRODUCT_ROWS = 256
_BLOCK_ROWS = 8192
_PACKED = ("s", "_steps", "_scales")


@dataclass(frozen=True, eq=False, slots=True)
class PackedRows:
    """Rows x dimensions: float32 numbers, or integer codes with their steps and scales.

    A step belongs to a row and a scale to a dimension; both are None if the rows are not packed.
    """

    codes: NDArray[Any]
    steps: Float32s | None = None
    scales: Float32s | None = None

    @classmethod
    def pack(
        cls,
        rows: Float32s,
        kind: np.dtype[Any] | type[np.signedinteger[Any]] = np.int16,
        scales: Float32s | None = None,
    ) -> Self:
        """Pack rows with the given scales, or with scales chosen for them."""
        scales = scales_of(rows) if scales is None else scales
        codes = np.empty(rows.shape, kind)
        steps = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            codes[part], steps[part] = _packed(rows[part] / scales, np.iinfo(kind).max)
        return cls(codes, steps, scales)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """Take the arrays of `arrays`; plain views, as slicing mapped ones costs ten times more."""
        own = [f"{name}{end}" for end in _PACKED if f"{name}{end}" in arrays]
        return cls(*(arrays[one].view(np.ndarray) for one in own))

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays to store, by names that begin with a word such as “vector”."""
        parts = zip(_PACKED, (self.codes, self.steps, self.scales), strict=True)
        return {f"{name}{end}": part for end, part in parts if part is not None}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows x dimensions."""
        return len(self.codes), self.codes.shape[1]

    def __len__(self) -> int:
        return len(self.codes)

    def with_rows(self, numbers: NDArray[np.integer[Any]], fresh: Float32s) -> PackedRows:
        """Return rows in a new order: `numbers` are current row numbers, -1 the next fresh row."""
        new = self.packed_alike(fresh)
        at = np.where(numbers >= 0, numbers, len(self) - 1 + np.cumsum(numbers < 0))
        codes = np.concatenate([self.codes, new.codes])[at]
        if self.steps is None or new.steps is None:
            return PackedRows(codes)
        return PackedRows(codes, np.concatenate([self.steps, new.steps])[at], self.scales)

    def packed_alike(self, rows: Float32s) -> PackedRows:
        """Return other rows, packed as these are."""
        if self.steps is None:
            return PackedRows(rows)
        return PackedRows.pack(rows, self.codes.dtype, self.scales)

    def leading(self, dims: int) -> PackedRows:
        """Return a view of the first dimensions."""
        scales = None if self.scales is None else self.scales[:dims]
        return PackedRows(self.codes[:, :dims], self.steps, scales)

    def column(self, at: int) -> Float32s:
        """Return one dimension of all rows."""
        numbers: Float32s = self.codes[:, at].astype(np.float32)
        if self.steps is None or self.scales is None:
            return numbers
        return np.asarray(numbers * (self.steps * self.scales[at]))

    def filled(self) -> NDArray[np.bool_]:
        """Mark the rows that are not all zeros."""
        if self.steps is not None:
            return self.steps > 0
        mask = np.empty(len(self.codes), np.bool_)
        for part, rows in self.blocks():
            mask[part] = rows.any(axis=1)
        return mask

    def at(self, rows: Any) -> Float32s:
        """Return rows as float32, by a slice, by their numbers, or one by its number."""
        codes = self.codes[rows]
        if self.steps is None or self.scales is None:
            return np.asarray(codes)
        unpacked: Float32s = codes.astype(np.float32)
        unpacked *= self.steps[rows, np.newaxis] if unpacked.ndim > 1 else self.steps[rows]
        unpacked *= self.scales
        return unpacked

    __getitem__ = at

    def blocks(self, rows: int = _BLOCK_ROWS) -> Iterator[tuple[slice, Float32s]]:
        """Yield all rows in blocks, each with its slice."""
        for start in range(0, len(self.codes), rows):
            part = slice(start, min(start + rows, len(self.codes)))
            yield part, self.at(part)

    def times(self, vector: Float32s) -> Float32s:
        """Return the product of each row with a vector."""
        if self.steps is None or self.scales is None:
            return np.asarray(self.codes @ vector)
        products = np.empty(len(self.codes), np.float32)
        scaled = vector * self.scales
        map_chunks(len(products), lambda part: self._multiply(part, scaled, products))
        return products

    def times_at(self, rows: NDArray[np.int64], vector: Float32s) -> Float32s:
        """Return the product of some rows, by their numbers, with a vector."""
        products = np.empty(len(rows), np.float32)
        scaled = vector if self.scales is None else vector * self.scales
        for start in range(0, len(rows), _PRODUCT_ROWS):
            some = rows[start : start + _PRODUCT_ROWS]
            block = np.asarray(self.codes[some], np.float32)
            np.dot(block, scaled, out=products[start : start + len(some)])
        if self.steps is not None:
            products *= self.steps[rows]
        return products

    def scale_rows_by(self, vectors: Float32s) -> Float32s:
        """Return the product of each row with each of several vectors: vectors x rows."""
        if self.steps is None:
            return np.asarray(vectors @ self.codes.T)
        products = np.empty((len(vectors), len(self.codes)), np.float32)
        for part, rows in self.blocks():
            products[:, part] = vectors @ rows.T
        return products

    def _multiply(self, part: slice, vector: Float32s, products: Float32s) -> None:
        assert self.steps is not None  # noqa: S101
        rows = np.empty((_PRODUCT_ROWS, self.codes.shape[1]), np.float32)
        for start in range(part.start, part.stop, _PRODUCT_ROWS):
            stop = min(start + _PRODUCT_ROWS, part.stop)
            block = rows[: stop - start]
            np.copyto(block, self.codes[start:stop])
            np.dot(block, vector, out=products[start:stop])
        products[part] *= self.steps[part]


def scales_of(rows: Float32s) -> Float32s:
    """Return the root mean square of each dimension over a sample of the rows; 1 where it is 0."""
    some = rows[:: max(1, len(rows) // _BLOCK_ROWS)]
    sizes = np.sqrt(np.einsum("ij,ij->j", some, some) / max(len(some), 1)).astype(np.float32)
    sizes[sizes == 0] = 1
    return np.asarray(sizes)


def _packed(rows: Float32s, largest: int) -> tuple[Float32s, Float32s]:
    """Return rows as integers of at most `largest`, and the step of each."""
    steps = np.abs(rows).max(axis=1, initial=0) / np.float32(largest)
    scale = np.divide(1, steps, out=np.zeros_like(steps), where=steps > 0)
    return np.rint(rows * scale[:, np.newaxis]).clip(-largest, largest), steps
