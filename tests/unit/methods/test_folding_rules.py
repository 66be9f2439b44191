"""Folding documents into the factors of PLSI and NMF, on their arrays alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lpisearch.methods import placement
from lpisearch.numeric.rows import SparseRows


def documents(n: int = 80, n_terms: int = 60, seed: int = 0) -> Any:
    """Make rows of very different lengths, one of them empty."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_terms)) * (rng.random((n, n_terms)) < rng.random((n, 1)))
    X[:, 0] += 0.1
    X[5] = 0
    return X


def plsi_arrays(beta: float = 1.0) -> dict[str, Any]:
    """Make the arrays of PLSI with random terms."""
    terms = np.random.default_rng(2).random((60, 4)) ** 3
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    return {
        "terms": (terms / terms.sum(axis=0)) ** beta,
        "prior": prior ** (1 - beta),
        "beta": np.array([beta]),
    }


def nmf_arrays() -> dict[str, Any]:
    """Make the arrays of NMF with random factors."""
    factors = np.random.default_rng(3).random((60, 4)) ** 3
    return {"factors": factors, "gram": factors.T @ factors}


@pytest.mark.parametrize(
    ("rule", "arrays"),
    [("plsi", plsi_arrays()), ("plsi", plsi_arrays(0.7)), ("nmf", nmf_arrays())],
    ids=["plsi", "tempered", "nmf"],
)
def test_each_document_is_placed_by_itself(rule: str, arrays: dict[str, Any]) -> None:
    X, fold = documents(), placement.placement_rule(rule)
    together = fold(arrays, SparseRows.of_matrix(X))
    assert not together[5].any()
    for row, place in zip(X, together, strict=True):
        alone = fold(arrays, SparseRows.of_matrix(row[np.newaxis]))[0]
        np.testing.assert_allclose(alone, place, rtol=0, atol=1e-12)


@pytest.mark.parametrize("beta", [1.0, 0.7])
def test_shares_are_a_fixed_point(beta: float) -> None:
    X, arrays = documents(), plsi_arrays(beta)
    shares = placement.fold_plsi(arrays, SparseRows.of_matrix(X))
    weights = arrays["prior"] * shares[:, np.newaxis, :] ** beta * arrays["terms"]
    totals = weights.sum(axis=2, keepdims=True)
    posteriors = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    again = np.einsum("dw,dwz->dz", X, posteriors)
    again /= np.maximum(again.sum(axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(shares, again, atol=2e-6)


def test_no_factor_is_given_up_too_soon() -> None:
    X, arrays = documents(400, seed=6), plsi_arrays()
    shares = placement.fold_plsi(arrays, SparseRows.of_matrix(X))
    densities = shares @ arrays["terms"].T
    gradient = X / densities.clip(1e-300) @ arrays["terms"] / X.sum(axis=1, keepdims=True).clip(0.1)
    assert gradient.max() < 1 + 1e-4


def test_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = SparseRows.of_matrix(documents())
    whole = placement.fold_plsi(plsi_arrays(), rows)
    monkeypatch.setattr(placement, "BLOCK", 300)
    np.testing.assert_allclose(placement.fold_plsi(plsi_arrays(), rows), whole, atol=1e-12)


def test_shares_at_the_limit_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "MAX_LEAPS", 1)
    shares = placement.fold_plsi(plsi_arrays(), SparseRows.of_matrix(documents()))
    np.testing.assert_allclose(np.delete(shares, 5, axis=0).sum(axis=1), 1, atol=1e-12)


def test_parts_at_the_limit_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "MAX_SWEEPS", 1)
    parts = placement.fold_nmf(nmf_arrays(), SparseRows.of_matrix(documents()))
    assert np.delete(parts, 5, axis=0).any(axis=1).all()


def test_columns_are_swept_alike_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    gram, targets, parts = nmf_arrays()["gram"], rng.random((4, 50)), rng.random((4, 50))
    whole, blocks = parts.copy(), parts.copy()
    placement.sweep(gram, targets, whole)
    monkeypatch.setattr(placement, "COLUMNS", 7)
    placement.sweep(gram, targets, blocks)
    np.testing.assert_allclose(blocks, whole, atol=1e-12)
    assert not np.array_equal(whole, parts)


def test_a_factor_without_terms_has_no_part() -> None:
    arrays = nmf_arrays()
    factors = np.insert(arrays["factors"], 2, 0, axis=1)
    rows = SparseRows.of_matrix(documents())
    parts = placement.fold_nmf({"factors": factors, "gram": factors.T @ factors}, rows)
    assert not parts[:, 2].any()
    expected = placement.fold_nmf(arrays, rows)
    np.testing.assert_allclose(np.delete(parts, 2, axis=1), expected, atol=1e-12)


@pytest.mark.parametrize("beta", [1.0, 0.7])
def test_no_leap_makes_a_document_less_likely(beta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, arrays = documents(40), plsi_arrays(beta)
    last = np.full(40, -np.inf)
    for leaps in range(1, 15):
        monkeypatch.setattr(placement, "MAX_LEAPS", leaps)
        shares = placement.fold_plsi(arrays, SparseRows.of_matrix(X))
        densities = (arrays["prior"] * shares**beta) @ arrays["terms"].T
        likelihoods = np.sum(X * np.log(np.where(X > 0, densities, 1)), axis=1)
        assert (likelihoods >= last - 1e-10).all()
        last = likelihoods
