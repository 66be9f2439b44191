"""Rows at unit length; rows of two bytes a number, and their products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.numeric import threads
from lpisearch.numeric.rows import (
    PackedRows,
    divided_by_lengths,
    row_lengths,
    sum_duplicate_terms,
    unit_rows,
)
from lpisearch.numeric.threads import largest, map_chunks

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


# How far a cosine may be off.
BOUNDS = {np.int16: 2e-4, np.int8: 5e-2}


@pytest.fixture
def rows() -> Any:
    """Return rows of unit length whose dimensions differ in size; one is of zeros."""
    drawn = np.random.default_rng(0).standard_normal((700, 12)) * np.logspace(0, -3, 12)
    drawn[5] = 0
    return divided_by_lengths(drawn).astype(np.float32)


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let arrays be cut into chunks from 50 entries on."""
    monkeypatch.setattr(threads, "LONG", 50)
    monkeypatch.setattr(threads, "CHUNK", 64)


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("kind", BOUNDS)
def test_products(rows: Any, kind: type[np.signedinteger[Any]]) -> None:
    """However they are asked for, they are those of the rows, up to the packing."""
    packed, near = PackedRows.pack(rows, kind), BOUNDS[kind]
    assert packed.codes.dtype == kind
    place, some = rows[3], np.array([600, 3, 3, 5])
    assert packed.times(place) == pytest.approx(rows @ place, abs=near)
    assert packed.times_at(some, place) == pytest.approx(rows[some] @ place, abs=near)
    assert packed.scale_rows_by(rows[:2]) == pytest.approx(rows[:2] @ rows.T, abs=near)
    assert packed.at(slice(None)) == pytest.approx(rows, abs=near)
    assert packed.at(7) == pytest.approx(rows[7], abs=near)


@pytest.mark.parametrize("is_packed", [True, False])
def test_parts(rows: Any, *, is_packed: bool) -> None:
    """Some dimensions, one of them, rows in blocks, and which rows are not zeros."""
    given = PackedRows.pack(rows) if is_packed else PackedRows(rows)
    assert (len(given), given.shape) == (700, (700, 12))
    assert given.leading(4).at(slice(9)) == pytest.approx(rows[:9, :4], abs=2e-4)
    assert given.column(2) == pytest.approx(rows[:, 2], abs=2e-4)
    joined = np.concatenate([found for _, found in given.blocks(256)])
    assert joined == pytest.approx(rows, abs=2e-4)
    assert np.flatnonzero(~given.filled()).tolist() == [5]


@pytest.mark.parametrize("is_packed", [True, False])
def test_other_rows(rows: Any, *, is_packed: bool) -> None:
    """Rows that stay keep their bits; new ones are packed by the same scales."""
    given = PackedRows.pack(rows[:600]) if is_packed else PackedRows(rows[:600])
    kept = np.array([2, -1, 4, 599, -1])
    found = given.with_rows(kept, rows[600:602])
    assert np.array_equal(found.codes[[0, 2, 3]], given.codes[[2, 4, 599]])
    expected = rows[[2, 600, 4, 599, 601]]
    assert found.at(slice(None)) == pytest.approx(expected, abs=2e-4)


@pytest.mark.usefixtures("long")
def test_stretches_cover_everything_once() -> None:
    assert [*map(list, map_chunks(130, lambda part: range(130)[part]))] == [
        [*range(64)],
        [*range(64, 128)],
        [128, 129],
    ]
    assert map_chunks(49, lambda part: part) == [slice(0, 49)]


@pytest.mark.parametrize("count", [0, 1, 40, 200_000, 300_000])
def test_the_largest_of_many(count: int) -> None:
    values = np.random.default_rng(1).integers(0, 5000, 200_000).astype(np.float32)
    found = largest(values, count)
    assert len(set(found.tolist())) == min(count, len(values))
    assert sorted(values[found]) == sorted(np.sort(values)[len(values) - len(found) :])
