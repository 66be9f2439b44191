from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.classifiers.classifier import (
    CLASSIFIERS,
    Classifier,
    LabelledSubspace,
    Machine,
    Members,
    as_shares,
    class_centres,
    label_array,
    neighbour_votes,
)
from lpisearch.numeric.rows import divided_by_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence


def _members(*own: Sequence[int]) -> Members:
    starts = np.cumsum([0, *map(len, own)])
    return Members(starts, np.array([one for each in own for one in each]))


def test_members_of_some_documents() -> None:
    some = _members([0], [1, 2], [], [2]).of(np.array([3, 1, 2, 1]))
    assert some.starts.tolist() == [0, 1, 3, 3, 5]
    assert some.classes.tolist() == [2, 1, 2, 1, 2]


def test_members_as_shares() -> None:
    shares = _members([0], [1, 2]).shares(3)
    assert shares.tolist() == [[1, 0, 0], [0, 0.5, 0.5]]


def test_class_centres() -> None:
    """A centre is the direction of the mean of its documents; half a document counts half."""
    points = np.array([[1.0, 0], [0, 1], [0, 1]])
    centres = class_centres(points, _members([0], [0, 1], [1]), 3)
    assert centres == pytest.approx(divided_by_lengths(np.array([[1, 0.5], [0, 1], [0, 0]])))


def test_votes_of_neighbours() -> None:
    vectors = np.array([[1.0, 0], [0.6, 0.8], [0, 1], [-1, 0]])
    members = _members([0], [1, 2], [2], [2])
    votes = neighbour_votes(np.array([[1.0, 0]]), vectors, members, 3, k=2)
    assert votes[0] == pytest.approx([1 / 1.6, 0.3 / 1.6, 0.3 / 1.6])


def test_more_neighbours_than_documents() -> None:
    vectors = np.array([[1.0, 0], [-1, 0]])
    assert neighbour_votes(np.array([[1.0, 0]]), vectors, _members([0], [1]), 2)[0].tolist() == [
        1,
        0,
    ]


def test_many_points_vote_as_one_does() -> None:
    rng = np.random.default_rng(0)
    vectors, points = (
        divided_by_lengths(rng.normal(size=(50, 4))),
        divided_by_lengths(rng.normal(size=(600, 4))),
    )
    members = _members(*([number % 5] for number in range(50)))
    together = neighbour_votes(points, vectors, members, 5)
    alone = [
        neighbour_votes(point[np.newaxis], vectors, members, 5)[0] for point in points[250:260]
    ]
    assert together[250:260] == pytest.approx(np.array(alone))


@pytest.fixture
def classifier() -> Classifier:
    """Return a classifier of two labels over three terms, the last of which says nothing."""
    arrays: dict[str, Any] = {
        "classifier_labels": label_array(["sea", "la\nnd “ü”"]),
        "classifier_loadings": np.array([[1.0], [-1], [0]], np.float32),
        "classifier_centroids": np.array([[1.0], [-1]], np.float32),
        "classifier_vectors": np.array([[1.0], [-1]], np.float32),
        "classifier_member_starts": np.arange(3),
        "classifier_members": np.array([0, 1]),
        "classifier_svm_weights": np.array([[1.0, -1], [-1, 1], [0, 0]], np.float32),
        "classifier_svm_intercepts": np.array([0.5, 0], np.float32),
        "classifier_map_svm_weights": np.array([[2.0, -2]], np.float32),
        "classifier_map_svm_intercepts": np.array([0, 0], np.float32),
        "vectors": np.zeros((9, 9)),
    }
    weights = {by: [2.0, 3.0][: len(parts)] for by, parts in CLASSIFIERS.items()}
    return Classifier.from_index(arrays, {"weights": weights, "chosen": "svm"})


def test_labels_are_kept_as_they_are(classifier: Classifier) -> None:
    assert classifier.labels == ("sea", "la\nnd “ü”")


def test_a_large_classifier_has_a_byte_for_each_number(
    classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpisearch.classifiers.classifier._PACKED_FROM", 3)
    rng = np.random.default_rng(0)
    loadings, weights = rng.normal(size=(2, 3, 2)).astype(np.float32)
    vectors = divided_by_lengths(rng.normal(size=(2, 2))).astype(np.float32)
    subspace = LabelledSubspace(loadings, vectors, vectors)
    machines = {
        "svm": Machine(weights, np.zeros(2, np.float32)),
        "map-svm": Machine(weights[:2], np.zeros(2, np.float32)),
    }
    plain = replace(classifier, subspace=subspace, machines=machines)
    arrays = plain.arrays()
    assert arrays["classifier_loadings"].dtype == arrays["classifier_svm_weights"].dtype == np.int8
    packed = Classifier.from_index(arrays, {"weights": classifier.weights, "chosen": "svm"})
    text = [(np.array([0, 2]), np.array([0.6, 0.8], np.float32))]
    for by in CLASSIFIERS:
        (ours,), (expected,) = packed.shares(text, by), plain.shares(text, by)
        assert ours == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    ("by", "gap"),
    [
        ("centroid", 2 * 2),
        ("knn", 2 * 1),
        ("map-svm", 2 * 4),
        ("svm", 2 * 2.5),
        ("svm+centroid", 2 * 2.5 + 3 * 2),
        ("svm+map-svm", 2 * 2.5 + 3 * 4),
        ("auto", 2 * 2.5),
    ],
)
def test_each_classifier(classifier: Classifier, by: str, gap: float) -> None:
    """The shares follow from the difference of the two scores, each part with its weight."""
    shares = classifier.shares([(np.array([0]), np.array([1.0], np.float32))], by)[0]
    assert shares is not None
    assert shares == pytest.approx(as_shares(np.array([[gap, 0]]))[0])


@pytest.mark.parametrize("by", ["centroid", "knn", "map-svm"])
@pytest.mark.parametrize("columns", [[], [2], [0, 1]])
def test_no_direction(classifier: Classifier, by: str, columns: list[int]) -> None:
    """Without a term, or where terms cancel out, there is no answer."""
    weights = np.ones(len(columns), np.float32)
    assert classifier.shares([(np.array(columns, np.int32), weights)], by) == [None]


@pytest.mark.parametrize("by", ["svm", "svm+centroid", "svm+map-svm", "auto"])
def test_no_terms_for_an_svm(classifier: Classifier, by: str) -> None:
    assert classifier.shares([(np.array([], np.int32), np.array([], np.float32))], by) == [None]


def test_terms_that_say_nothing_on_the_map(classifier: Classifier) -> None:
    shares = classifier.shares([(np.array([0, 1]), np.ones(2, np.float32))], "svm+centroid")[0]
    assert shares is not None
    assert shares == pytest.approx(as_shares(np.array([[2 * 0.5, 0]]))[0])


def test_no_heavy_imports() -> None:
    code = (
        "import sys, lpisearch.classifiers.classifier, lpisearch.search.classification; "
        "print([name for name in ('scipy', 'sklearn', 'alembic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
