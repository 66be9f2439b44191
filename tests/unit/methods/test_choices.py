from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lpisearch.methods.responses import (
    ALPHAS,
    _of_rows,
    _quadrature,
    choose_alpha,
    choose_dimensions,
)


def test_quadrature_gives_the_spectral_sum() -> None:
    rng = np.random.default_rng(0)
    X, probes = rng.random((40, 25)) / 5, rng.standard_normal((40, 3))
    nodes, masses = _quadrature(_of_rows(X), probes, 20)
    kernel = np.linalg.inv(X @ X.T + np.eye(40))
    expected = [v @ kernel @ v for v in probes.T]
    np.testing.assert_allclose((masses / (nodes + 1)).sum(axis=1), expected, rtol=1e-6)
    np.testing.assert_allclose(masses.sum(axis=1), np.square(probes).sum(axis=0), rtol=1e-9)


def test_quadrature_survives_an_early_end() -> None:
    X = np.diag([3.0, 2.0, 1.0])
    nodes, masses = _quadrature(_of_rows(X), np.array([[1.0, 0, 0], [0, 0, 0]]).T, 3)
    assert (masses / (nodes + 1)).sum(axis=1) == pytest.approx([1 / 10, 0])


def test_alpha_is_what_the_full_formula_gives() -> None:
    rng = np.random.default_rng(3)
    n = 300
    X = rng.standard_normal((n, 60)) / np.sqrt(60)
    Y = X @ rng.standard_normal((60, 12)) + rng.standard_normal((n, 12))
    chosen = choose_alpha(X, Y, np.ones(12), np.random.default_rng(0))
    scores = []
    for alpha in ALPHAS:
        S = X @ np.linalg.solve(X.T @ X + alpha * np.eye(60), X.T)
        scores.append(np.square(Y - S @ Y).sum() / (1 - 1.4 * np.trace(S) / n) ** 2)
    assert abs(np.argmin(np.abs(ALPHAS - chosen)) - np.argmin(scores)) <= 2


def test_more_noise_asks_for_more_penalty() -> None:
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.standard_normal((400, 80)) / 9)
    signal = X @ rng.standard_normal((80, 10))
    noise = rng.standard_normal((400, 10))
    chosen = [
        choose_alpha(X, signal + level * noise, np.ones(10), np.random.default_rng(0))
        for level in (0.1, 1.0, 5.0)
    ]
    assert chosen[0] < chosen[1] < chosen[2]


def test_empty_documents_do_not_count() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 40)) / 6
    Y = X @ rng.standard_normal((40, 5)) + rng.standard_normal((200, 5))
    padded, zeros = np.vstack([X, np.zeros((300, 40))]), np.vstack([Y, np.zeros((300, 5))])
    alone = choose_alpha(X, Y, np.ones(5), np.random.default_rng(0))
    together = choose_alpha(padded, zeros, np.ones(5), np.random.default_rng(0))
    assert together == pytest.approx(alone, rel=0.8)


def test_dimensions_that_count_a_twentieth_are_kept() -> None:
    values = np.array([0.9, 0.8, 0.5, 0.21, 0.20, 0.1])
    assert choose_dimensions(values, 2.0) == 4
    assert choose_dimensions(values, 1.0) == 6
    assert choose_dimensions(values, 0.0) == 6


def test_there_are_never_more_than_300_dimensions() -> None:
    assert choose_dimensions(np.linspace(1, 0.9, 400), 2.0) == 300
    assert choose_dimensions(np.ones(3), 2.0) == 3
    assert choose_dimensions(np.empty(0), 2.0) == 0
