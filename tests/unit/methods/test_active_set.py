from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.methods.lasso import ActiveSet


def filled(X: Any, columns: list[int]) -> ActiveSet:
    """Take in these columns of X, one after the other."""
    active = ActiveSet()
    for column in columns:
        products = X[:, active.columns].T @ X[:, column]
        active.add(column, products, float(X[:, column] @ X[:, column]))
    return active


def gram(X: Any, active: ActiveSet) -> Any:
    """Multiply the columns in use with each other."""
    used = X[:, active.columns]
    return used.T @ used


@given(st.lists(st.integers(0, 39), min_size=1, max_size=60), st.integers(0, 1000))
def test_any_order_of_coming_and_going(moves: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 40))
    active = ActiveSet()
    for column in moves:
        if column in active.columns:
            active.remove(active.columns.index(column))
        else:
            products = X[:, active.columns].T @ X[:, column]
            assert active.add(column, products, float(X[:, column] @ X[:, column]))
    right = rng.standard_normal(len(active))
    np.testing.assert_allclose(gram(X, active) @ active.solve(right), right, atol=1e-9)


def test_it_grows() -> None:
    """There is no limit to the number of columns."""
    X = np.random.default_rng(0).standard_normal((200, 150))
    active = filled(X, list(range(150)))
    assert active.columns == list(range(150))
    right = np.ones(150)
    np.testing.assert_allclose(gram(X, active) @ active.solve(right), right, atol=1e-9)


def test_a_dependent_column_is_not_taken() -> None:
    X = np.random.default_rng(0).standard_normal((20, 3))
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 1]])
    assert filled(X, [0, 1, 2, 3]).columns == [0, 1, 2]
    assert filled(X, [3, 0, 2, 1]).columns == [3, 0, 2]


def test_what_rounding_spoils_is_renewed() -> None:
    rng = np.random.default_rng(0)
    base = rng.standard_normal((50, 1))
    X = base + 1e-4 * rng.standard_normal((50, 30))
    active = filled(X, list(range(30)))
    assert len(active) == 30
    for _ in range(10):
        active.remove(0)
    right = rng.standard_normal(20)
    residual = gram(X, active) @ active.solve(right) - right
    assert np.abs(residual).max() < 1e-6 * np.abs(right).max()


def test_a_good_inverse_is_kept(monkeypatch: Any) -> None:
    monkeypatch.setattr("lpisearch.methods.lasso.linalg.inv", None)
    X = np.random.default_rng(0).standard_normal((60, 10))
    active = filled(X, list(range(10)))
    active.remove(3)
    np.testing.assert_allclose(gram(X, active) @ active.solve(np.ones(9)), 1, atol=1e-9)
