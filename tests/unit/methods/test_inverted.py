from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lpisearch.methods import placement
from lpisearch.methods.placement import InvertedRows
from lpisearch.numeric.rows import SparseRows


def random_rows(n: int = 40, n_terms: int = 30) -> SparseRows:
    """Make unit rows, a few of them and a few columns empty."""
    dense = sparse.random_array((n, n_terms), density=0.2, rng=np.random.default_rng(0)).toarray()
    dense[[3, 9]] = 0
    dense[:, [0, 7, 29]] = 0
    return SparseRows.of_matrix(dense).unit()


@pytest.mark.parametrize("most", [0, 2**20])
def test_cosines_are_inner_products(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(placement, "MOST_ENTRIES", most)
    rows = random_rows()
    lists = InvertedRows.of_rows(rows)
    dense = np.zeros((40, 30))
    dense[rows.row_numbers, rows.indices] = rows.data
    for number, (terms, weights) in enumerate(rows):
        found = lists.cosines(terms, weights)
        np.testing.assert_allclose(found, dense @ dense[number], atol=1e-12)
        assert found.shape == (40,)
        assert found.dtype == np.float64


def test_both_ways_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows()
    lists = InvertedRows.of_rows(rows)
    at_once = [lists.cosines(terms, weights) for terms, weights in rows]
    monkeypatch.setattr(placement, "MOST_ENTRIES", 0)
    for cosines, (terms, weights) in zip(at_once, rows, strict=True):
        assert np.array_equal(lists.cosines(terms, weights), cosines)


def test_arrays_come_back() -> None:
    rows = random_rows()
    lists = InvertedRows.of_rows(rows)
    again = InvertedRows.of_arrays(lists.arrays(), 40)
    for terms, weights in rows:
        assert np.array_equal(again.cosines(terms, weights), lists.cosines(terms, weights))
