"""RLPI in a kernel space: with the linear kernel it is the RLPI of rlpi-2007."""

from typing import Any

import numpy as np
import pytest

from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.krlpi import KRLPI
from lpisearch.methods.rlpi import RLPI
from tests.unit.methods.test_kernel_ridge import corpus


@pytest.mark.parametrize("alpha", [0, 0.01, 1, 100, "auto"])
@pytest.mark.parametrize("n", [40, 150])
def test_linear_kernel_is_rlpi(n: int, alpha: Any) -> None:
    X, new = corpus(n), corpus(10, seed=1)
    rlpi = RLPI(5, alpha=alpha).fit(X)
    krlpi = KRLPI(5, kernel="linear", alpha=alpha).fit(X)
    assert krlpi.alpha_ == pytest.approx(rlpi.alpha_)
    np.testing.assert_allclose(krlpi.scales_, rlpi.scales_, rtol=1e-9)
    points = rlpi.transform(X)
    signs = np.sign(np.sum(points * krlpi.embedding_, axis=0))
    np.testing.assert_allclose(krlpi.embedding_ * signs, points, atol=1e-6)
    np.testing.assert_allclose(krlpi.transform(new) * signs, rlpi.transform(new), atol=1e-6)


@pytest.mark.parametrize(
    ("y", "graph"),
    [
        ([i % 3 for i in range(60)], "auto"),
        ([i % 3 if i % 2 else None for i in range(60)], "blend"),
    ],
    ids=["all", "some"],
)
def test_linear_kernel_is_rlpi_with_labels(y: Any, graph: str) -> None:
    X = corpus(60)
    rlpi, krlpi = RLPI(2, graph=graph).fit(X, y), KRLPI(2, kernel="linear").fit(X, y)
    points = rlpi.transform(X)
    signs = np.sign(np.sum(points * krlpi.embedding_, axis=0))
    np.testing.assert_allclose(krlpi.embedding_ * signs, points, atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "slow"),
    [
        ("rbf", lambda x, z: np.exp(-0.7 * np.sum((x - z) ** 2))),
        ("poly", lambda x, z: (0.7 * (x @ z) + 0.3) ** 3),
    ],
    ids=["rbf", "poly"],
)
def test_places_against_the_equations(kernel: str, slow: Any) -> None:
    X, new = corpus(50), corpus(6, seed=1)
    options: dict[str, Any] = {"kernel": kernel, "gamma": 0.7, "coef0": 0.3, "degree": 3}
    krlpi = KRLPI(4, alpha=0.5, solver="arpack", random_state=0, **options).fit(X)
    W = nearest(X).toarray()
    roots = np.sqrt(W.sum(axis=1))
    values, vectors = np.linalg.eigh(W / np.outer(roots, roots))
    Y = (vectors / roots[:, np.newaxis])[:, ::-1][:, 1:5] * np.sqrt(W.sum())
    K = np.array([[slow(x, z) for z in X] for x in X])
    C = np.linalg.solve(K + 0.5 * np.eye(50), Y)
    expected = K @ C
    signs = np.sign(np.sum(expected * krlpi.embedding_, axis=0))
    np.testing.assert_allclose(krlpi.eigenvalues_, values[::-1][1:5], atol=1e-5)
    np.testing.assert_allclose(krlpi.embedding_, expected * signs, atol=1e-4)
    expected = np.array([[slow(x, z) for z in X] for x in new]) @ C * signs
    np.testing.assert_allclose(krlpi.transform(new), expected, atol=1e-4)


def test_a_kernel_follows_what_a_linear_map_cannot() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 2, 120), rng.integers(0, 2, 120)
    X = np.zeros((120, 4))
    X[np.arange(120), left] = X[np.arange(120), 2 + right] = 1
    X = (X + rng.random((120, 4)) / 10) / np.sqrt(2)
    y = left ^ right
    fits = {}
    for name in ("linear", "poly"):
        points = KRLPI(1, kernel=name, alpha=0.01).fit(X, y.tolist()).embedding_[:, 0]
        fits[name] = abs(np.corrcoef(points, y)[0, 1])
    assert fits["linear"] < 0.4
    assert fits["poly"] > 0.95
