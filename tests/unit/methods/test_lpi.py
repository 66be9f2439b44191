from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.neighbours import nearest
from lpisearch.methods import linalg, locality
from lpisearch.methods.lpi import LPI
from lpisearch.methods.lpp import LPP
from lpisearch.methods.ls_lpi import LSLPI
from lpisearch.numeric.rows import unit_rows


def documents() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return 60 documents that lie near a space of eight dimensions."""
    random = np.random.default_rng(7)
    return random.random((60, 8)) @ random.random((8, 90)) + 1e-4 * random.random((60, 90))


def test_all_of_the_space_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """None keeps every dimension, as in the paper, however many documents there are."""
    X = documents()
    exact = LPI(n_components=4).fit(X)
    monkeypatch.setattr(linalg, "FULL_SPACE", 20)
    whole = LPI(n_components=4, svd_components=None).fit(X)
    np.testing.assert_array_equal(whole.components_, exact.components_)


@pytest.mark.parametrize("asked", ["some", 0, 1.5])
def test_a_useless_limit_is_refused(asked: object) -> None:
    with pytest.raises(ValueError, match="svd_components must be"):
        LPI(n_components=2, svd_components=asked).fit(documents())  # type: ignore[arg-type]


@pytest.mark.parametrize(("svd_components", "largest"), [(6, 0.99), (40, 0.99), (None, 0)])
def test_a_constant_direction_is_left_out_where_there_is_one(
    svd_components: int | None, largest: float
) -> None:
    """In part of the space the equation's own directions are kept, also one that nearly is."""
    X = unit_rows(np.random.default_rng(7).random((60, 90)))
    W = nearest(X)
    places = LPI(n_components=3, svd_components=svd_components).fit(X, affinity=W).transform(X)
    shares = W.degrees @ places / np.sqrt(W.degrees @ places**2 * W.degrees.sum())
    np.testing.assert_allclose(np.abs(shares).max(), largest, atol=0.01 if largest else 1e-7)


@pytest.mark.parametrize("method", [LPI, LPP, LSLPI])
def test_many_documents_are_solved_by_iteration(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all of the space, also about a mean and where some documents are the same."""
    X = unit_rows(np.random.default_rng(3).poisson(0.1, (300, 900)).astype(float) + 1e-3)
    X[290:] = X[:10]
    exact = method(5, svd_components=None).fit(X)
    monkeypatch.setattr(locality, "FULL_SPACE", 100)
    found = method(5).fit(X)
    assert (exact.solver_, found.solver_) == ("exact", "iterative")
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, atol=1e-3)
    np.testing.assert_allclose(found.components_, exact.components_, atol=0.05)
    assert np.all(found.eigenvalues_ <= found.bounds_ + 1e-9)


def test_iteration_leaves_out_what_dependent_documents_put_out_of_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Documents may depend on others that they are not equal to: two together, say."""
    topics = np.random.default_rng(5).random((3, 900)) ** 20
    X = np.random.default_rng(3).poisson(2 * topics[np.arange(300) % 3]) + 1e-3 * np.eye(300, 900)
    X[290:] = X[:10] + X[10:20]
    exact = LPI(4, svd_components=None).fit(unit_rows(X))
    monkeypatch.setattr(locality, "FULL_SPACE", 100)
    found = LPI(4).fit(unit_rows(X))
    assert (exact.solver_, found.solver_) == ("exact", "iterative")
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, atol=2e-2)


def test_degrees_of_any_size_are_weighed_alike() -> None:
    X = documents()
    W = nearest(X).toarray()
    usual = LPI(n_components=4).fit(X, affinity=sparse.csr_array(W))
    W[-1] *= 1e-12  # the last document hardly counts
    W[:, -1] *= 1e-12
    hardly = LPI(n_components=4).fit(X, affinity=sparse.csr_array(W))
    W[-1] = W[:, -1] = 0
    alone = LPI(n_components=4).fit(X, affinity=sparse.csr_array(W))
    np.testing.assert_allclose(hardly.eigenvalues_, alone.eigenvalues_, atol=1e-6)
    assert abs(usual.eigenvalues_ - alone.eigenvalues_).max() < 0.1


@pytest.mark.parametrize("method", [LPI, LPP, LSLPI])
def test_documents_without_any_neighbour_are_refused_in_words(method: type) -> None:
    with pytest.raises(ValueError, match="The documents cannot be distinguished"):
        method(n_components=2).fit(np.eye(6))
