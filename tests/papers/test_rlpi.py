"""What rlpi-2007 proves: Theorems 1 and 2, Corollary 3, and section 3.3 on labels.

Documents are rows here, so "X has full row rank" is the paper's rank(X) = m.
"""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles

from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.lpi import LPI
from lpisearch.methods.responses import label_responses
from lpisearch.methods.rlpi import RLPI

TINY = 1e-11


def independent_documents(n: int = 40, n_terms: int = 120, seed: int = 0) -> Any:
    """Make unit rows that are linearly independent: more terms than documents."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.3, (n, n_terms)) + np.eye(n, n_terms)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def graph_problem(X: Any) -> tuple[Any, Any, Any, Any]:
    """Solve W y = λ D y in full; give W, D, λ (largest first) and the y."""
    W = nearest(X).toarray()
    D = np.diag(W.sum(axis=1))
    values, vectors = eigh(W, D)
    return W, D, values[::-1], vectors[:, ::-1]


def test_theorem_1() -> None:
    """If X a = y for an eigenvector y of the graph, a solves the problem of LPI with the same λ."""
    X = independent_documents()
    W, D, values, Y = graph_problem(X)
    A = np.linalg.pinv(X) @ Y
    np.testing.assert_allclose(X @ A, Y, atol=1e-12)
    np.testing.assert_allclose(X.T @ W @ X @ A, X.T @ D @ X @ A * values, atol=1e-9)


def test_theorem_2() -> None:
    """With dependent rows, an eigenvector in the column space of X is solved; another is not."""
    distinct = independent_documents(12, 30)
    X = np.repeat(distinct, 2, axis=0)
    W = np.kron(nearest(distinct).toarray() + 1, np.ones((2, 2)))
    W += 5 * np.kron(np.eye(12), [[0, 1], [1, 0]])  # twins are nearer than others
    D = np.diag(W.sum(axis=1))
    values, Y = eigh(W, D)
    projector = X @ np.linalg.pinv(X)
    inside = np.linalg.norm(projector @ Y - Y, axis=0) < 1e-9
    assert 0 < np.count_nonzero(inside) < len(X)
    A = np.linalg.solve(X.T @ X + TINY * np.eye(X.shape[1]), X.T @ Y)
    errors = np.linalg.norm(X.T @ W @ X @ A - X.T @ D @ X @ A * values, axis=0)
    fits = np.linalg.norm(X @ A - Y, axis=0)
    assert errors[inside].max() < 1e-6
    assert fits[inside].max() < 1e-6
    assert fits[~inside].min() > 1e-2


@pytest.mark.parametrize("n_components", [3, 8, 15])
@pytest.mark.parametrize("seed", [0, 1])
def test_corollary_3(n_components: int, seed: int) -> None:
    """With independent rows and α → 0, RLPI spans the subspace of LPI, with the same λ."""
    X = independent_documents(seed=seed)
    rlpi = RLPI(n_components, alpha=TINY).fit(X)
    lpi = LPI(n_components).fit(X)
    assert rlpi.components_.shape == lpi.components_.shape == (n_components, X.shape[1])
    assert subspace_angles(rlpi.components_.T, lpi.components_.T).max() < 1e-6
    np.testing.assert_allclose(rlpi.eigenvalues_, lpi.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(rlpi.transform(X), lpi.transform(X), atol=1e-6)


def test_corollary_3_needs_a_small_alpha() -> None:
    X = independent_documents()
    angles = subspace_angles(RLPI(5, alpha=1.0).fit(X).components_.T, LPI(5).fit(X).components_.T)
    assert angles.max() > 1e-2


def test_corollary_3_without_penalty() -> None:
    X = independent_documents()
    none, tiny = RLPI(5, alpha=0).fit(X), RLPI(5, alpha=TINY).fit(X)
    np.testing.assert_allclose(none.components_, tiny.components_, atol=1e-7)


def test_labelled_documents_of_a_class_share_a_point() -> None:
    X = independent_documents()
    y: Any = np.array(list("abcde"))[np.arange(len(X)) % 5]
    rlpi = RLPI(alpha=TINY).fit(X, y)
    assert rlpi.n_components_ == 4
    points = rlpi.transform(X)
    centroids = np.array([points[y == label].mean(axis=0) for label in "abcde"])
    np.testing.assert_allclose(points, centroids[np.arange(len(X)) % 5], atol=1e-6)
    apart = np.linalg.norm(centroids[:, np.newaxis] - centroids, axis=2)
    assert apart[~np.eye(5, dtype=bool)].min() > 1


def test_responses_are_eigenvectors_of_the_label_graph() -> None:
    y: Any = np.array(list("aabbbccccd"))
    Y = label_responses(y, len(y), np.float64).vectors
    W = (y[:, np.newaxis] == y).astype(float)
    assert Y.shape == (10, 3)
    np.testing.assert_allclose(W @ Y, W.sum(axis=1)[:, np.newaxis] * Y, atol=1e-12)
    np.testing.assert_allclose(Y.T @ Y, 10 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-12)


def test_labels_agree_with_the_eigenproblem_of_their_graph() -> None:
    """Gram-Schmidt gives the subspace that solving the graph of equation 16 gives."""
    X = independent_documents()
    y: Any = np.arange(len(X)) % 4
    direct = RLPI(alpha=1.0).fit(X, y)
    W = (y[:, np.newaxis] == y).astype(float)
    solved = RLPI(3, alpha=1.0).fit(X, affinity=W)
    assert subspace_angles(direct.components_.T, solved.components_.T).max() < 1e-6
    np.testing.assert_allclose(solved.eigenvalues_, 1, atol=1e-9)
