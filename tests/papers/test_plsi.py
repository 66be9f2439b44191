"""What Hofmann (SIGIR 1999) promises of PLSI, and what rlpi-2007 measures with it.

The reference writes out P(z|d,w) for every document, term and factor.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.methods.plsi import PLSI, Factors, Observed, em_step, log_perplexity, random_factors


def mixed_counts(n: int = 40, n_terms: int = 60, length: int = 30, seed: int = 0) -> Any:
    """Draw the terms of each document from its own mixture of four planted factors."""
    rng = np.random.default_rng(seed)
    terms = rng.dirichlet(np.full(n_terms, 0.1), 4)
    shares = rng.dirichlet(np.full(4, 0.2), n)
    return rng.multinomial(length, shares @ terms).astype(float)


def slow_step(X: Any, factors: Factors, beta: float) -> tuple[Factors, float]:
    """Take one step of tempered EM with every posterior written out."""
    weights = (
        factors.prior ** (1 - beta)
        * (factors.shares[:, np.newaxis, :] * factors.terms[np.newaxis]) ** beta
    )
    totals = weights.sum(axis=2)
    counts = X[:, :, np.newaxis] * weights / totals[:, :, np.newaxis]
    shares, terms, prior = counts.sum(axis=1), counts.sum(axis=0), counts.sum(axis=(0, 1))
    improved = Factors(
        shares / shares.sum(axis=1, keepdims=True), terms / terms.sum(axis=0), prior / prior.sum()
    )
    return improved, float((X * np.log(totals)).sum())


@pytest.mark.parametrize("beta", [1.0, 0.8])
def test_steps_equal_those_of_the_formulas(beta: float) -> None:
    X = mixed_counts()
    X = X[:, X.any(axis=0)]
    seen = Observed.of(sparse.csr_array(X))
    quick = slow = random_factors(seen.X, 5, np.random.default_rng(3))
    for _ in range(25):
        quick, objective = em_step(seen, quick, beta)
        slow, reference = slow_step(X, slow, beta)
        assert objective == pytest.approx(reference, abs=1e-8)
    for part, expected in zip(quick, slow, strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-8)


@pytest.mark.parametrize("beta", [1.0, 0.7])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_objective_never_falls(beta: float, seed: int) -> None:
    X = mixed_counts(seed=seed)
    plsi = PLSI(5, beta=beta, tolerance=1e-7, max_iter=2000, random_state=seed).fit(X)
    assert plsi.n_iter_ > 20
    assert np.diff(plsi.log_likelihoods_).min() > -1e-9
    assert plsi.log_likelihoods_[-1] > plsi.log_likelihoods_[0] + 10


def test_likelihood_does_not_fall_in_single_precision() -> None:
    X = mixed_counts().astype(np.float32)
    steps = np.diff(PLSI(5, tolerance=1e-6, max_iter=2000).fit(X).log_likelihoods_)
    assert steps.min() > -1e-6 * X.sum()


def test_parameters_are_probabilities() -> None:
    plsi = PLSI(5, beta=0.9).fit(mixed_counts())
    for part in (plsi.embedding_, plsi.factors_, plsi.prior_[np.newaxis]):
        assert part.min() >= 0
        np.testing.assert_allclose(part.sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize("beta", [1.0, 0.7])
def test_folding_in_goes_on_from_the_fit(beta: float) -> None:
    X = mixed_counts(length=200)
    X = X[:, X.any(axis=0)]
    plsi = PLSI(4, beta=beta, tolerance=1e-9, max_iter=5000).fit(X)
    found = Factors(plsi.embedding_, plsi.factors_.T, plsi.prior_)
    again, _ = slow_step(X, found, beta)
    for part, expected in zip(again, found, strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-4)


def test_the_best_of_several_schedules_is_kept() -> None:
    X = mixed_counts(60, 80, 40)
    one, more = (PLSI(8, beta="auto", n_init=n).fit(X) for n in (1, 5))
    assert 1 < more.held_out_perplexity_ < one.held_out_perplexity_


def test_folding_in_finds_the_most_likely_shares() -> None:
    plsi = PLSI(4).fit(mixed_counts())
    for document in mixed_counts(seed=7)[:10]:
        known = document * plsi.factors_.any(axis=0)
        shares = plsi.transform(known[np.newaxis])[0]
        densities = shares @ plsi.factors_
        rates = np.divide(known, densities, out=np.zeros_like(known), where=known > 0)
        gradient = plsi.factors_ @ rates / known.sum()
        # The likelihood is concave: this bounds what any other shares could gain on each count.
        assert gradient.max() - 1 < 1e-3
        assert gradient @ shares == pytest.approx(1, abs=1e-9)


def test_tempering_predicts_unseen_words_better() -> None:
    rng = np.random.default_rng(1)
    X = mixed_counts(80, 100, 40, seed=4)
    seen = rng.binomial(X.astype(int), 0.7).astype(float)
    unseen = Observed.of(sparse.csr_array((X - seen) * seen.any(axis=0)))

    def foretold(plsi: PLSI) -> float:
        # A little of every word, so that one that a factor rules out is not beyond all comparison.
        terms = 0.99 * plsi.factors_.T + 0.01 / X.shape[1]
        return log_perplexity(unseen, Factors(plsi.embedding_, terms, plsi.prior_))

    plain, tempered = PLSI(12).fit(seen), PLSI(12, beta="auto", held_out=0.2).fit(seen)
    assert plain.beta_ == 1
    assert tempered.beta_ < 1
    assert foretold(tempered) < foretold(plain) - 0.1


def test_clusters_are_the_most_probable_factors() -> None:
    topics = np.arange(60) % 3
    rates = np.where(np.arange(30) % 3 == topics[:, np.newaxis], 2.0, 0.1)
    X = np.random.default_rng(0).poisson(rates)
    plsi = PLSI(3, n_init=3).fit(X)
    np.testing.assert_array_equal(plsi.clusters_, plsi.embedding_.argmax(axis=1))
    pairs = set(zip(topics.tolist(), plsi.clusters_.tolist(), strict=True))
    assert len(pairs) == 3


@pytest.mark.data
@pytest.mark.slow
def test_tdt2(data: Path) -> None:
    """On tdt2, 30 factors share as much with the 30 classes as rlpi-2007 found (.671)."""
    from sklearn.metrics import normalized_mutual_info_score

    stored = np.load(data / "tdt2" / "tdt2.npz")
    parts = (stored["data"].astype(np.float32), stored["indices"], stored["indptr"])
    plsi = PLSI(30).fit(sparse.csr_array(parts, shape=tuple(stored["shape"])))
    labels = stored["label"].ravel()
    assert normalized_mutual_info_score(labels, plsi.clusters_, average_method="max") > 0.62
