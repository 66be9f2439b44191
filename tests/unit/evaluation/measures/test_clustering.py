from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import entropy
from sklearn.cluster import KMeans
from sklearn.metrics import mutual_info_score

from lpisearch.evaluation.clustering import (
    cluster_documents,
    clustering_accuracy,
    mutual_information,
)

_PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


def _best_match(labels: list[int], clusters: list[int]) -> float:
    """Try every way to give the clusters 0 to 4 the classes 0 to 4."""
    return max(
        float(
            np.mean(
                [match[cluster] == label for label, cluster in zip(labels, clusters, strict=True)]
            )
        )
        for match in permutations(range(5))
    )


@settings(max_examples=50)
@given(_PAIRS)
def test_accuracy_is_that_of_the_best_of_all_matchings(pairs: list[tuple[int, int]]) -> None:
    labels, clusters = map(list, zip(*pairs, strict=True))
    found = clustering_accuracy(labels, clusters)
    assert found == pytest.approx(_best_match(labels, clusters))


@settings(max_examples=50)
@given(_PAIRS)
def test_information_is_the_mutual_one_over_the_larger_entropy(
    pairs: list[tuple[int, int]],
) -> None:
    labels, clusters = map(list, zip(*pairs, strict=True))
    larger = max(entropy(np.bincount(labels)), entropy(np.bincount(clusters)))
    expected = mutual_info_score(labels, clusters) / larger if larger else 1
    assert mutual_information(labels, clusters) == pytest.approx(expected, abs=1e-9)


def test_six_documents_by_hand() -> None:
    labels, clusters = list("aabbcc"), [2, 2, 0, 0, 0, 1]
    assert clustering_accuracy(labels, clusters) == pytest.approx(5 / 6)
    one_third = -(1 / 3) * np.log2(1 / 3) - (2 / 3) * np.log2(2 / 3)
    expected = (np.log2(3) - one_third / 2) / np.log2(3)
    assert mutual_information(labels, clusters) == pytest.approx(expected)


def test_one_class_or_one_cluster() -> None:
    assert mutual_information(["a"] * 4, [0] * 4) == 1
    assert mutual_information(["a"], [3]) == 1
    assert mutual_information(["a"] * 4, [0, 1, 0, 1]) == 0
    assert mutual_information(list("abab"), [0] * 4) == 0
    assert clustering_accuracy(["a"] * 4, [0, 1, 0, 0]) == pytest.approx(3 / 4)
    assert clustering_accuracy(list("abbb"), [0] * 4) == pytest.approx(3 / 4)


@pytest.mark.parametrize("measure", [clustering_accuracy, mutual_information])
def test_labels_the_papers_leave_out(measure: Any) -> None:
    labels, clusters = ["a", None, "a", "b", ""], np.array([0, 1, 0, 1, 0])
    assert measure(labels, clusters) == measure(["a", "a", "b"], [0, 0, 1]) == 1
    with pytest.raises(ValueError, match="one label a document, but 1 have several"):
        measure([["a", "b"], "a"], [0, 1])
    with pytest.raises(ValueError, match="There are 1 labels, but 2 documents"):
        measure(["a"], [0, 1])
    with pytest.raises(ValueError, match="No document has a label"):
        measure([], [])


def test_kmeans_finds_groups_in_dense_and_sparse_rows() -> None:
    chance = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    Y = np.eye(3)[truth] * 5 + chance.normal(scale=0.1, size=(60, 3))
    centres = np.array([Y[truth == number].mean(axis=0) for number in range(3)])
    for documents in (Y, sparse.csr_array(Y), Y.astype(np.float32)):
        found = cluster_documents(documents, 3)
        assert clustering_accuracy(truth, found.assignments) == 1
        assert found.objective == pytest.approx(np.sum((Y - centres[truth]) ** 2), rel=1e-4)
        assert found.seconds > 0


def test_the_best_of_the_starts_is_kept() -> None:
    Y = np.random.default_rng(1).normal(size=(80, 2))
    state = np.random.RandomState(0)
    single = [KMeans(6, n_init=1, init="random", random_state=state).fit(Y) for _ in range(10)]
    found = cluster_documents(Y, 6, init="random")
    assert found.objective <= np.median([model.inertia_ for model in single])
    worst = cluster_documents(Y, 6, init="random", starts=1)
    assert found.objective <= worst.objective
    again = cluster_documents(Y, 6, init="random").assignments
    assert np.array_equal(found.assignments, again)


def test_fewer_different_documents_than_clusters() -> None:
    found = cluster_documents(np.array([[1.0, 0]] * 4 + [[0, 1.0]]), 3)
    assert set(found.assignments[:4]) != set(found.assignments[4:])
    assert found.objective == 0
    with pytest.raises(ValueError, match="2 documents cannot form 3 clusters"):
        cluster_documents(np.eye(2), 3)
    with pytest.raises(ValueError, match="n_clusters must be a whole number above 0"):
        cluster_documents(np.eye(2), 0)
