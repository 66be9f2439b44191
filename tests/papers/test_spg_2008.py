"""What spg-2008 states: theorem 1, equations 1, 5, 8 and 9, and its table 3 on one draw.

Documents are rows here, so the paper's Xᵀ a = y is X a = y.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import confusion_matrix

from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.lsi import LSI
from lpisearch.methods.pca import PCA
from lpisearch.methods.slpi import SLPI
from lpisearch.methods.spca import SPCA
from lpisearch.methods.spg import SPG


def documents(n: int, n_terms: int, classes: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Make unit rows of some classes, each with words of its own and many of all."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    rates = np.where(np.arange(n_terms) % (2 * classes) == y[:, np.newaxis], 0.8, 0.25)
    counts = rng.poisson(rates) + np.eye(n, n_terms)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True), y


def test_theorem_1() -> None:
    """If X a = y for an eigenvector y of the graph, a solves X'LX a = λ X'DX a with the same λ."""
    X, _ = documents(40, 120)
    W = nearest(X).toarray()
    D = np.diag(W.sum(axis=1))
    L = D - W
    values, Y = eigh(L, D)
    A = np.linalg.pinv(X) @ Y
    np.testing.assert_allclose(X.T @ L @ X @ A, X.T @ D @ X @ A * values, atol=1e-9)


def test_the_whole_path_ends_at_the_eigenvectors() -> None:
    """With more terms than documents and no limit to card(a), X a is y: a solves equation 3."""
    X, _ = documents(40, 120)
    found = SPG(5, cardinality=120).fit(X)
    W = nearest(X).toarray()
    D = np.diag(W.sum(axis=1))
    A = found.components_.T
    residual = X.T @ W @ X @ A - X.T @ D @ X @ A * found.eigenvalues_
    assert np.abs(residual).max() < 1e-8
    assert (np.count_nonzero(A, axis=0) <= 40).all()
    moments = (X @ A).T @ D @ (X @ A)
    np.testing.assert_allclose(moments, D.sum() * np.eye(5), atol=1e-6)


@pytest.mark.parametrize("cardinality", [1, 4, 9, 17])
@pytest.mark.parametrize("labelled", ["none", "some", "all"])
def test_equation_1(cardinality: int, labelled: str) -> None:
    """card(a) ≤ k holds for every dimension, without labels, with some, and with all."""
    X, classes = documents(80, 60)
    known = {"none": 0, "some": 30, "all": 80}[labelled]
    y = [str(each) if at < known else None for at, each in enumerate(classes)] if known else None
    components = SPG(3, cardinality=cardinality).fit(sparse.csr_array(X), y).components_
    assert np.count_nonzero(components, axis=1).tolist() == [cardinality] * 3


def test_equation_5() -> None:
    """SPG and SLPI walk one path: for the β where the one stopped, the other gives the same map."""
    X, _ = documents(70, 90)
    by_number = SPG(4, cardinality=12).fit(X)
    for row, beta in enumerate(by_number.penalties_):
        by_penalty = SLPI(4, beta=float(beta)).fit(X)
        np.testing.assert_allclose(
            by_penalty.components_[row], by_number.components_[row], atol=1e-9
        )


def test_equation_9() -> None:
    """Two classes of sizes m1 and m2 have a response in the ratio m/m1 to -m/m2."""
    y = ["a"] * 15 + ["b"] * 45
    X = np.eye(60, 80)  # a term for each document, so that the map can be read off
    response = SPG(1, cardinality=80).fit(X, y).components_[0]
    first, second = response[:15], response[15:60]
    np.testing.assert_allclose(first, first[0])
    np.testing.assert_allclose(second, second[0])
    assert first[0] / second[0] == pytest.approx(-(60 / 15) / (60 / 45))


def test_labels_give_a_sparse_discriminant_analysis() -> None:
    X, y = documents(240, 160)
    train, test = slice(0, 160), slice(160, 240)
    found = SPG(cardinality=25).fit(X[train], [str(each) for each in y[train]])
    assert found.components_.shape == (3, 160)
    points = found.transform(X)
    centroids = np.array([points[train][y[train] == each].mean(axis=0) for each in range(4)])
    apart = np.linalg.norm(points[test][:, np.newaxis] - centroids, axis=2)
    assert np.mean(apart.argmin(axis=1) == y[test]) > 0.75  # by chance 0.25


def test_sparse_principal_components_end_at_the_ordinary_ones() -> None:
    X, _ = documents(120, 30)
    X = sparse.csr_array(X)
    whole, ordinary = SPCA(4, cardinality=30).fit(X), PCA(4).fit(X)
    np.testing.assert_allclose(whole.components_, ordinary.components_, atol=1e-8)
    np.testing.assert_allclose(whole.eigenvalues_, ordinary.eigenvalues_, rtol=1e-6)
    few = SPCA(4, cardinality=8).fit(X)
    assert np.count_nonzero(few.components_, axis=1).tolist() == [8] * 4
    assert subspace_angles(few.components_.T, ordinary.components_.T).max() > 1e-2


def test_the_first_term_is_the_one_of_the_largest_loading() -> None:
    X, _ = documents(120, 30)
    single, ordinary = SPCA(1, cardinality=1).fit(X), PCA(1).fit(X)
    assert np.flatnonzero(single.components_[0]) == np.abs(ordinary.components_[0]).argmax()


@pytest.mark.data
def test_table_3_on_one_draw(data: Path) -> None:
    X, y = _draw(data / "tdt2" / "tdt2.npz", 10)
    spg = SPG(9, n_neighbors=7).fit(X)
    assert np.mean(spg.components_ == 0) > 0.99
    accuracies = [
        _accuracy(points, y)
        for points in (spg.transform(X), SPCA(10).fit_transform(X), LSI(10).fit_transform(X))
    ]
    assert accuracies[0] > 0.9
    assert accuracies[0] > max(accuracies[1:]) + 0.1


def _draw(path: Path, count: int) -> tuple[sparse.csr_array, Any]:
    """Draw classes; keep the terms that occur, and bring rows to unit length."""
    stored = np.load(path)
    shape = tuple(stored["shape"])
    counts = sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=shape)
    chosen = np.random.default_rng(0).choice(np.unique(stored["label"]), count, replace=False)
    rows = np.flatnonzero(np.isin(stored["label"], chosen))
    X = counts[rows].astype(np.float64)
    X = X[:, np.flatnonzero(X.sum(axis=0))]
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1 / lengths) @ X), stored["label"][rows]


def _accuracy(points: Any, y: Any) -> float:
    """Cluster, and count what is right under the best assignment of clusters to classes."""
    classes, numbers = np.unique(y, return_inverse=True)
    found = KMeans(len(classes), n_init=10, random_state=0).fit_predict(points)
    table = confusion_matrix(numbers, found)
    return float(table[linear_sum_assignment(-table)].sum() / len(y))
