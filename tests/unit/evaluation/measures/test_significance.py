from __future__ import annotations

from itertools import product
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from lpisearch.evaluation.measures import holm, paired_test


def _scores(n: int, gain: float, seed: int = 0) -> tuple[Any, Any]:
    chance = np.random.default_rng(seed)
    first = chance.uniform(size=n)
    return first, first - gain + chance.normal(scale=0.1, size=n)


def test_three_queries_by_hand() -> None:
    found = paired_test([0.5, 0.75, 1.0], [0.25, 0.5, 0.5])
    assert found.difference == pytest.approx(1 / 3)
    assert found.p_value == pytest.approx(2 / 8)
    assert found.queries == 3


def test_few_queries_equal_all_signs() -> None:
    first, second = [0.3, 0.1, 0.4, 0.2, 0.5], [0.2, 0.2, 0.2, 0.2, 0.4]
    differences = np.subtract(first, second)
    sums = [abs(np.dot(signs, differences)) for signs in product([1, -1], repeat=5)]
    expected = np.mean(np.array(sums) >= abs(differences.sum()) - 1e-9)
    assert paired_test(first, second).p_value == pytest.approx(float(expected))


@pytest.mark.parametrize(("n", "tolerance"), [(10, 1e-9), (40, 0.02)])
def test_p_value_equals_scipy(n: int, tolerance: float) -> None:
    first, second = _scores(n, 0.02, seed=2)
    oracle = stats.permutation_test(
        (first, second), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=20_000, rng=np.random.default_rng(1),
    )  # fmt: skip
    found = paired_test(first, second)
    assert 0.01 < found.p_value < 0.99
    assert found.p_value == pytest.approx(oracle.pvalue, abs=tolerance)


def test_interval_is_that_of_the_paired_t_test() -> None:
    first, second = _scores(30, 0.05)
    interval = stats.ttest_rel(first, second).confidence_interval(0.95)
    found = paired_test(first, second)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_p_values_without_a_difference_are_even() -> None:
    low = [paired_test(*_scores(20, 0, seed), rounds=500).p_value < 0.1 for seed in range(300)]
    assert 0.05 < np.mean(low) < 0.15


def test_p_value_is_symmetric_and_never_zero() -> None:
    first, second = _scores(50, 0.5)
    found, turned = paired_test(first, second), paired_test(second, first)
    assert found.p_value == turned.p_value == pytest.approx(1 / 10_001)
    assert (found.difference, found.low) == pytest.approx((-turned.difference, -turned.high))


def test_queries_are_paired_by_name() -> None:
    found = paired_test({"a": 0.5, "b": 1.0}, {"b": 0.5, "a": 0.25})
    assert found == paired_test([0.5, 1.0], [0.25, 0.5])
    with pytest.raises(ValueError, match="same queries, but 2 are in one only"):
        paired_test({"a": 1.0, "b": 1.0}, {"b": 1.0, "c": 1.0})
    with pytest.raises(ValueError, match="two dictionaries or two sequences"):
        paired_test({"a": 1.0}, [1.0])


def test_equal_settings_and_single_queries() -> None:
    same = paired_test([0.5] * 30, [0.5] * 30)
    assert (same.difference, same.p_value, same.low, same.high) == (0, 1, 0, 0)
    one = paired_test([0.75], [0.5])
    assert (one.difference, one.p_value, one.low, one.high) == (0.25, 1, -np.inf, np.inf)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="no queries"):
        paired_test([], [])
    with pytest.raises(ValueError, match="2 and 1 scores"):
        paired_test([1, 2], [1])
    with pytest.raises(ValueError, match="not finite"):
        paired_test([np.nan], [1])
    with pytest.raises(ValueError, match="rounds must be a whole number"):
        paired_test([1], [1], rounds=0)


def test_rounding_hides_no_choice_of_signs() -> None:
    for gains in ([0.1] * 10, [0.1] * 11, [0.7, 0.1, 0.3, 0.2, 0.9, 0.4], [1 / 3] * 12):
        assert paired_test(gains, [0.0] * len(gains)).p_value == 2 / 2 ** len(gains)
    # 0.1 + 0.2 - 0.3 is 0 but for rounding, so that every choice of signs is as far from 0.
    assert paired_test([0.1, 0.2, 0.0], [0.0, 0.0, 0.3]).p_value == 1


@pytest.mark.parametrize("count", [20, 300])
def test_right_and_wrong_are_tested_by_the_exact_sign_test(count: int) -> None:
    first = [1.0] * count + [0.0] * 5 + [1.0] * 40
    second = [0.0] * count + [1.0] * 5 + [1.0] * 40
    expected = stats.binomtest(count, count + 5).pvalue
    assert paired_test(first, second).p_value == pytest.approx(expected)


def test_of_many_differences_the_normal_distribution_is_that_of_the_draws() -> None:
    chance = np.random.default_rng(1)
    differences = chance.normal(0.03, 1, 3000)
    signs = chance.choice((-1.0, 1.0), (4000, 3000))
    drawn = np.mean(np.abs(signs @ differences) >= abs(differences.sum()))
    found = paired_test(differences.tolist(), [0.0] * 3000).p_value
    assert found == pytest.approx(drawn, abs=0.03)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_never_lessens(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [corrected[at] for at in order] == sorted(corrected)
    assert min(corrected) == min(1, len(p_values) * min(p_values))
