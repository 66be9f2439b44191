from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.classifiers.classifier import (
    LARGEST_WEIGHT,
    as_shares,
    best_weights,
    surprise,
    weighted,
)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8))
def test_shares(scores: list[float]) -> None:
    """Shares are from 0 to 1, sum to 1, and are in the order of the scores."""
    shares = as_shares(np.array([scores]))[0]
    assert shares.sum() == pytest.approx(1)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert (np.diff(shares[np.argsort(scores)]) >= 0).all()


def test_shares_by_hand() -> None:
    assert as_shares(np.array([[0, np.log(9)]]))[0] == pytest.approx([0.1, 0.9])


@pytest.mark.parametrize("noise", [0.5, 1, 5])
def test_the_best_weight(noise: float) -> None:
    rng = np.random.default_rng(1)
    truth = np.eye(4)[rng.integers(4, size=2000)]
    scores = truth + noise * rng.normal(size=truth.shape)
    (best,) = best_weights([scores], truth)
    others = [surprise(as_shares(scores * best * factor), truth) for factor in (0.8, 0.9, 1.1, 1.3)]
    assert surprise(as_shares(scores * best), truth) < min(others)


def test_a_calibrated_share_is_a_frequency() -> None:
    rng = np.random.default_rng(2)
    scores = [rng.normal(size=(6000, 3)) for _ in range(2)]
    drawn = [rng.choice(3, p=shares) for shares in as_shares(weighted(scores, [2.0, 0.5]))]
    assert best_weights(scores, np.eye(3)[drawn]) == pytest.approx([2.0, 0.5], rel=0.15)


def test_a_classifier_that_knows_nothing_has_no_weight() -> None:
    rng = np.random.default_rng(3)
    truth = np.eye(3)[rng.integers(3, size=500)]
    good = truth + rng.normal(size=truth.shape)
    bad = -truth + rng.normal(size=truth.shape)
    weights = best_weights([good, bad], truth)
    assert weights[0] > 0
    assert weights[1] == 0


def test_a_few_right_documents_are_no_proof() -> None:
    truth = np.eye(2)[[0, 1, 0, 1, 0]]
    (few,) = best_weights([truth], truth)
    (many,) = best_weights([np.tile(truth, (200, 1))], np.tile(truth, (200, 1)))
    assert as_shares(truth * few)[0, 0] == pytest.approx(11 / 12, abs=0.01)
    assert few < many <= LARGEST_WEIGHT
