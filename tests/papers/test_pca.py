"""PCA as lpp-analysis-2005 states it: the eigenvectors of the covariance matrix (section 2)."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles

from lpisearch.methods.pca import PCA


def documents(n: int = 150, n_terms: int = 40, seed: int = 0) -> Any:
    """Make documents of few words, some terms far more common than others."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(2 / np.arange(1, n_terms + 1), (n, n_terms)) + (np.arange(n_terms) == 0)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.mark.parametrize("solver", ["auto", "block", "arpack", "dense"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_eigenvectors_of_the_covariance_matrix(solver: str, kind: Any) -> None:
    X = documents()
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    pca = PCA(5, solver=solver).fit(kind(X))
    np.testing.assert_allclose(pca.eigenvalues_, values[::-1][:5], rtol=1e-6)
    assert subspace_angles(pca.components_.T, vectors[:, ::-1][:, :5]).max() < 1e-3
    np.testing.assert_allclose(pca.mean_, X.mean(axis=0))


def test_variances_of_the_places() -> None:
    X = documents()
    pca = PCA(6).fit(X)
    covariance = np.cov(pca.transform(X).T, bias=True)
    np.testing.assert_allclose(covariance, np.diag(pca.eigenvalues_), atol=1e-12)


def test_eigenvectors_of_the_laplacian_of_constant_weights() -> None:
    X = documents()
    n = len(X)
    laplacian = np.eye(n) / n - np.full((n, n), 1 / n**2)
    components = PCA(4).fit(X).components_
    turned = components @ (X.T @ laplacian @ X) @ components.T
    np.testing.assert_allclose(turned, np.diag(PCA(4).fit(X).eigenvalues_), atol=1e-12)


def test_distances_are_those_about_the_mean() -> None:
    X = documents()
    pca = PCA(4).fit(X)
    about = (X - pca.mean_) @ pca.components_.T
    np.testing.assert_allclose(
        pca.transform(X) - about, np.tile(pca.components_ @ pca.mean_, (150, 1))
    )


def test_the_mean_is_no_component() -> None:
    rng = np.random.default_rng(1)
    X = 100 + rng.standard_normal((80, 6)) * [3, 1, 1, 1, 1, 1]
    first = PCA(1).fit(X).components_[0]
    assert abs(first[0]) > 0.9


@pytest.mark.parametrize("solver", ["block", "arpack"])
def test_sparse_documents_are_not_filled_up(solver: str) -> None:
    X = sparse.random_array(
        (1600, 30_000), density=2e-4, format="csr", dtype=np.float32, rng=np.random.default_rng(0)
    )
    tracemalloc.start()
    PCA(5, solver=solver).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_documents_have_no_component(dtype: Any) -> None:
    X = np.tile(np.array([0.1, 0.7, 0.3], dtype=dtype), (9, 1))
    with pytest.raises(ValueError, match="The documents cannot be distinguished"):
        PCA(2).fit(X)


def test_unknown_solver_is_refused() -> None:
    with pytest.raises(ValueError, match="auto, block, arpack, dense"):
        PCA(2, solver="magic").fit(documents())
