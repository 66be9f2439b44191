"""What lpp-analysis-2005 proves: the ties of LPP (here LPI) to Laplacian eigenmaps and to PCA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles

from lpisearch.graphs import GraphOptions, ball, complete, nearest
from lpisearch.projections.lpi import LPI
from lpisearch.projections.lsi import LSI


def full_rank_square(n: int = 30, seed: int = 0) -> Any:
    """Make n unit rows of n terms, linearly independent."""
    counts = np.random.default_rng(seed).poisson(0.5, (n, n)) + 3 * np.eye(n)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def spread_documents(n: int = 400, n_terms: int = 12, seed: int = 0) -> Any:
    """Make unit rows that differ a little from a common one, more in some terms than in others."""
    rng = np.random.default_rng(seed)
    X = 1 + 0.25 * rng.standard_normal((n, n_terms)) / np.arange(1, n_terms + 1)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("edge_weights", ["cosine", "binary", "heat"])
def test_proposition_4_1(edge_weights: str) -> None:
    """If X is square and of full rank, LPI and Laplacian eigenmaps place documents the same."""
    X = full_rank_square()
    W = nearest(X, options=GraphOptions(edge_weights=edge_weights)).toarray()
    D = np.diag(W.sum(axis=1))
    laplacian_values, eigenmaps = eigh(D - W, D)  # smallest first, the constant leading
    lpi = LPI(10, edge_weights=edge_weights).fit(X)
    np.testing.assert_allclose(1 - lpi.eigenvalues_, laplacian_values[1:11], atol=1e-9)
    points = lpi.transform(X)
    assert subspace_angles(points, eigenmaps[:, 1:11]).max() < 1e-6
    np.testing.assert_allclose(points.T @ D @ points, np.trace(D) * np.eye(10), atol=1e-6)


def test_proposition_4_1_with_more_terms_than_documents() -> None:
    """Independent documents of many terms are a square problem after the SVD step."""
    rng = np.random.default_rng(1)
    X = np.hstack([full_rank_square(), rng.poisson(0.1, (30, 100))])
    W = nearest(X).toarray()
    D = np.diag(W.sum(axis=1))
    eigenmaps = eigh(W, D)[1][:, ::-1]
    assert subspace_angles(LPI(6).fit(X).transform(X), eigenmaps[:, 1:7]).max() < 1e-6


def test_dependent_documents_are_no_eigenmap() -> None:
    """Without full rank the two differ: the proposition needs its condition."""
    X = spread_documents(60)
    W = nearest(X).toarray()
    eigenmaps = eigh(W, np.diag(W.sum(axis=1)))[1][:, ::-1]
    assert subspace_angles(LPI(5).fit(X).transform(X), eigenmaps[:, 1:6]).max() > 0.1


def test_complete_graph_is_close_to_the_global_structure() -> None:
    """With all inner products as weights, LPI finds nearly the subspace of the SVD (section 4.2).

    The paper takes D for the identity; on documents of nearly equal degree it is, up to scale.
    """
    X = spread_documents()
    degrees = complete(X).degrees
    assert degrees.std() < 0.03 * degrees.mean()
    lpi = LPI(4, graph="complete").fit(X)
    lsi = LSI(4, solver="dense").fit(X)
    assert subspace_angles(lpi.components_.T, lsi.components_.T).max() < 0.05
    nearest_graph = LPI(4, graph="nearest", n_neighbors=5).fit(X)
    assert subspace_angles(nearest_graph.components_.T, lsi.components_.T).max() > 0.15


def test_complete_graph_is_close_to_pca_beyond_the_mean() -> None:
    """Centred, the directions after the first of the complete graph are the principal axes."""
    X = spread_documents()
    centred = X - X.mean(axis=0)
    axes = np.linalg.svd(centred)[2][:3]
    mapped = LPI(4, graph="complete").fit(X).components_
    # The mean direction apart, what remains of the subspace holds the leading axes.
    assert subspace_angles(mapped.T, axes.T).max() < 0.1


def test_constant_weights_give_the_covariance_matrix() -> None:
    """With S = eeᵀ / n², Xᵀ L X is the covariance matrix (section 2)."""
    X = spread_documents(50)
    n = len(X)
    S = np.full((n, n), 1 / n**2)
    laplacian = np.diag(S.sum(axis=1)) - S
    np.testing.assert_allclose(X.T @ laplacian @ X, np.cov(X.T, bias=True), atol=1e-12)


def test_theorem_3_2() -> None:
    """Over an ε-ball graph, Xᵀ L X / n² times 1 / β is the covariance of near pairs.

    Both sides are sums over the same pairs: the theorem's limit, taken on the sample.
    """
    X = spread_documents(80)
    W = ball(X, options=GraphOptions(radius=0.2, edge_weights="binary")).toarray()
    assert 0.05 < W.mean() < 0.95
    laplacian = np.diag(W.sum(axis=1)) - W
    differences = (X[:, np.newaxis] - X)[W > 0]
    near_covariance = 0.5 * differences.T @ differences / np.count_nonzero(W)
    np.testing.assert_allclose(X.T @ laplacian @ X / W.sum(), near_covariance, atol=1e-12)
