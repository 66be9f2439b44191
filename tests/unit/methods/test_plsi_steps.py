"""Parts of PLSI that are not seen from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.methods import plsi as methods_plsi
from lpisearch.methods.plsi import PLSI, Observed, mixtures, split

if TYPE_CHECKING:
    import pytest


def some_counts(n: int = 50, n_terms: int = 40) -> Any:
    """Make sparse counts."""
    return sparse.csr_array(np.random.default_rng(0).poisson(0.4, (n, n_terms)).astype(float))


def test_blocks_do_not_change_the_mixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    seen = Observed.of(some_counts())
    A, B = rng.random((50, 3)), rng.random((40, 3))
    whole = mixtures(seen, A, B)
    np.testing.assert_allclose(whole, (A @ B.T)[seen.rows, seen.X.indices], rtol=1e-12)
    monkeypatch.setattr(methods_plsi, "BLOCK", 20)
    np.testing.assert_array_equal(mixtures(seen, A, B), whole)


def test_split_keeps_every_document_and_term() -> None:
    X = some_counts()
    kept, held = split(X, 0.9, np.random.default_rng(0))
    np.testing.assert_array_equal((kept + held).toarray(), X.toarray())
    assert kept.nnz + held.nnz == X.nnz
    assert held.nnz > X.nnz / 2
    for axis in (0, 1):
        np.testing.assert_array_equal(kept.toarray().any(axis=axis), X.toarray().any(axis=axis))


def test_nothing_to_hold_out() -> None:
    plsi = PLSI(2, beta="auto").fit(np.eye(4))
    assert plsi.beta_ == 1


def test_impossible_words_are_infinitely_perplexing() -> None:
    seen = Observed.of(sparse.csr_array(np.eye(2)))
    assert methods_plsi.log_likelihood(seen, np.array([0.5, 0.0])) == -np.inf
