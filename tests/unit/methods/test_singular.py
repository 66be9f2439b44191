from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles

from lpisearch.methods.linalg import full_svd, truncated_svd


def low_rank(n: int, n_terms: int, rank: int = 8, noise: float = 0.0) -> Any:
    """Make a matrix of known rank, and noise if asked for."""
    rng = np.random.default_rng(0)
    X = (
        rng.standard_normal((n, rank))
        * np.arange(rank, 0, -1)
        @ rng.standard_normal((rank, n_terms))
    )
    return X + noise * rng.standard_normal((n, n_terms))


@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_full_decomposition(shape: tuple[int, int]) -> None:
    """X is put together again from its rank."""
    X = low_rank(*shape)
    for matrix in (X, sparse.csr_array(X)):
        U, s, Vt = full_svd(matrix)
        assert len(s) == 8
        np.testing.assert_allclose((U * s) @ Vt, X, atol=1e-8)
        np.testing.assert_allclose(U.T @ U, np.eye(8), atol=1e-7)
        np.testing.assert_allclose(Vt @ Vt.T, np.eye(8), atol=1e-7)


@pytest.mark.parametrize("solver", ["block", "arpack", "dense"])
@pytest.mark.parametrize("shape", [(120, 300), (300, 120)])
def test_leading_part(solver: str, shape: tuple[int, int]) -> None:
    """Every solver finds the leading triplets."""
    X = low_rank(*shape, noise=0.1)
    U, s, Vt = truncated_svd(sparse.csr_array(X), 6, rng=np.random.default_rng(0), solver=solver)
    exact = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(s, exact[1][:6], rtol=1e-6)
    assert subspace_angles(Vt.T, exact[2][:6].T).max() < 1e-4
    np.testing.assert_allclose(U * s, X @ Vt.T, atol=1e-4)


@pytest.mark.parametrize("solver", ["block", "arpack", "dense"])
@pytest.mark.parametrize("shape", [(120, 300), (300, 120)])
def test_about_the_mean(solver: str, shape: tuple[int, int]) -> None:
    X = low_rank(*shape, noise=0.1) + 3 * np.arange(shape[1]) / shape[1]
    mean = X.mean(axis=0)
    for matrix in (X, sparse.csr_array(X)):
        rng = np.random.default_rng(0)
        U, s, Vt = truncated_svd(matrix, 6, rng=rng, solver=solver, mean=mean)
        exact = np.linalg.svd(X - mean, full_matrices=False)
        np.testing.assert_allclose(s, exact[1][:6], rtol=1e-6)
        assert subspace_angles(Vt.T, exact[2][:6].T).max() < 1e-4
        np.testing.assert_allclose(U * s, (X - mean) @ Vt.T, atol=1e-4)


@pytest.mark.parametrize("solver", ["block", "arpack", "dense", "auto"])
def test_no_more_than_the_rank(solver: str) -> None:
    X = low_rank(100, 80, rank=3)
    U, s, Vt = truncated_svd(X, 20, rng=np.random.default_rng(0), solver=solver)
    assert (U.shape, s.shape, Vt.shape) == ((100, 3), (3,), (3, 80))


@pytest.mark.parametrize("solver", ["block", "arpack"])
def test_same_seed_gives_the_same_bits(solver: str) -> None:
    X = sparse.csr_array(low_rank(400, 300, noise=1.0).astype(np.float32))
    first, second = (
        truncated_svd(X, 9, rng=np.random.default_rng(5), solver=solver) for _ in range(2)
    )
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_small_sides_are_decomposed_in_full() -> None:
    X = low_rank(300, 900, rank=200, noise=1.0)
    found = truncated_svd(sparse.csr_array(X), 60, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.values, np.linalg.svd(X)[1][:60], rtol=1e-9)


def test_unknown_solver_is_refused() -> None:
    with pytest.raises(ValueError, match="auto, block, arpack, dense"):
        truncated_svd(np.eye(3), 1, rng=np.random.default_rng(0), solver="magic")
