from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from lpisearch.index.postings import Postings
from lpisearch.numeric import kmeans
from lpisearch.numeric.kmeans import normalised_information, purity
from lpisearch.numeric.rows import PackedRows, divided_by_lengths
from lpisearch.search import topics
from lpisearch.search.topics import NO_TOPIC, Clusters

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _planted(sizes: list[int], dims: int = 6, noise: float = 0.15) -> tuple[Any, Any]:
    """Make unit vectors around orthogonal centres, and say whose each is."""
    rng = np.random.default_rng(3)
    truth = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    points = np.eye(len(sizes), dims)[truth] + noise * rng.normal(size=(len(truth), dims))
    return divided_by_lengths(points).astype(np.float32), truth


def test_planted_clusters_are_found() -> None:
    vectors, truth = _planted([30, 50, 10, 20])
    found = topics.cluster(PackedRows(vectors), 4, 6, seed=0)
    assert found.sizes.tolist() == [50, 30, 20, 10]
    assert found.assignments.tolist() == np.array([1, 0, 3, 2])[truth].tolist()


def test_the_same_seed_gives_the_same_clusters() -> None:
    vectors, _ = _planted([60, 60, 60], noise=1.0)
    first, second = (topics.cluster(PackedRows(vectors), 5, 4, seed=7) for _ in range(2))
    assert first.assignments.tolist() == second.assignments.tolist()


def test_the_objective_is_as_good_as_that_of_a_peer() -> None:
    points = divided_by_lengths(np.random.default_rng(4).normal(size=(500, 8))).astype(np.float32)

    def objective(labels: NDArray[Any]) -> float:
        return sum(
            float(np.linalg.norm(points[labels == each].sum(axis=0))) for each in np.unique(labels)
        )

    ours = objective(topics.cluster(PackedRows(points), 12, 8, seed=0).assignments)
    theirs = objective(KMeans(12, n_init=10, random_state=0).fit_predict(points))
    assert ours > 0.99 * theirs


def test_rows_of_zeros_are_set_apart() -> None:
    vectors, _ = _planted([10, 10])
    vectors[[3, 7]] = 0
    found = topics.cluster(PackedRows(vectors), 2, 6, seed=0)
    assert np.flatnonzero(found.assignments == NO_TOPIC).tolist() == [3, 7]
    assert found.sizes.sum() == 18


def test_only_leading_dimensions_take_part() -> None:
    vectors, truth = _planted([40, 40])
    noise = np.random.default_rng(5).normal(size=(80, 30)).astype(np.float32)
    found = topics.cluster(
        PackedRows(divided_by_lengths(np.hstack([vectors, 3 * noise]))), 2, 6, seed=0
    )
    assert len(set(zip(found.assignments, truth, strict=True))) == 2


def test_more_clusters_than_different_documents() -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    found = topics.cluster(PackedRows(vectors), 8, 3, seed=0)
    assert found.sizes.tolist() == [4, 4, 4]


def test_one_cluster() -> None:
    """A single cluster holds all."""
    vectors, _ = _planted([5, 5])
    assert topics.cluster(PackedRows(vectors), 1, 2, seed=0).sizes.tolist() == [10]


def test_starts_are_sought_in_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kmeans, "SAMPLE", 40)
    vectors, truth = _planted([300, 200, 100])
    found = topics.cluster(PackedRows(vectors), 3, 6, seed=0)
    assert found.sizes.tolist() == [300, 200, 100]
    assert found.assignments.tolist() == truth.tolist()


def test_typical_documents() -> None:
    """They are the nearest to the mean direction of their cluster, with their cosines."""
    vectors = divided_by_lengths(np.array([[1, 0.3], [1, 0], [1, -0.4], [-1, 0]])).astype(
        np.float32
    )
    found = Clusters(np.array([0, 0, 0, 1]), np.array([3, 1]))
    nearest = topics.typical_documents(PackedRows(vectors), found, 2)
    assert [[place for place, _ in own] for own in nearest] == [[1, 0], [3]]
    centre = divided_by_lengths(vectors[:3].sum(axis=0, keepdims=True))[0]
    assert nearest[0][0][1] == pytest.approx(float(centre @ vectors[1]))
    assert nearest[1][0][1] == pytest.approx(1)


