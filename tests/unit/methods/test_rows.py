"""Documents as sparse rows, in NumPy alone."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import sparse

from lpisearch.methods.placement import PLACEMENTS, placement_rule
from lpisearch.numeric.rows import SparseRows

if TYPE_CHECKING:
    from numpy.typing import NDArray


@pytest.fixture
def dense() -> NDArray[np.float32]:
    """Six documents of nine terms; the third and the last have none."""
    rng = np.random.default_rng(0)
    X = rng.random((6, 9), dtype=np.float32) * (rng.random((6, 9)) < 0.5)
    X[[2, 5]] = 0
    return X.astype(np.float32)


def test_product_equals_that_of_the_full_matrix(dense: NDArray[np.float32]) -> None:
    block = np.random.default_rng(1).random((9, 4), dtype=np.float32)
    for X in (dense, sparse.csr_array(dense)):
        product = SparseRows.of_matrix(X).product(block)
        np.testing.assert_allclose(product, dense @ block, rtol=1e-6)
        assert product.dtype == np.float32


def test_a_row_is_multiplied_alike_alone_and_in_company(dense: NDArray[np.float32]) -> None:
    block = np.random.default_rng(1).random((9, 4))
    rows = SparseRows.of_matrix(dense)
    together = rows.product(block)
    for place, (terms, weights) in zip(together, rows, strict=True):
        alone = SparseRows.of_query(terms, weights, 9).product(block)
        assert np.array_equal(alone[0], place)


def test_unit_rows_have_length_one_and_empty_rows_stay(dense: NDArray[np.float32]) -> None:
    unit = SparseRows.of_matrix(dense).unit()
    np.testing.assert_allclose(unit.lengths, [1, 1, 0, 1, 1, 0], rtol=1e-6)
    assert unit.data.dtype == np.float32


def test_rows_know_their_size_and_entries(dense: NDArray[np.float32]) -> None:
    rows = SparseRows.of_matrix(sparse.csr_array(dense))
    assert len(rows) == 6
    assert np.array_equal(rows.row_numbers, np.nonzero(dense)[0])


def test_a_term_that_is_named_twice_counts_once_with_both_weights() -> None:
    X = sparse.csr_array(([3.0, 1.0, 2.0], [1, 0, 1], [0, 3]), shape=(1, 2))
    rows = SparseRows.of_matrix(X)
    assert rows.indices.tolist() == [0, 1]
    assert rows.data.tolist() == [1, 5]
    assert X.nnz == 3


def test_a_rule_that_is_not_known_is_refused() -> None:
    with pytest.raises(KeyError, match="magic"):
        placement_rule("magic")


@pytest.mark.parametrize("name", PLACEMENTS)
def test_rules_need_numpy_alone(name: str) -> None:
    code = (
        "import sys; from lpisearch.methods.placement import placement_rule; "
        f"placement_rule({name!r}); "
        "print([name for name in ('scipy', 'sklearn', 'threadpoolctl') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
