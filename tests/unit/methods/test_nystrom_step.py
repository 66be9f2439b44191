from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lpisearch.graphs.neighbours import nearest
from lpisearch.methods.eigenmaps import Eigenmaps


def corpus(n: int = 40, n_terms: int = 50, seed: int = 0) -> Any:
    """Make documents of three topics, at unit length."""
    rng = np.random.default_rng(seed)
    topic = np.arange(n) % 3
    rates = np.where(np.arange(n_terms) % 4 == topic[:, np.newaxis], 1.2, 0.15)
    counts = rng.poisson(rates) + (np.arange(n_terms) == topic[:, np.newaxis])
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def slow_step(maps: Any, X: Any, x: Any, limits: tuple[int, float], weigh: Any) -> Any:
    """Place one document by the formula, over all cosines at once."""
    cosines = X @ x / np.linalg.norm(x)
    order = np.argsort(-cosines)[: limits[0]]
    near = order[cosines[order] > limits[1]]
    w = weigh(cosines[near])
    return w @ maps.embedding_[near] / w.sum() / maps.eigenvalues_


@pytest.mark.parametrize(
    ("options", "most", "least", "weigh"),
    [
        ({"n_neighbors": 4}, 4, 0.0, lambda c: c),
        ({"n_neighbors": 6, "edge_weights": "binary"}, 6, 0.0, np.ones_like),
        (
            {"edge_weights": "heat", "heat_scale": 0.5},
            15,
            0.0,
            lambda c: np.exp(-(2 - 2 * c) / 0.5),
        ),
        ({"graph": "ball", "radius": 1.0}, 40, 0.5, lambda c: c),
        ({"graph": "complete"}, 40, 0.0, lambda c: c),
    ],
    ids=["nearest", "binary", "heat", "ball", "complete"],
)
def test_a_new_document_takes_one_step_over_its_neighbours(
    options: dict[str, Any], most: int, least: float, weigh: Any
) -> None:
    X, new = corpus(), corpus(6, seed=1)
    maps = Eigenmaps(3, **options).fit(X)
    expected = [slow_step(maps, X, x, (most, least), weigh) for x in new]
    np.testing.assert_allclose(maps.transform(new), expected, atol=1e-9)


def test_the_step_over_its_own_neighbours_returns_a_fitted_document() -> None:
    """The step is the eigenproblem's own equation: over the edges of W, y stays where it is."""
    X = corpus()
    maps = Eigenmaps(3).fit(X)
    W = nearest(X).toarray()
    stepped = W @ maps.embedding_ / W.sum(axis=1, keepdims=True) / maps.eigenvalues_
    np.testing.assert_allclose(stepped, maps.embedding_, atol=1e-9)


def test_a_document_like_a_fitted_one_takes_its_place() -> None:
    X = corpus()
    maps = Eigenmaps(3).fit(X)
    np.testing.assert_array_equal(maps.transform(3 * X[[7]]), maps.embedding_[[7]])
    changed = X[[7]].copy()
    changed[0, 0] += 0.1
    assert not np.array_equal(maps.transform(changed), maps.embedding_[[7]])


def test_documents_that_differ_in_length_alone_share_a_place() -> None:
    X = corpus()
    X[20] = 2 * X[3]
    X[21] = X[3] + np.where(X[3] > 0, np.linspace(0, 0.3, 50), 0)
    maps = Eigenmaps(3).fit(X)
    np.testing.assert_array_equal(maps.embedding_[20], maps.embedding_[3])
    assert not np.allclose(maps.embedding_[21], maps.embedding_[3])


def test_what_is_near_nothing_lies_at_zero() -> None:
    X = np.zeros((31, 52))
    X[:30, :50] = corpus(30)
    X[30, 50] = 1
    maps = Eigenmaps(3).fit(X)
    assert maps.n_isolated_ == 1
    assert not maps.embedding_[30].any()
    new = np.zeros((2, 52))
    new[0, 51] = new[1, 50] = 1
    assert not maps.transform(new).any()


def test_labels_make_the_places_and_new_documents_follow_their_neighbours() -> None:
    X, new = corpus(), corpus(9, seed=1)
    classes = np.arange(40) % 3
    maps = Eigenmaps(n_components="auto").fit(X, classes.tolist())
    assert maps.n_components_ == 2
    for each in range(3):
        assert np.ptp(maps.embedding_[classes == each], axis=0).max() < 1e-9
    near = maps.embed(new) @ maps.embed(X).T
    assert np.array_equal(classes[near.argmax(axis=1)], np.arange(9) % 3)


def test_scales_are_powers_of_the_eigenvalues() -> None:
    maps = Eigenmaps(4, eigenvalue_power=1.5).fit(corpus())
    np.testing.assert_allclose(maps.scales_, maps.eigenvalues_**1.5)
    assert (np.diff(maps.eigenvalues_) <= 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph": "friends"}, "graph must be one of auto, nearest"),
        ({"n_neighbors": 0}, "n_neighbors must be at least 1"),
        ({"edge_weights": "heavy"}, "edge_weights must be one of cosine"),
        ({"eigenvalue_power": -1}, "eigenvalue_power must be a number of at least 0"),
        ({"solver": "magic"}, "solver must be one of auto"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Eigenmaps(3, **options).fit(corpus())
