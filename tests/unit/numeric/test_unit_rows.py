from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.numeric.rows import row_lengths, sum_duplicate_terms, unit_rows

X = np.array([[3.0, 4, 0], [0, 0, 0], [0, 0, 2]])
as_both = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])


@as_both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_come_to_length_one(kind: Any, dtype: Any) -> None:
    matrix = kind(X.astype(dtype))
    np.testing.assert_allclose(row_lengths(matrix), [5, 0, 2])
    unit = unit_rows(matrix)
    assert unit.dtype == dtype
    np.testing.assert_allclose(row_lengths(unit), [1, 0, 1], rtol=1e-6)


@as_both
@pytest.mark.parametrize("factor", [1e-200, 1e-100, 1e100, 1e200])
def test_numbers_whose_squares_are_out_of_range(kind: Any, factor: float) -> None:
    np.testing.assert_allclose(row_lengths(kind(X * factor)) / factor, [5, 0, 2])
    unit = unit_rows(kind(X * factor))
    np.testing.assert_allclose(row_lengths(unit), [1, 0, 1])


def test_unit_rows_are_given_back_as_they_are() -> None:
    unit = unit_rows(X)
    assert unit_rows(unit) is unit


def test_each_term_comes_once() -> None:
    twice = sparse.csr_array(
        (np.array([1.0, 2, 4]), np.array([2, 2, 0]), np.array([0, 3])), shape=(1, 3)
    )
    once = sum_duplicate_terms(twice)
    assert (once.nnz, twice.nnz) == (2, 3)
    np.testing.assert_array_equal(once.toarray(), [[4, 0, 3]])
    assert sum_duplicate_terms(once) is once
    assert sum_duplicate_terms(X) is X
