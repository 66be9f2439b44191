from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import ball, nearest, top_columns


def documents(n: int, n_terms: int, seed: int = 0, rate: float = 0.3) -> Any:
    """Make rows of Poisson counts times random weights, so that no two cosines are equal."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rate, (n, n_terms)) * rng.uniform(0.5, 1.5, (n, n_terms))


def cosines(X: Any) -> Any:
    """Compute all cosines the plain way, 0 on the diagonal."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    unit = np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)
    product = unit @ unit.T
    np.fill_diagonal(product, 0)
    return product


def nearest_by_sorting(X: Any, p: int) -> Any:
    """Keep the p largest positive cosines of each row, made symmetric by "either"."""
    product = cosines(X)
    best = np.argsort(-product, axis=1)[:, :p]
    named = np.zeros(product.shape, dtype=bool)
    np.put_along_axis(named, best, values=True, axis=1)
    named &= product > 0
    return np.where(named | named.T, product, 0)


@settings(max_examples=60)
@given(
    n=st.integers(2, 90), n_terms=st.integers(1, 60), p=st.integers(1, 20), seed=st.integers(0, 99)
)
def test_edges_are_the_nearest_pairs(n: int, n_terms: int, p: int, seed: int) -> None:
    X = documents(n, n_terms, seed)
    product = cosines(X)
    found = nearest(sparse.csr_array(X), options=GraphOptions(n_neighbors=p)).toarray()
    limit = np.maximum(np.sort(product, axis=1)[:, -min(p, n - 1)], 1e-300)
    farther_limit = np.minimum(limit[:, np.newaxis], limit)
    np.testing.assert_allclose(found[found > 0], product[found > 0], atol=1e-12)
    assert (found[product > farther_limit + 1e-9] > 0).all()
    assert not found[product < farther_limit - 1e-9].any()
    np.testing.assert_array_equal(found, found.T)


def test_finds_the_nearest_of_many() -> None:
    X = documents(1500, 400, rate=0.05)
    found = nearest(sparse.csr_array(X), options=GraphOptions(n_neighbors=7)).toarray()
    np.testing.assert_allclose(found, nearest_by_sorting(X, 7), atol=1e-12)


def test_dense_rows_take_the_same_way() -> None:
    X = documents(200, 50, rate=1.0).astype(np.float32)
    dense, thin = nearest(X), nearest(sparse.csr_array(X))
    np.testing.assert_allclose(dense.toarray(), thin.toarray(), atol=1e-6)
    assert dense.edges is not None
    assert dense.edges.dtype == np.float32


def test_unsorted_rows_are_understood() -> None:
    X = sparse.csr_array(documents(100, 40))
    backwards = X.copy()
    for low, high in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        backwards.indices[low:high] = X.indices[low:high][::-1]
        backwards.data[low:high] = X.data[low:high][::-1]
    backwards.has_sorted_indices = False
    np.testing.assert_allclose(nearest(backwards).toarray(), nearest(X).toarray(), atol=1e-12)


def test_rows_of_any_length_are_brought_to_one() -> None:
    X = documents(50, 30)
    scaled = X * np.arange(1, 51)[:, np.newaxis]
    np.testing.assert_allclose(nearest(scaled).toarray(), nearest(X).toarray(), atol=1e-12)


def test_hand_made_graph() -> None:
    X = np.array([[1.0, 0, 0], [0.8, 0.6, 0], [0, 1, 0], [0, 0, 1]])
    W = nearest(X, options=GraphOptions(n_neighbors=1))
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[1, 0] = 0.8
    expected[1, 2] = expected[2, 1] = 0.6
    np.testing.assert_allclose(W.toarray(), expected)
    np.testing.assert_allclose(W.degrees, [0.8, 1.4, 0.6, 0])
    assert W.component_labels.tolist() == [0, 0, 0, -1]


def test_edge_weights() -> None:
    """Binary edges are 1; heat is the kernel of the distance between unit rows."""
    X = np.array([[1.0, 0], [0.8, 0.6]])
    binary = nearest(X, options=GraphOptions(edge_weights="binary"))
    heat = nearest(X, options=GraphOptions(edge_weights="heat", heat_scale=2.0))
    assert binary.toarray()[0, 1] == 1
    assert heat.toarray()[0, 1] == pytest.approx(np.exp(-(0.2**2 + 0.6**2) / 2))


def test_copies_beyond_p_keep_p_neighbours() -> None:
    X = np.vstack([np.tile([1.0, 2, 0], (40, 1)), [[0, 1.0, 1]]])
    W = nearest(X, options=GraphOptions(n_neighbors=3))
    assert W.edges is not None
    assert not W.toarray().diagonal().any()
    assert W.edges.nnz <= 2 * 3 * 41


def test_ball_holds_all_within_its_radius() -> None:
    X = documents(300, 60)
    product = cosines(X)
    distances = np.sqrt(2 - 2 * product)
    for radius in (0.7, 1.1, np.sqrt(2)):
        W = ball(X, options=GraphOptions(radius=radius)).toarray()
        expected = np.where((distances < radius) & (product > 0), product, 0)
        np.testing.assert_allclose(W, expected, atol=1e-12)


@given(
    values=st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=300),
    p=st.integers(0, 12),
)
def test_largest_finds_the_largest(values: list[float], p: int) -> None:
    row = np.array([values])
    p = min(p, len(values))
    found = np.sort(row[0, top_columns(row, p)[0]])
    np.testing.assert_array_equal(found, np.sort(row[0])[len(values) - p :])


@pytest.mark.parametrize("n", [0, 1])
def test_no_pair_no_edge(n: int) -> None:
    W = nearest(sparse.csr_array(np.ones((n, 3))))
    assert W.shape == (n, n)
    assert W.n_components == 0
    assert W.n_isolated == n
