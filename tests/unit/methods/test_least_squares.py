from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.methods.regression import ridge


def problem(n: int, n_terms: int, seed: int = 0) -> tuple[Any, Any]:
    """Make unit rows and some responses."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.2, (n, n_terms)) + 0.01 * rng.random((n, n_terms))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, rng.standard_normal((n, 90))


def normal_equations(X: Any, Y: Any, alpha: float) -> Any:
    """Solve the textbook form."""
    return np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T @ Y)


@pytest.mark.parametrize("shape", [(60, 100), (100, 60), (50, 50)])
@pytest.mark.parametrize("solver", ["dense", "cg"])
def test_solves_the_normal_equations(shape: tuple[int, int], solver: str) -> None:
    X, Y = problem(*shape)
    for matrix in (X, sparse.csr_array(X)):
        A = ridge(matrix, Y, 0.5, solver=solver, tolerance=1e-9)
        np.testing.assert_allclose(A.coefficients, normal_equations(X, Y, 0.5), atol=1e-6)
        assert (A.steps > 0) == (solver == "cg")


def test_single_precision_is_kept() -> None:
    X, Y = problem(80, 120)
    A = ridge(sparse.csr_array(X, dtype=np.float32), Y.astype(np.float32), 1.0, solver="cg")
    assert A.coefficients.dtype == np.float32
    difference = A.coefficients - normal_equations(X, Y, 1.0)
    assert np.linalg.norm(difference) < 0.05 * np.linalg.norm(A.coefficients)


@pytest.mark.parametrize("solver", ["dense", "cg"])
def test_no_penalty_gives_the_solution_of_least_norm(solver: str) -> None:
    X, Y = problem(30, 60)
    X = np.vstack([X, X[:5]])
    Y = np.vstack([Y, Y[:5]])
    A = ridge(X, Y, 0.0, solver=solver, tolerance=1e-8).coefficients
    np.testing.assert_allclose(A, np.linalg.pinv(X) @ Y, atol=1e-5)


def test_looser_tolerance_takes_fewer_steps() -> None:
    X, Y = problem(100, 150)
    loose, tight = (ridge(X, Y[:, :3], 0.1, solver="cg", tolerance=t) for t in (0.1, 1e-6))
    assert 0 < loose.steps < tight.steps


def test_weights_decide_which_residuals_count() -> None:
    X, _ = problem(100, 150)
    easy = np.linalg.svd(X)[0][:, :1]
    hard = np.random.default_rng(0).standard_normal((100, 1))
    both = np.hstack([easy, hard])
    one = ridge(X, both, 0.1, solver="cg", tolerance=1e-3, weights=np.array([1.0, 0.0]))
    two = ridge(X, both, 0.1, solver="cg", tolerance=1e-3)
    assert one.steps < two.steps


def test_response_of_zeros_gives_zeros() -> None:
    X, Y = problem(50, 80)
    Y[:, 3] = 0
    for solver in ("dense", "cg"):
        A = ridge(X, Y, 1.0, solver=solver).coefficients
        assert not A[:, 3].any()
        assert np.isfinite(A).all()


def test_unknown_solver_is_refused() -> None:
    with pytest.raises(ValueError, match="auto, cg, dense"):
        ridge(*problem(5, 5), 1.0, solver="magic")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies_with_different_responses_have_a_least_squares_solution(dtype: Any) -> None:
    X, Y = problem(40, 90)
    X, Y = np.vstack([X, X[:10]]).astype(dtype), np.vstack([Y, -Y[:10]]).astype(dtype)
    for matrix in (X, sparse.csr_array(X)):
        found = ridge(matrix, Y, 0.0, solver="cg", tolerance=1e-6)
        assert found.residual <= 1e-6
        assert found.coefficients.dtype == dtype
        expected = np.linalg.pinv(X.astype(float), rcond=1e-5) @ Y
        np.testing.assert_allclose(found.coefficients, expected, atol=1e-3)
