"""Laplacian eigenmaps as lpp-analysis-2005 has them, and its proposition 4.1."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles

from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.eigenmaps import Eigenmaps
from lpisearch.methods.lpi import LPI


def independent_documents(n: int = 30, n_terms: int = 30, seed: int = 0) -> Any:
    """Make n unit rows that are linearly independent."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.5, (n, n_terms)) + 3 * np.eye(n, n_terms)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.mark.parametrize("edge_weights", ["cosine", "binary", "heat"])
def test_places_are_eigenvectors_of_the_laplacian(edge_weights: str) -> None:
    """Places solve L y = (1 - λ) D y, with the constant vector left out (equation 6)."""
    X = independent_documents()
    W = nearest(X, options=GraphOptions(5, edge_weights=edge_weights)).toarray()
    D = np.diag(W.sum(axis=1))
    values, reference = eigh(D - W, D)
    maps = Eigenmaps(6, n_neighbors=5, edge_weights=edge_weights).fit(X)
    Y = maps.embedding_
    np.testing.assert_allclose(1 - maps.eigenvalues_, values[1:7], atol=1e-9)
    np.testing.assert_allclose((D - W) @ Y, D @ Y * (1 - maps.eigenvalues_), atol=1e-9)
    np.testing.assert_allclose(Y.T @ D @ Y, np.trace(D) * np.eye(6), atol=1e-6)
    assert subspace_angles(Y, reference[:, 1:7]).max() < 1e-6
    assert (maps.embedding_.max(axis=0) == np.abs(maps.embedding_).max(axis=0)).all()


def test_no_other_places_keep_neighbours_as_near() -> None:
    X = independent_documents()
    W = nearest(X).toarray()
    D = np.diag(W.sum(axis=1))
    rng = np.random.default_rng(1)

    def stretch(y: Any) -> float:
        return float(0.5 * np.sum(W * (y[:, np.newaxis] - y) ** 2))

    best = stretch(Eigenmaps(1).fit(X).embedding_[:, 0])
    for _ in range(20):
        y = rng.standard_normal(30)
        y -= (D.diagonal() @ y) / np.trace(D)
        y *= np.sqrt(np.trace(D) / (y @ D @ y))
        assert stretch(y) > best


@pytest.mark.parametrize("n_terms", [30, 130])
def test_proposition_4_1(n_terms: int) -> None:
    X = independent_documents(n_terms=n_terms)
    maps, lpi = Eigenmaps(8).fit(X), LPI(8).fit(X)
    points = lpi.transform(X)
    np.testing.assert_allclose(maps.eigenvalues_, lpi.eigenvalues_, atol=1e-9)
    signs = np.sign(np.sum(points * maps.embedding_, axis=0))
    np.testing.assert_allclose(points * signs, maps.embedding_, atol=1e-6)


def test_dependent_documents_differ() -> None:
    rng = np.random.default_rng(2)
    X = 1 + 0.25 * rng.standard_normal((60, 12))
    maps, lpi = Eigenmaps(5).fit(X), LPI(5).fit(X)
    assert subspace_angles(maps.embedding_, lpi.transform(X)).max() > 0.1
