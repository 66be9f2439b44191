"""What lpp-analysis-2005 proves: the ties of LPP and LPI to Laplacian eigenmaps and to PCA."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles

from lpisearch.graphs.affinity import complete
from lpisearch.graphs.base import GRAPHS, GraphOptions
from lpisearch.graphs.neighbours import ball, nearest
from lpisearch.methods.eigenmaps import Eigenmaps
from lpisearch.methods.lpi import LPI
from lpisearch.methods.lpp import LPP
from lpisearch.methods.lsi import LSI
from lpisearch.methods.pca import PCA


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
    rng = np.random.default_rng(1)
    X = np.hstack([full_rank_square(), rng.poisson(0.1, (30, 100))])
    W = nearest(X).toarray()
    D = np.diag(W.sum(axis=1))
    eigenmaps = eigh(W, D)[1][:, ::-1]
    assert subspace_angles(LPI(6).fit(X).transform(X), eigenmaps[:, 1:7]).max() < 1e-6


def test_dependent_documents_are_no_eigenmap() -> None:
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
    # The first singular vector is nearly the mean direction.
    lpi = LPI(4, graph="complete").fit(X)
    lsi = LSI(4, solver="dense").fit(X)
    assert subspace_angles(lpi.components_.T, lsi.components_.T).max() < 0.05
    nearest_graph = LPI(4, graph="nearest", n_neighbors=5).fit(X)
    assert subspace_angles(nearest_graph.components_.T, lsi.components_.T).max() > 0.1


def test_complete_graph_is_close_to_pca_beyond_the_mean() -> None:
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


def balanced_documents(n: int = 60, n_terms: int = 12, seed: int = 0) -> Any:
    """Make documents whose inner products with all others have one sum: rows and columns even."""
    noise = np.random.default_rng(seed).standard_normal((n, n_terms)) / np.arange(1, n_terms + 1)
    noise -= noise.mean(axis=0)
    noise -= noise.mean(axis=1, keepdims=True)
    return 1 + 0.1 * noise


def ring(n: int) -> Any:
    """Join each document to two neighbours, weights 2 and 1 in turn: all degrees are 3."""
    W = np.zeros((n, n))
    for i in range(n):
        W[i, (i + 1) % n] = W[(i + 1) % n, i] = 2 - i % 2
    return W


@pytest.mark.parametrize("graph", ["nearest", "ball", "complete"])
def test_lpp_solves_equation_4_about_the_mean(graph: str) -> None:
    """λ and a are those of Zᵀ L Z a = λ Zᵀ D Z a, smallest first, Z the documents about their mean.

    The reference solves the dense problem in its minimising form.
    """
    X = spread_documents(120)
    options = GraphOptions(n_neighbors=6, radius=0.08)
    W = GRAPHS[graph].build(X, None, options).toarray()
    D = np.diag(W.sum(axis=1))
    assert (np.diagonal(D) > 0).all()
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    Z = (X - X.mean(axis=0)) @ axes.T
    values, vectors = eigh(Z.T @ (D - W) @ Z, Z.T @ D @ Z)
    lpp = LPP(4, graph=graph, n_neighbors=6, radius=0.08).fit(X)
    np.testing.assert_allclose(1 - lpp.eigenvalues_, values[:4], atol=1e-9)
    assert subspace_angles(lpp.components_.T, axes.T @ vectors[:, :4]).max() < 1e-6
    centred = lpp.transform(X) - lpp.transform(X).mean(axis=0)
    np.testing.assert_allclose(centred.T @ D @ centred, np.trace(D) * np.eye(4), atol=1e-6)


def test_proposition_4_1_about_the_mean() -> None:
    X, W = full_rank_square(), ring(30)
    eigenmaps = eigh(np.diag(W.sum(axis=1)) - W)[1]
    points = LPP(10).fit(X, affinity=W).transform(X)
    assert subspace_angles(points - points.mean(axis=0), eigenmaps[:, 1:11]).max() < 1e-6


def test_the_complete_graph_gives_principal_components() -> None:
    """With all inner products as weights and equal degrees, LPP is PCA exactly (section 4.2)."""
    X = balanced_documents()
    degrees = complete(X).degrees
    np.testing.assert_allclose(degrees, degrees[0], rtol=1e-12)
    lpp, pca = LPP(4, graph="complete").fit(X), PCA(4).fit(X)
    for k in range(1, 5):
        assert subspace_angles(lpp.components_[:k].T, pca.components_[:k].T).max() < 1e-6
    np.testing.assert_allclose(lpp.eigenvalues_, 60 * pca.eigenvalues_ / degrees[0], rtol=1e-6)


def test_the_complete_graph_is_close_to_pca_where_degrees_are_close() -> None:
    """The paper takes D for the identity: nearly so is near enough; neighbours differ."""
    X = spread_documents()
    axes = PCA(3).fit(X).components_.T
    assert subspace_angles(LPP(3, graph="complete").fit(X).components_.T, axes).max() < 0.05
    assert subspace_angles(LPP(3, n_neighbors=5).fit(X).components_.T, axes).max() > 0.15


def test_no_complete_graph_of_centred_documents() -> None:
    """About their mean all inner products of a document sum to 0: the graph is of X itself.

    The premises of section 4.2, zero mean and D close to the identity, exclude each other.
    """
    X = spread_documents(50)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose((centred @ centred.T).sum(axis=1), 0, atol=1e-12)


def test_lpp_and_lpi_differ_by_the_mean() -> None:
    X = spread_documents(60)
    W = np.roll(np.eye(60), 1, axis=1) + np.roll(np.eye(60), -1, axis=1)
    assert (
        subspace_angles(
            LPP(3).fit(X, affinity=W).components_.T, LPI(3).fit(X, affinity=W).components_.T
        ).max()
        > 1e-3
    )
    centred = X - X.mean(axis=0)
    both = [cls(3).fit(centred, affinity=W).components_.T for cls in (LPP, LPI)]
    assert subspace_angles(*both).max() < 1e-6


def test_lpp_as_section_4_1_has_it_is_laplacian_eigenmaps() -> None:
    X = np.random.default_rng(3).random((60, 90)) ** 6
    W = nearest(X)
    places = LPP(4, centred=False).fit(X, affinity=W).transform(X)
    maps = Eigenmaps(4).fit(X, affinity=W).embedding_
    assert subspace_angles(places, maps).max() < 1e-6
    centred = LPP(4).fit(X, affinity=W).transform(X)
    assert subspace_angles(centred, maps).max() > 1e-3
