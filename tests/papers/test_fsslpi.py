"""FSSL, the L₂,₁ regression that lpfl-2012 compares with, against a slow dense reference."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.methods.base import NotConverged
from lpisearch.methods.fsslpi import FSSL, group_lasso, vanishing_penalty


def problem(n: int = 30, n_terms: int = 50, seed: int = 0) -> tuple[Any, Any]:
    """Make documents, and responses that a few of the terms give, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.5, (n, n_terms)).astype(float)
    A = np.zeros((n_terms, 3))
    A[:6] = rng.standard_normal((6, 3))
    return X, X @ A + 0.1 * rng.standard_normal((n, 3))


def objective(X: Any, Y: Any, A: Any, mu: float) -> float:
    """Give |X A - Y|² + μ |A|₂,₁ by definition."""
    return float(np.linalg.norm(X @ A - Y) ** 2 + mu * np.linalg.norm(A, axis=1).sum())


def slow_minimum(X: Any, Y: Any, mu: float) -> float:
    """Minimise by reweighting: each step is a ridge regression with weights 1 / |row|."""
    lengths = np.ones(X.shape[1])
    A = np.zeros((X.shape[1], Y.shape[1]))
    for _ in range(3000):
        scaled = X * lengths  # (XᵀX + μ/2 diag(1/l))⁻¹ Xᵀ Y = l Xᵀ (X l Xᵀ + μ/2)⁻¹ Y
        A = scaled.T @ np.linalg.solve(scaled @ X.T + mu / 2 * np.eye(len(X)), Y)
        lengths = np.linalg.norm(A, axis=1)
    return objective(X, Y, A, mu)


def solve(X: Any, Y: Any, mu: float, **options: Any) -> Any:
    """Run the accelerated gradients."""
    return group_lasso(X, Y, mu, **options)


@pytest.mark.parametrize("share", [0.9, 0.3, 0.03])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_minimum_of_a_slow_reference(share: float, kind: Any) -> None:
    X, Y = problem()
    mu = share * vanishing_penalty(X, Y)
    found = solve(kind(X), Y, mu, tolerance=1e-8, max_steps=20_000)
    assert found.objective[-1] == pytest.approx(objective(X, Y, found.coefficients, mu))
    assert found.objective[-1] == pytest.approx(slow_minimum(X, Y, mu), rel=1e-5)


def test_many_terms_enter_in_rounds() -> None:
    X, Y = problem(200, 400)
    mu = 0.001 * vanishing_penalty(X, Y)
    found = solve(X, Y, mu, tolerance=1e-6, max_steps=20_000)
    assert np.count_nonzero(found.coefficients.any(axis=1)) > 100
    assert 0 <= found.gap <= 1e-6


@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
def test_the_objective_never_rises(share: float) -> None:
    X, Y = problem()
    found = solve(X, Y, share * vanishing_penalty(X, Y), tolerance=1e-9, max_steps=5000)
    assert found.objective[0] == pytest.approx(np.sum(Y**2))
    assert (np.diff(found.objective) <= 0).all()
    assert len(found.objective) > 10


def test_the_objective_never_rises_where_terms_point_both_ways() -> None:
    X = np.random.default_rng(3).standard_normal((30, 50))
    Y = problem()[1]
    found = solve(X, Y, 0.02 * vanishing_penalty(X, Y), tolerance=1e-7, max_steps=5000)
    assert (np.diff(found.objective) <= 0).all()
    assert found.gap <= 1e-7


def test_conditions_of_the_minimum() -> None:
    X, Y = problem()
    mu = 0.1 * vanishing_penalty(X, Y)
    A = solve(X, Y, mu, tolerance=1e-12, max_steps=50_000).coefficients
    slopes = 2 * X.T @ (Y - X @ A)
    kept = A.any(axis=1)
    assert 0 < kept.sum() < 50
    directions = A[kept] / np.linalg.norm(A[kept], axis=1, keepdims=True)
    np.testing.assert_allclose(slopes[kept], mu * directions, atol=1e-4 * mu)
    assert np.linalg.norm(slopes[~kept], axis=1).max() <= mu * (1 + 1e-4)


def test_the_gap_is_true() -> None:
    X, Y = problem()
    mu = 0.02 * vanishing_penalty(X, Y)
    lowest = solve(X, Y, mu, tolerance=1e-10, max_steps=50_000).objective[-1]
    for steps in (1, 5, 30):
        found = solve(X, Y, mu, max_steps=steps)
        above = (found.objective[-1] - lowest) / np.sum(Y**2)
        assert 0 < above <= found.gap


def test_rows_shrink_together() -> None:
    X = np.abs(problem(60, 80)[0])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    counts = []
    for mu in (0.05, 0.5, 2.0):
        fssl = FSSL(4, mu=mu, n_neighbors=5).fit(X)
        counts.append(len(fssl.selected_))
        used = fssl.components_ != 0
        assert (used.all(axis=0) | ~used.any(axis=0)).all()
        np.testing.assert_array_equal(np.flatnonzero(used.any(axis=0)), fssl.selected_)
    assert 80 > counts[0] > counts[1] > counts[2] > 0


def test_the_penalty_is_chosen_by_a_stated_rule() -> None:
    X, _ = problem(60, 80)
    chosen = FSSL(3).fit(X)
    with pytest.raises(ValueError, match="excludes every term") as caught:
        FSSL(3, mu=1e9).fit(X)
    limit = float(str(caught.value).split("less than ")[1].split(",")[0])
    assert chosen.mu_ == pytest.approx(limit / 100, rel=1e-4)
    just_below = FSSL(3, mu=limit * 0.999).fit(X)
    assert len(just_below.selected_) >= 1
    with pytest.raises(ValueError, match=f"use less than {limit:g}"):
        FSSL(3, mu=limit * 1.001).fit(X)


def test_no_penalty_is_least_squares() -> None:
    X, _ = problem(20, 50)
    free, bound = FSSL(3, mu=0, n_neighbors=4).fit(X), FSSL(3, mu=1.0, n_neighbors=4).fit(X)
    assert len(free.selected_) == 50 > len(bound.selected_)
    assert free.n_iter_ == 1


def test_an_early_end_is_said_with_its_gap() -> None:
    X, _ = problem()
    with pytest.warns(NotConverged, match="FSSL did not converge in 3 steps: residual"):
        fssl = FSSL(2, max_iter=3).fit(X)
    assert fssl.gap_ > fssl.tol


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": -1}, 'mu must be a number of at least 0 or "auto", not -1'),
        ({"mu": "some"}, "mu must be"),
        ({"mu": np.inf}, "mu must be"),
        ({"tol": -1}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FSSL(2, **options).fit(problem()[0])
