from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lpisearch.evaluation.splits import frequent_terms, term_subsets

_COUNTS = sparse.csr_array(
    np.array([[1, 0, 2, 0, 1], [0, 0, 1, 0, 1], [3, 1, 0, 0, 1], [0, 1, 7, 0, 1]])
)


def test_documents_of_words_are_found() -> None:
    found = term_subsets(_COUNTS, [2, 3, 1, 0], least=2)
    assert {column: rows.tolist() for column, rows in found.items()} == {
        2: [0, 1, 3],
        1: [2, 3],
        0: [0, 2],
    }
    assert list(found) == [2, 1, 0]
    assert list(term_subsets(_COUNTS, [2, 1], least=3)) == [2]


def test_stored_zeros_contain_nothing() -> None:
    parts = (np.array([0, 1, 2, 1, 1]), (np.array([0, 1, 1, 2, 0]), np.array([0, 0, 0, 0, 1])))
    counts = sparse.csr_array(sparse.coo_array(parts, shape=(3, 2)))
    assert term_subsets(counts, [0], least=1)[0].tolist() == [1, 2]
    assert frequent_terms(counts, 5, least=1) == [0, 1]


def test_subsets_equal_a_count_by_hand() -> None:
    counts = np.random.default_rng(0).poisson(0.3, (40, 25))
    frequency = (counts > 0).sum(axis=0)
    picked = frequent_terms(sparse.csr_array(counts), 6, 8, 12)
    within = [column for column in range(25) if 8 <= frequency[column] <= 12]
    assert picked == sorted(within, key=lambda column: -frequency[column])[:6]
    for column, rows in term_subsets(sparse.csr_array(counts), picked).items():
        assert rows.tolist() == np.flatnonzero(counts[:, column]).tolist()


def test_frequent_terms_keep_within_bounds() -> None:
    assert frequent_terms(_COUNTS, 10) == [4, 2, 0, 1]
    assert frequent_terms(_COUNTS, 2, least=2, most=3) == [2, 0]
    assert frequent_terms(_COUNTS, 10, least=0, most=1) == []


def test_columns_and_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="no column 5: there are 5 terms"):
        term_subsets(_COUNTS, [1, 5])
    with pytest.raises(ValueError, match="no column -1"):
        term_subsets(_COUNTS, [-1])
    with pytest.raises(ValueError, match="number must be a whole number"):
        frequent_terms(_COUNTS, 0)
