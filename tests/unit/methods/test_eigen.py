from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh, subspace_angles

from lpisearch.graphs.affinity import Affinity, complete
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.eigen import graph_vectors


def documents(n: int = 800, n_terms: int = 300, topics: int = 10, seed: int = 0) -> Any:
    """Make documents in topics, so that the leading eigenvalues stand out."""
    rng = np.random.default_rng(seed)
    rates = np.where(np.arange(n_terms) % topics == (np.arange(n) % topics)[:, None], 0.6, 0.05)
    return sparse.csr_array(rng.poisson(rates) * rng.uniform(0.5, 1.5, (n, n_terms)))


def solve(W: Affinity, count: int, **options: Any) -> Any:
    """Solve with a generator of its own."""
    return graph_vectors(W, count, rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_block_finds_what_lapack_finds(start: bool, dtype: Any) -> None:  # noqa: FBT001 -- a case
    X = documents()
    W = nearest(X)
    exact = solve(W, 9, solver="dense")
    block = solve(
        W, 9, solver="block", start=X.astype(dtype) if start else None, tolerance=1e-6, dtype=dtype
    )
    assert block.rounds > 0
    assert block.vectors.dtype == dtype
    np.testing.assert_allclose(block.values, exact.values, atol=1e-4)
    assert subspace_angles(block.vectors.astype(float), exact.vectors).max() < 1e-2


def test_arpack_finds_what_lapack_finds() -> None:
    W = nearest(documents())
    exact, lanczos = solve(W, 20, solver="dense"), solve(W, 20, solver="arpack")
    np.testing.assert_allclose(lanczos.values, exact.values, atol=1e-6)
    assert subspace_angles(lanczos.vectors, exact.vectors).max() < 1e-3


@pytest.mark.parametrize("solver", ["dense", "block", "arpack"])
def test_vectors_solve_the_problem(solver: str) -> None:
    W = nearest(documents())
    found = solve(W, 9, solver=solver, tolerance=1e-8)
    D = W.degrees[:, np.newaxis]
    Y = found.vectors
    np.testing.assert_allclose(W @ Y, found.values * D * Y, atol=0.02)
    np.testing.assert_allclose(W.degrees @ Y, 0, atol=1e-6 * W.degrees.sum())
    np.testing.assert_allclose(Y.T @ (D * Y) / W.degrees.sum(), np.eye(9), atol=1e-4)
    assert (np.diff(found.values) <= 0).all()
    assert found.values[0] < 1


@pytest.mark.parametrize("solver", ["dense", "block"])
def test_parts_of_a_graph_repeat_the_eigenvalue_one(solver: str) -> None:
    X = sparse.block_diag([documents(n, 60, 3, n) for n in (300, 250, 200)], format="csr")
    W = nearest(sparse.csr_array(X))
    assert W.n_components == 3
    found = solve(W, 4, solver=solver, tolerance=1e-8)
    np.testing.assert_allclose(found.values[:2], 1, atol=1e-6)
    assert found.values[2] < 0.999
    for part in range(3):
        assert np.ptp(found.vectors[W.component_labels == part, :2], axis=0).max() < 1e-2


@pytest.mark.parametrize("solver", ["dense", "block"])
def test_isolated_documents_take_no_part(solver: str) -> None:
    X = documents()
    wider = sparse.csr_array(sparse.block_diag([X, sparse.eye_array(5)]))
    alone, together = solve(nearest(X), 9), solve(nearest(wider), 9, solver=solver, tolerance=1e-8)
    assert not together.vectors[-5:].any()
    np.testing.assert_allclose(together.values, alone.values, atol=1e-3)
    assert subspace_angles(together.vectors[:-5], alone.vectors).max() < 0.05


def test_factors_serve_like_edges() -> None:
    X = documents(700, 100)
    W = complete(X)
    found = solve(W, 8, solver="block", start=X, tolerance=1e-8)
    values = eigh(W.toarray(), np.diag(W.degrees), eigvals_only=True)[::-1]
    np.testing.assert_allclose(found.values, values[1:9], atol=1e-6)


def test_only_positive_eigenvalues_are_kept() -> None:
    factor = sparse.csr_array(np.eye(4)[np.arange(1000) % 4])
    for solver in ("dense", "block"):
        found = solve(Affinity(factor=factor), 50, solver=solver)
        np.testing.assert_allclose(found.values, [1, 1, 1], atol=1e-6)


def test_a_graph_without_edges_has_no_vectors() -> None:
    assert solve(Affinity(edges=sparse.csr_array((5, 5))), 3).vectors.shape == (5, 0)


def test_unknown_solver_is_refused() -> None:
    with pytest.raises(ValueError, match="auto, block, arpack, dense"):
        solve(nearest(documents(20)), 2, solver="magic")


def test_single_precision_keeps_directions_of_small_eigenvalues() -> None:
    W = nearest(X := documents(1000))
    exact = solve(W, 250, solver="dense")
    block = solve(W, 250, solver="block", start=X.astype(np.float32), dtype=np.float32)
    assert exact.values[-1] < 0.3 * exact.values[0]
    shares = W.degrees[:, np.newaxis] / W.degrees.sum()
    kept = np.square(exact.vectors.T @ (shares * block.vectors)).sum(axis=1)
    assert np.average(kept, weights=exact.values**4) > 0.999
