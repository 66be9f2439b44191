from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Lasso as Reference
from sklearn.linear_model import lars_path

from lpisearch.methods import lasso as methods_lasso
from lpisearch.methods.base import NotConverged
from lpisearch.methods.lasso import cardinality_for, lasso, vanishing_penalties

SHAPES = [(40, 90), (90, 40), (60, 60)]


def problem(n: int, n_terms: int, seed: int = 0, responses: int = 4) -> tuple[Any, Any]:
    """Make rows like those of text, and responses of mean 0."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, (n, n_terms)) * (1 + 0.1 * rng.random((n, n_terms)))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    Y = rng.standard_normal((n, responses))
    return X, Y - Y.mean(axis=0)


def conditions_hold(X: Any, Y: Any, A: Any, penalties: Any, tolerance: float = 1e-10) -> bool:
    """Say whether A fulfils the conditions of the lasso (Karush, Kuhn, Tucker) for its β.

    With r = y - X a: xᵀr is β/2 times the sign for a term in use, and no more for another.
    """
    products, level = X.T @ (Y - X @ A), np.asarray(penalties) / 2
    slack = tolerance * np.abs(X.T @ Y).max()
    inside = (np.abs(products) <= level + slack).all()
    used = A != 0
    return bool(inside and (np.abs(products - level * np.sign(A))[used] <= slack).all())


def by_coordinates(X: Any, y: Any, penalty: float, rounds: int = 600) -> Any:
    """Solve one lasso slowly: one coefficient after the other, over and over."""
    a = np.zeros(X.shape[1])
    squares = np.square(X).sum(axis=0)
    residual = y.copy()
    for _ in range(rounds):
        for j in np.flatnonzero(squares):
            z = X[:, j] @ residual + squares[j] * a[j]
            new = np.sign(z) * max(abs(z) - penalty / 2, 0) / squares[j]
            residual += X[:, j] * (a[j] - new)
            a[j] = new
    return a


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cardinality", [1, 2, 7, 25])
@pytest.mark.parametrize("centred", [False, True])
def test_the_conditions_hold(shape: tuple[int, int], cardinality: int, centred: bool) -> None:  # noqa: FBT001  # pytest gives it by name
    X, Y = problem(*shape)
    found = lasso(sparse.csr_array(X), Y, cardinality=cardinality, centred=centred)
    assert (np.count_nonzero(found.coefficients, axis=0) == cardinality).all()
    assert (found.penalties > 0).all()
    Xc = X - X.mean(axis=0) if centred else X
    assert conditions_hold(Xc, Y, found.coefficients, found.penalties)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_agrees_with_coordinate_descent(shape: tuple[int, int], share: float) -> None:
    X, Y = problem(*shape)
    penalties = share * vanishing_penalties(X, Y)
    found = lasso(X, Y, penalty=penalties)
    np.testing.assert_allclose(found.penalties, penalties, rtol=1e-10)
    assert conditions_hold(X, Y, found.coefficients, penalties)
    for column, penalty in enumerate(penalties):
        other = Reference(
            alpha=penalty / (2 * len(X)), fit_intercept=False, tol=1e-13, max_iter=200_000
        ).fit(X, Y[:, column])
        np.testing.assert_allclose(found.coefficients[:, column], other.coef_, atol=1e-6)


def test_agrees_with_a_slow_reference() -> None:
    X, Y = problem(30, 20)
    found = lasso(X, Y, penalty=0.4)
    for column in range(Y.shape[1]):
        slow = by_coordinates(X, Y[:, column], 0.4)
        np.testing.assert_allclose(found.coefficients[:, column], slow, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_leaves_the_path_where_it_first_has_more(seed: int) -> None:
    X, Y = problem(50, 80, seed, responses=1)
    alphas, _, path = lars_path(X, Y[:, 0], method="lasso")
    counts = np.count_nonzero(np.abs(path) > 1e-12, axis=0)
    for k in (3, 11, 24):
        found = lasso(X, Y, cardinality=k)
        # A term that enters at a point has its first coefficient at the point after it.
        last = int(np.argmax(counts > k)) - 1
        assert found.penalties[0] == pytest.approx(2 * len(X) * alphas[last], rel=1e-6)
        np.testing.assert_allclose(found.coefficients[:, 0], path[:, last], atol=1e-6)


def test_a_centred_path_is_that_of_the_centred_matrix() -> None:
    X, Y = problem(60, 90)
    implicit = lasso(sparse.csr_array(X), Y, cardinality=12, centred=True)
    explicit = lasso(X - X.mean(axis=0), Y, cardinality=12)
    np.testing.assert_allclose(implicit.coefficients, explicit.coefficients, atol=1e-10)
    assert not np.allclose(implicit.coefficients, lasso(X, Y, cardinality=12).coefficients)


@pytest.mark.parametrize("cardinality", [1, 5, 20, 130])
def test_columns_that_depend_on_each_other(cardinality: int) -> None:
    rng = np.random.default_rng(0)
    base = rng.poisson(0.4, (50, 40)).astype(float)
    X = np.hstack([base, base, 2 * base[:, :20], base[:, :20] + base[:, 20:], np.zeros((50, 10))])
    Y = rng.standard_normal((50, 3))
    found = lasso(X, Y, cardinality=cardinality)
    assert (np.count_nonzero(found.coefficients, axis=0) <= cardinality).all()
    assert conditions_hold(X, Y, found.coefficients, found.penalties)


def test_ties_are_taken_one_by_one() -> None:
    X, Y = np.eye(6), np.array([[1.0], [1], [-1], [1], [-1], [1]])
    for k in (1, 3, 6):
        found = lasso(X, Y, cardinality=k)
        assert conditions_hold(X, Y, found.coefficients, found.penalties)
        assert np.count_nonzero(found.coefficients) <= k
    np.testing.assert_allclose(lasso(X, Y).coefficients, Y, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_without_a_limit_it_ends_at_least_squares(shape: tuple[int, int]) -> None:
    X, Y = problem(*shape)
    found = lasso(X, Y)
    np.testing.assert_allclose(X.T @ (Y - X @ found.coefficients), 0, atol=1e-8)


@given(st.integers(0, 100_000), st.booleans())
@settings(max_examples=150)
def test_many_ties(seed: int, centred: bool) -> None:  # noqa: FBT001  # hypothesis gives it
    """Small whole numbers tie terms over and over; the conditions hold all the same."""
    rng = np.random.default_rng(seed)
    n, n_terms = rng.integers(2, 14), rng.integers(1, 25)
    X = rng.integers(0, 3, (n, n_terms)).astype(float)
    Y = rng.integers(-1, 2, (n, 3)).astype(float)
    if centred:
        Y -= Y.mean(axis=0)
    k, penalty = int(rng.integers(1, n_terms + 1)), float(rng.choice([0, 3 * rng.random()]))
    found = lasso(X, Y, cardinality=k, penalty=penalty, centred=centred)
    assert (np.count_nonzero(found.coefficients, axis=0) <= k).all()
    Xc = X - X.mean(axis=0) if centred else X
    assert conditions_hold(Xc, Y, found.coefficients, found.penalties, 1e-9)


def test_terms_without_a_document() -> None:
    X, Y = np.eye(5, 9), np.arange(-2.0, 3)[:, np.newaxis]
    coefficients = lasso(X, Y, cardinality=9).coefficients
    np.testing.assert_allclose(coefficients[:5], Y, atol=1e-12)
    assert not coefficients[5:].any()


def test_a_penalty_that_leaves_nothing() -> None:
    X, Y = problem(40, 60)
    largest = vanishing_penalties(sparse.csr_array(X), Y)
    assert not lasso(X, Y, penalty=largest).coefficients.any()
    some = lasso(X, Y, penalty=0.999 * largest).coefficients
    assert np.count_nonzero(some, axis=0).min() >= 1


def test_a_response_of_rounding_has_no_term() -> None:
    X, Y = problem(60, 20)
    projector = X @ np.linalg.pinv(X)
    assert not lasso(X, Y - projector @ Y, cardinality=5).coefficients.any()
    assert not lasso(X, np.zeros((60, 2)), cardinality=5).coefficients.any()


def test_rounding_is_not_fitted() -> None:
    X, _ = problem(40, 60)
    Y = (X[:, :1] - 2 * X[:, 1:2]).astype(np.float32)
    assert np.count_nonzero(lasso(X.astype(np.float32), Y, cardinality=30).coefficients) < 30
    eye, exact = np.eye(8, 12, dtype=np.float32), np.zeros((8, 1), dtype=np.float32)
    exact[:3, 0] = (1, 1e-9, -0.5)
    found = lasso(eye, exact, cardinality=9).coefficients
    assert np.flatnonzero(found).tolist() == [0, 2]


def test_single_precision() -> None:
    """float32 in gives float32 out, worked out in double precision."""
    X, Y = problem(40, 60)
    single = lasso(X.astype(np.float32), Y.astype(np.float32), cardinality=8)
    assert single.coefficients.dtype == np.float32
    double = lasso(X, Y, cardinality=8)
    np.testing.assert_allclose(single.coefficients, double.coefficients, atol=1e-4)


def test_each_response_by_itself() -> None:
    X, Y = problem(50, 70)
    together = lasso(X, Y, cardinality=9).coefficients
    for column in range(Y.shape[1]):
        alone = lasso(X, Y[:, column : column + 1], cardinality=9).coefficients
        np.testing.assert_array_equal(together[:, column], alone[:, 0])


def test_a_path_that_takes_too_many_steps(monkeypatch: Any) -> None:
    monkeypatch.setattr(methods_lasso, "STEPS_A_TERM", 0.5)
    X, Y = problem(40, 60, responses=1)
    with pytest.warns(NotConverged, match="lasso path of response 0 did not converge in 20 steps"):
        found = lasso(X, Y, cardinality=30)
    assert 0 < np.count_nonzero(found.coefficients) < 30
    assert conditions_hold(X, Y, found.coefficients, found.penalties)


@pytest.mark.parametrize(
    ("n_terms", "chosen"), [(1, 1), (2, 2), (9, 3), (10, 4), (80, 9), (36771, 192)]
)
def test_automatic_cardinality(n_terms: int, chosen: int) -> None:
    """It is the root of the number of terms, rounded up."""
    assert cardinality_for("auto", n_terms) == chosen


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, None, "few"])
def test_a_cardinality_that_is_no_number_of_terms(bad: Any) -> None:
    with pytest.raises(ValueError, match='cardinality must be a whole number above 0 or "auto"'):
        cardinality_for(bad, 10)


def test_a_cardinality_above_the_number_of_terms() -> None:
    assert cardinality_for(10, 10) == 10
    with pytest.raises(ValueError, match="cardinality is 11, but there are only 10 terms"):
        cardinality_for(11, 10)
