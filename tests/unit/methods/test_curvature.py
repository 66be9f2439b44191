from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.methods import lpfl
from lpisearch.methods.fsslpi import group_lasso
from lpisearch.methods.lpfl import alternating_directions
from lpisearch.methods.regression import max_curvature, overshoots


def problem() -> tuple[Any, Any]:
    """Make documents with one direction far stronger than the others, and responses."""
    rng = np.random.default_rng(0)
    return rng.random((40, 25)), rng.standard_normal((40, 2))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_the_largest_squared_singular_value(kind: Any, dtype: Any) -> None:
    X = kind(problem()[0].astype(dtype))
    exact = np.linalg.norm(problem()[0], 2) ** 2
    assert exact <= max_curvature(X, X.T, np.random.default_rng(0)) <= 1.03 * exact


def test_a_step_too_long_is_seen() -> None:
    X, _ = problem()
    change = np.linalg.svd(X)[2][:1].T
    curvature = float(np.linalg.norm(X, 2)) ** 2
    assert overshoots(X @ change, change, 0.99 * curvature, 1.0)
    assert not overshoots(X @ change, change, 1.01 * curvature, 1.0)
    assert not overshoots(np.full((40, 1), 1e-15), np.zeros((25, 1)), curvature, 1.0)


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_too_small_an_estimate_is_made_up_for(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y = problem()
    options: Any = {"mu": 1, "rho": 1, "tolerance": 1e-7, "max_steps": 20_000}
    rng = np.random.default_rng(0)
    found = alternating_directions(X, Y, 25, rng=rng, **options)
    exact = np.linalg.norm(X, 2) ** 2
    monkeypatch.setattr(lpfl, "max_curvature", lambda *_: share * exact)
    again = alternating_directions(X, Y, 25, rng=rng, **options)
    assert again.objective[-1] == pytest.approx(found.objective[-1], rel=1e-3)


def test_nothing_asked_of_the_tolerance_ends() -> None:
    X, Y = problem()
    single, right = X.astype(np.float32), Y.astype(np.float32)
    lasso = group_lasso(single, right, 1.0, tolerance=0, max_steps=5000)
    assert len(lasso.objective) <= 5001
    assert (np.diff(lasso.objective) <= 0).all()
    rng = np.random.default_rng(0)
    found = alternating_directions(single, right, 5, rng=rng, tolerance=0, max_steps=300)
    assert len(found.objective) <= 300
    assert np.isfinite(found.coefficients).all()
