"""Neighbours in linear time, and how many of the exact ones they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.affinity import Affinity
from lpisearch.graphs.base import GraphOptions
from lpisearch.graphs.neighbours import first_entries, nearest, pruned, recall, strongest_entries
from lpisearch.numeric.rows import unit_rows


def documents(n: int) -> sparse.csr_array:
    """Make documents of four topics: common words, and some words of their topic."""
    rng = np.random.default_rng(0)
    common = rng.zipf(1.5, (n, 20)) % 300
    own = 300 + 40 * rng.integers(4, size=(n, 1)) + rng.integers(40, size=(n, 15))
    words = np.concatenate([common, own], axis=1)
    rows = np.repeat(np.arange(n), words.shape[1])
    counts = sparse.csr_array((np.ones(words.size), (rows, words.ravel())), shape=(n, 460))
    idf = np.log(n / np.maximum((counts > 0).sum(axis=0), 1))
    return sparse.csr_array(unit_rows(sparse.csr_array(counts.multiply(idf))))


def test_few_documents_have_their_exact_neighbours() -> None:
    X = sparse.csr_array(unit_rows(np.random.default_rng(0).random((40, 10))))
    options = GraphOptions(n_neighbors=5)
    np.testing.assert_allclose(
        pruned(X, None, options).toarray(), nearest(X, None, options).toarray(), atol=1e-12
    )


def test_of_many_documents_nearly_all_of_the_weight_stays() -> None:
    X = documents(6000)
    found = recall(X, pruned(X), 15, seed=0)
    assert 0.8 < found.edges < 1
    assert found.weight > 0.9
    assert found.weight > found.edges


def test_the_nearest_of_very_many_are_those_of_the_pruned_graph() -> None:
    X = documents(500)
    few = nearest(X, None, GraphOptions(exact_documents=499))
    np.testing.assert_array_equal(few.toarray(), pruned(X).toarray())
    exact = recall(X, nearest(X, None, GraphOptions(exact_documents=500)), 15, seed=0)
    assert exact.edges == 1


def test_recall_needs_edges() -> None:
    with pytest.raises(ValueError, match="no edges"):
        recall(np.eye(3), Affinity(factor=np.eye(3)), 2, seed=0)


def test_recall_of_documents_that_are_near_nobody_is_whole() -> None:
    X = sparse.csr_array(np.eye(4))
    assert recall(X, nearest(X), 2, seed=0).edges == 1


def test_the_strongest_entries_of_each_row_stay() -> None:
    X = sparse.csr_array(np.tile([[3.0, 1, 2, 2], [0, 0, 5, 0]], (5000, 1)))
    kept = strongest_entries(X, 2).toarray()
    np.testing.assert_array_equal(kept[-2:], [[3, 0, 2, 0], [0, 0, 5, 0]])
    np.testing.assert_array_equal(kept[:2], kept[-2:])


def test_the_first_entries_of_each_row_stay() -> None:
    X = sparse.csr_array(np.array([[0, 1.0, 5, 9], [4, 0, 0, 0]]))
    np.testing.assert_array_equal(first_entries(X, 2).toarray(), [[0, 1, 5, 0], [4, 0, 0, 0]])
