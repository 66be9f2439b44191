from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.responses import graph_responses, label_responses, resolve_dimensions
from lpisearch.methods.rlpi import RLPI


def documents(n: int = 50, n_terms: int = 70) -> Any:
    """Make unit rows at random."""
    counts = np.random.default_rng(0).poisson(0.4, (n, n_terms)) + np.eye(n, n_terms)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def test_they_are_the_eigenvectors_of_the_graph() -> None:
    X = documents()
    W = nearest(X)
    found = graph_responses(W, X, 6, rng=np.random.default_rng(0))
    dense, degrees = W.toarray(), W.degrees[:, np.newaxis]
    np.testing.assert_allclose(dense @ found.vectors, degrees * found.vectors * found.values)
    expected = eigh(dense, np.diag(W.degrees), eigvals_only=True)[::-1][1:7]
    np.testing.assert_allclose(found.values, expected, atol=1e-10)
    moments = found.vectors.T @ (degrees * found.vectors)
    np.testing.assert_allclose(moments, W.degrees.sum() * np.eye(6), atol=1e-8)
    assert found.requested == 6


def test_more_than_there_are() -> None:
    X = np.eye(6)[[0, 0, 1, 1, 2, 2]] + 0.1
    found = graph_responses(nearest(X), X, 40, rng=np.random.default_rng(0))
    assert found.requested == 40
    assert found.vectors.shape[1] == len(found.values) < 6


def test_automatic_number() -> None:
    """With "auto" what counts at least a twentieth of the first is kept, to the power in use."""
    spectrum = np.array([1.0, 0.5, 0.2, 0.1])
    assert resolve_dimensions("auto", spectrum, 1.0) == 4
    assert resolve_dimensions("auto", spectrum, 2.0) == 2
    assert resolve_dimensions(9, spectrum, 2.0) == 9


def test_labels_of_some_documents() -> None:
    Y = label_responses(["a", None, "b", "b", "", "c"], 6, np.float32).vectors
    assert Y.dtype == np.float32
    assert Y.shape == (6, 2)
    assert not Y[[1, 4]].any()
    np.testing.assert_allclose(Y.T @ Y, 4 * np.eye(2), atol=1e-6)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-6)


def test_one_class_only() -> None:
    with pytest.raises(ValueError, match="All documents have the same label \\('sea'\\)"):
        label_responses(["sea"] * 4, 4, np.float64)


def test_what_a_fit_says_of_labels() -> None:
    X = documents()
    fitted = RLPI(10).fit(X, [f"{at % 4}" for at in range(len(X))])
    assert fitted.n_components_ == 3
    assert (fitted.n_graph_components_, fitted.n_isolated_) == (4, 0)
    assert fitted.seconds_["graph"] == 0
