"""Spectral regression (Cai, He, Han, 2007) against its equations, by every name that it has."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.linear_model import Lasso

from lpisearch.methods.fsslpi import FSSL
from lpisearch.methods.rlpi import RLPI
from lpisearch.methods.slpi import SLPI
from lpisearch.methods.spectral import NAMES, SpectralRegression
from lpisearch.methods.spg import SPG
from tests.papers import naive

N = 120
X = naive.documents(N, 80)
LABELS = (np.arange(N) % 4).tolist()
Y = naive.indicators(np.array(LABELS))


def degrees(A: Any, B: Any) -> float:
    """Give the largest angle between the columns of two matrices."""
    return float(np.degrees(subspace_angles(A, B).max()))


def test_srda_is_ridge_regression_on_class_indicators() -> None:
    srda = SpectralRegression.named("SRDA", strength=0.3).fit(sparse.csr_array(X), LABELS)
    exact = np.linalg.solve(X.T @ X + 0.3 * np.eye(80), X.T @ Y)
    assert degrees(srda.method_.components_.T, exact) < 1e-5


def test_srkda_solves_the_kernel_equation() -> None:
    srkda = SpectralRegression.named("SRKDA", strength=0.3).fit(X, LABELS)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    exact = naive.kernel_ridge(np.exp(-(2 - 2 * unit @ unit.T)), Y, 0.3)
    assert degrees(srkda.transform(X), exact) < 1e-5


def test_sparse_regression_is_the_lasso() -> None:
    sparse_srda = SpectralRegression.named("sparse SRDA", strength=2.0).fit(X, LABELS)
    lasso = Lasso(alpha=2.0 / (2 * N), fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, Y)
    signs = np.sign(np.sum(lasso.coef_ * sparse_srda.method_.components_, axis=1))
    np.testing.assert_allclose(
        sparse_srda.method_.components_, lasso.coef_ * signs[:, np.newaxis], atol=1e-5
    )


def test_ready_responses_are_regressed() -> None:
    own = np.random.default_rng(0).standard_normal((N, 3))
    found = SpectralRegression(strength=0.5).fit(X, responses=own).transform(X)
    exact = X @ np.linalg.solve(X.T @ X + 0.5 * np.eye(80), X.T @ own)
    np.testing.assert_allclose(np.abs(found), np.abs(exact), atol=1e-8)


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("RLPI", RLPI(3, alpha="auto")),
        ("SLPI", SLPI(3)),
        ("SPG", SPG(3)),
        ("FSSL", FSSL(3)),
    ],
)
def test_presets_are_those_of_the_papers(name: str, preset: Any) -> None:
    found = SpectralRegression.named(name, n_components=3).fit(X)
    np.testing.assert_array_equal(found.method_.components_, preset.fit(X).components_)


@pytest.mark.parametrize("name", list(NAMES))
def test_every_name_separates_the_topics(name: str) -> None:
    model = SpectralRegression.named(name, n_components=3)
    places = model.fit(X, LABELS if NAMES[name][2] == "label" else None).transform(X)
    assert places.shape == (N, 3)
    assert np.isfinite(places).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="A kernel has a ridge penalty, not 'lasso'"):
        SpectralRegression(regulariser="lasso", kernel="rbf").fit(X)
    with pytest.raises(ValueError, match="regulariser must be one of"):
        SpectralRegression(regulariser="elastic").fit(X)
    with pytest.raises(ValueError, match="120 documents, but 3 rows of responses"):
        SpectralRegression().fit(X, responses=np.eye(3))