def _spectrum(gap_after: int, length: int = 60) -> NDArray[Any]:
    """Make eigenvalues that fall slowly, but fast after some number of them."""
    values = 0.9 - 0.002 * np.arange(length)
    values[gap_after:] -= 0.1
    return values


@pytest.mark.parametrize("number", [5, 8, 11, 19])
def test_the_number_is_read_off_the_widest_gap(number: int) -> None:
    assert topics.choose_number(_spectrum(number - 1), 1000) == number


def test_gaps_beyond_the_range_do_not_count() -> None:
    early, late = (
        topics.choose_number(_spectrum(1), 1000),
        topics.choose_number(_spectrum(40), 1000),
    )
    assert 5 <= early <= 20
    assert 5 <= late <= 20


@pytest.mark.parametrize(
    ("n_eigenvalues", "n_documents", "number"),
    [(0, 0, 1), (1, 1, 1), (1, 2, 2), (2, 3, 2), (150, 10**9, 25)],
)
def test_the_number_for_odd_sizes(n_eigenvalues: int, n_documents: int, number: int) -> None:
    values = np.linspace(0.9, 0.1, n_eigenvalues) ** 2
    assert topics.choose_number(values, n_documents) == number


@pytest.mark.parametrize("entries", [1, 7, 4_000_000])
def test_documents_of_terms(monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    from scipy.sparse import csr_array

    monkeypatch.setattr(topics, "_ENTRIES", entries)
    rng = np.random.default_rng(6)
    table = rng.integers(0, 3, size=(20, 9)) * (rng.random((20, 9)) < 0.4)
    names = [f"t{number}" for number in range(9)]
    columns = {name: 6 - number for number, name in enumerate(names) if number < 7}
    counts = csr_array(table.astype(np.float32))
    postings = Postings.build(names, counts, table.sum(axis=1).astype(np.int32), columns)
    assignments = rng.integers(-1, 3, size=20)
    found = Clusters(assignments, np.bincount(assignments[assignments >= 0]))
    expected = [
        [np.count_nonzero(table[assignments == each, 6 - column]) for each in range(3)]
        for column in range(7)
    ]
    assert topics.document_counts(postings, found, 7).tolist() == expected


def test_characteristic_terms() -> None:
    """A term that its cluster has and others lack comes first; one that all have never does."""
    found = Clusters(np.repeat([0, 1], 10), np.array([10, 10]))
    counts = np.array([[10, 10], [9, 0], [4, 0], [1, 0], [1, 8]])
    assert topics.characteristic_terms(counts, found, 3) == [[1, 2], [4]]


def test_terms_of_a_single_document() -> None:
    found = Clusters(np.array([0, 0, 1]), np.array([2, 1]))
    assert topics.characteristic_terms(np.array([[2, 0], [0, 1]]), found, 5) == [[0], [1]]


def test_agreement_with_labels() -> None:
    rng = np.random.default_rng(8)
    ours, labels = rng.integers(4, size=300), rng.integers(3, size=300)
    labels[ours == 2] = 1
    table = np.zeros((4, 3))
    np.add.at(table, (ours, labels), 1)
    pure, information = purity(table), normalised_information(table)
    assert pure == pytest.approx(table.max(axis=1).sum() / 300)
    expected = normalized_mutual_info_score(labels, ours, average_method="max")
    assert information == pytest.approx(expected)


def test_perfect_and_trivial_agreement() -> None:
    assert purity(np.diag([3, 4])) == normalised_information(np.diag([3, 4])) == 1
    assert purity(np.array([[5]])) == normalised_information(np.array([[5]])) == 1


@pytest.mark.parametrize(
    ("n_documents", "number"),
    [(0, 1), (1, 1), (2, 2), (3, 2), (8, 2), (60, 4), (1000, 10), (125_000, 50), (10**9, 50)],
)
def test_the_number_without_a_spectrum(n_documents: int, number: int) -> None:
    assert topics.usual_number(n_documents) == number
