"""What PLSI and NMF have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.methods.base import FewerDimensions, NotConverged
from lpisearch.methods.nmf import NMF
from lpisearch.methods.plsi import PLSI

both = pytest.mark.parametrize("method", [PLSI, NMF])


def counts(n: int = 30, n_terms: int = 20, seed: int = 0) -> Any:
    """Make counts on two topics."""
    rng = np.random.default_rng(seed)
    return rng.poisson(np.where(np.arange(n_terms) % 2 == np.arange(n)[:, np.newaxis] % 2, 2, 0.2))


@both
@pytest.mark.parametrize("stage", ["fit", "transform"])
def test_negative_weights_are_refused(method: Any, stage: str) -> None:
    X = counts().astype(float)
    estimator = method(2).fit(X)
    X[3, 4] = -0.1
    with pytest.raises(ValueError, match=f"Negative values in data passed to .*{stage}"):
        getattr(estimator, stage)(X)


@both
def test_no_more_factors_than_documents_or_terms(method: Any) -> None:
    X = np.vstack([counts(6), np.zeros((3, 20))])
    with pytest.warns(FewerDimensions, match="50 dimensions were requested, .* only 6"):
        estimator = method(50).fit(X)
    assert estimator.n_components_ == 6
    assert estimator.embedding_.shape == (9, 6)
    assert estimator.factors_.shape == (6, 20)
    assert estimator.transform(X).shape == estimator.embed(X).shape == (9, 6)


@both
def test_empty_documents_have_no_cluster(method: Any) -> None:
    clusters = method(2).fit(np.vstack([counts(), np.zeros((1, 20))])).clusters_
    assert clusters[-1] == -1
    assert set(clusters[:-1].tolist()) == {0, 1}


@both
def test_unknown_terms_count_for_nothing(method: Any) -> None:
    X = np.hstack([counts(), np.zeros((30, 1))])
    estimator = method(2).fit(X)
    new = X[:2].copy()
    new[:, -1] = 5
    np.testing.assert_allclose(estimator.embed(new), estimator.embed(X[:2]), atol=1e-6)
    assert not estimator.transform(np.eye(21)[20:]).any()


@both
def test_stored_zeros_are_no_terms(method: Any) -> None:
    X = sparse.csr_array(counts(), dtype=np.float64)
    padded = X.copy()
    padded[0, np.flatnonzero(X.toarray()[0])[0]] = 0
    clean = sparse.csr_array(padded.toarray())
    assert padded.nnz > clean.nnz
    stored = padded.nnz
    np.testing.assert_array_equal(method(2).fit_transform(padded), method(2).fit_transform(clean))
    assert padded.nnz == stored


@pytest.mark.parametrize("scale", [1e-25, 1e15])
@pytest.mark.parametrize("method", [PLSI(2), NMF(2), NMF(2, weighting="none")], ids=repr)
def test_the_unit_of_the_weights_makes_no_difference(method: Any, scale: float) -> None:
    X = counts().astype(np.float32)
    expected = method.fit_transform(X)
    np.testing.assert_allclose(method.fit_transform(X * np.float32(scale)), expected, atol=1e-3)


@both
def test_more_starts_are_no_worse(method: Any) -> None:
    X = counts(40, 30)
    one, more = (method(6, n_init=count).fit(X) for count in (1, 6))
    if method is PLSI:
        assert more.log_likelihoods_[-1] >= one.log_likelihoods_[-1]
    else:
        assert more.objectives_[-1] <= one.objectives_[-1]


@both
def test_an_end_before_convergence_is_told(method: Any) -> None:
    with pytest.warns(NotConverged, match=r"in 2 steps: residual .*, tolerance 1e-05"):
        estimator = method(3, max_iter=2, tolerance=1e-5).fit(counts())
    assert estimator.n_iter_ == 2


@both
@pytest.mark.parametrize(
    ("name", "bad"), [("max_iter", 0), ("n_init", 0), ("tolerance", -1), ("tolerance", "small")]
)
def test_bad_limits_are_refused(method: Any, name: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be"):
        method(2, **{name: bad}).fit(counts())


@pytest.mark.parametrize("bad", ["cut", None])
@pytest.mark.parametrize("name", ["weighting", "solver"])
def test_unknown_choices_are_refused(name: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be one of .*, not {bad!r}"):
        NMF(2, **{name: bad}).fit(counts())


@pytest.mark.parametrize(
    ("name", "bad"),
    [("beta", 0), ("beta", 1.5), ("beta", "warm"), ("beta", True), ("held_out", 1), ("cooling", 0)],
)
def test_bad_tempering_is_refused(name: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be"):
        PLSI(2, **{name: bad}).fit(counts())
