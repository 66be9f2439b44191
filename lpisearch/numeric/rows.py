"""Lengths of rows, rows at unit length, and sparse rows without SciPy.

SciPy is slow to import and a query does not need it: the placement rules of `lpisearch.methods`
take a matrix of documents, or the single row of a query, as `SparseRows`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Rows = TypeVar("Rows")
    Integers = NDArray[np.integer[Any]]


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
