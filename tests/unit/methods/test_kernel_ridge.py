from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles

from lpisearch.methods.krlpi import KRLPI
from lpisearch.methods.responses import ALPHAS


def corpus(n: int = 80, n_terms: int = 60, seed: int = 0) -> Any:
    """Make documents of three topics, at unit length."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % 3
    rates = np.where(np.arange(n_terms) % 4 == topic[:, np.newaxis], 1.0, 0.2)
    counts = rng.poisson(rates) + (np.arange(n_terms) == topic[:, np.newaxis])
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_all_documents_as_landmarks_are_exact(kernel: str, alpha: float) -> None:
    X, new = corpus(), corpus(9, seed=1)
    exact = KRLPI(4, kernel=kernel, alpha=alpha).fit(X)
    drawn = KRLPI(4, kernel=kernel, alpha=alpha, exact_documents=1, landmarks=80).fit(X)
    np.testing.assert_allclose(drawn.embedding_, exact.embedding_, atol=1e-6)
    np.testing.assert_allclose(drawn.transform(new), exact.transform(new), atol=1e-6)
    assert np.array_equal(drawn.landmarks_, np.arange(80))


def test_landmarks_minimise_the_same_objective_among_their_functions() -> None:
    """|K_nm C - Y|² + α Cᵀ K_mm C is least: its normal equations hold for what was drawn."""
    X = sparse.csr_array(corpus(300))
    krlpi = KRLPI(3, alpha=0.3, exact_documents=10, landmarks=25).fit(X)
    landmarks = krlpi.landmarks_
    assert len(np.unique(landmarks)) == 25
    cosines = (X @ X[landmarks].T).toarray()
    K_nm = np.exp(-(2 - 2 * cosines))
    K_mm = K_nm[landmarks]
    Y = KRLPI(3, alpha=1e-9).fit(X).embedding_  # K has full rank: these are the responses
    C = np.linalg.solve(K_nm.T @ K_nm + 0.3 * K_mm, K_nm.T @ Y)
    np.testing.assert_allclose(krlpi.embedding_, K_nm @ C, atol=1e-3)


def test_a_few_landmarks_come_near_to_all() -> None:
    X = corpus(250)
    exact = KRLPI(2).fit(X)
    drawn = KRLPI(2, exact_documents=100, landmarks=60).fit(X)
    assert subspace_angles(exact.embedding_, drawn.embedding_).max() < 0.15
    other = KRLPI(2, exact_documents=100, landmarks=60, random_state=1).fit(X)
    assert not np.array_equal(other.landmarks_, drawn.landmarks_)


def test_alpha_is_chosen_alike_on_both_ways() -> None:
    X = corpus(200)
    exact = KRLPI(8, alpha="auto").fit(X)
    drawn = KRLPI(8, alpha="auto", exact_documents=10, landmarks=200).fit(X)
    steps = [int(np.argmin(np.abs(ALPHAS - each.alpha_))) for each in (exact, drawn)]
    assert abs(steps[0] - steps[1]) <= 2


def test_length_and_empty_documents_take_no_part() -> None:
    X = corpus() + np.random.default_rng(1).random((80, 60)) / 50  # no two cosines are equal
    plain = KRLPI(4).fit(X)
    longer = np.vstack([X * np.linspace(1, 4, 80)[:, np.newaxis], np.zeros((3, 60))])
    padded = KRLPI(4).fit(longer)
    np.testing.assert_allclose(padded.embedding_[:80], plain.embedding_, atol=1e-6)
    assert not padded.embedding_[80:].any()
    assert padded.landmarks_.max() == 79
    stored_zero = sparse.csr_array((np.zeros(1), ([0], [5])), shape=(1, 60))
    assert not padded.transform(stored_zero).any()


def test_more_penalty_draws_places_together() -> None:
    X = corpus()
    spread = [np.abs(KRLPI(3, alpha=alpha).fit(X).embedding_).mean() for alpha in (0.01, 1, 100)]
    assert spread[0] > spread[1] > spread[2] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha must be a number of at least 0"),
        ({"kernel": "cubic"}, "kernel must be one of linear, rbf, poly, not 'cubic'"),
        ({"gamma": 0}, "gamma must be above 0"),
        ({"gamma": -2.0}, "gamma must be a number of at least 0"),
        ({"gamma": float("nan")}, "gamma must be a number of at least 0"),
        ({"coef0": -1}, "coef0 must be a number of at least 0"),
        ({"degree": 0}, "degree must be a whole number above 0"),
        ({"degree": 1.5}, "degree must be a whole number above 0"),
        ({"landmarks": 0}, "landmarks must be a whole number above 0"),
        ({"exact_documents": 0}, "exact_documents must be a whole number above 0"),
        ({"graph": "friends"}, "graph must be one of auto, nearest"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KRLPI(3, **options).fit(corpus())
