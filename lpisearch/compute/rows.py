"""Dense or sparse matrix rows: norms, normalisation and duplicate terms.

A sparse matrix is a csr_array. SciPy is not imported: who has none does not need it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from typing import TypeVar

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Rows = TypeVar("Rows")

# Rows as near to unit length as this are left as they are.
UNIT_TOLERANCE = 1e-5
# Squares of numbers up to 2 to this power, and down to its inverse, are exact enough.
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
    """Divide each row of an array by its length, however near to 1 that is; zeros stay.

    Unlike `unit_rows`, for sums and points whose squares are in the range of numbers.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


def each_term_once(X: Rows) -> Rows:
    """Add up entries that name a term of a row twice: a copy, or X itself where there are none."""
    matrix: Any = X
    if isinstance(matrix, np.ndarray) or matrix.has_canonical_format:
        return X
    copy = matrix.copy()
    copy.sum_duplicates()
    return cast("Rows", copy)


def _safe_scale(data: Floats) -> float:
    """Give a power of two by which to divide before squaring; 1 for numbers of usual size."""
    largest = float(np.abs(data).max(initial=0))
    exponent = math.frexp(largest)[1] if 0 < largest < math.inf else 0
    return 1.0 if abs(exponent) <= SAFE_EXPONENT else math.ldexp(1.0, exponent)
