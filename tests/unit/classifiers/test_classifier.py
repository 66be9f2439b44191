from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.classifiers.classifier import (
    TEMPERATURES,
    Classifier,
    Members,
    as_shares,
    best_temperature,
    class_centres,
    label_array,
    neighbour_votes,
    surprise,
    unit,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def _members(*own: Sequence[int]) -> Members:
    starts = np.cumsum([0, *map(len, own)])
    return Members(starts, np.array([one for each in own for one in each]))


def test_members_of_some_documents() -> None:
    """The classes of chosen documents come in the order in which they are chosen."""
    some = _members([0], [1, 2], [], [2]).of(np.array([3, 1, 2, 1]))
    assert some.starts.tolist() == [0, 1, 3, 3, 5]
    assert some.classes.tolist() == [2, 1, 2, 1, 2]


def test_members_as_shares() -> None:
    """A document with two labels is half of each."""
    shares = _members([0], [1, 2]).shares(3)
    assert shares.tolist() == [[1, 0, 0], [0, 0.5, 0.5]]


def test_class_centres() -> None:
    """A centre is the direction of the mean of its documents; half a document counts half."""
    points = np.array([[1.0, 0], [0, 1], [0, 1]])
    centres = class_centres(points, _members([0], [0, 1], [1]), 3)
    assert centres == pytest.approx(unit(np.array([[1, 0.5], [0, 1], [0, 0]])))


def test_votes_of_neighbours() -> None:
    """The nearest documents vote by their cosines, for each of their labels; others do not."""
    vectors = np.array([[1.0, 0], [0.6, 0.8], [0, 1], [-1, 0]])
    members = _members([0], [1, 2], [2], [2])
    votes = neighbour_votes(np.array([[1.0, 0]]), vectors, members, 3, k=2)
    assert votes[0] == pytest.approx([1 / 1.6, 0.3 / 1.6, 0.3 / 1.6])


def test_more_neighbours_than_documents() -> None:
    """A few training documents all vote, except those that point away."""
    vectors = np.array([[1.0, 0], [-1, 0]])
    assert neighbour_votes(np.array([[1.0, 0]]), vectors, _members([0], [1]), 2)[0].tolist() == [
        1,
        0,
    ]


def test_many_points_vote_as_one_does() -> None:
    """Points are taken in blocks; the votes of each are those that it has alone."""
    rng = np.random.default_rng(0)
    vectors, points = unit(rng.normal(size=(50, 4))), unit(rng.normal(size=(600, 4)))
    members = _members(*([number % 5] for number in range(50)))
    together = neighbour_votes(points, vectors, members, 5)
    alone = [
        neighbour_votes(point[np.newaxis], vectors, members, 5)[0] for point in points[250:260]
    ]
    assert together[250:260] == pytest.approx(np.array(alone))


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8),
    st.floats(min_value=0.1, max_value=1000),
)
def test_shares(scores: list[float], temperature: float) -> None:
    """Shares are from 0 to 1, sum to 1, and are in the order of the scores."""
    shares = as_shares(np.array([scores]), temperature)[0]
    assert shares.sum() == pytest.approx(1)
    assert ((shares >= 0) & (shares <= 1)).all()
    order = np.argsort(scores)
    assert (np.diff(shares[order]) >= 0).all()


def test_shares_by_hand() -> None:
    """A share is exp(t · score) over its sum."""
    assert as_shares(np.array([[0, np.log(3)]]), 2)[0] == pytest.approx([0.1, 0.9])


def test_the_best_temperature() -> None:
    """It is the one of all candidates under which the truth is most probable."""
    rng = np.random.default_rng(1)
    for noise in (0.2, 1, 5):
        truth = np.eye(4)[rng.integers(4, size=200)]
        scores = truth + noise * rng.normal(size=truth.shape)
        surprises = [surprise(as_shares(scores, each), truth) for each in TEMPERATURES]
        assert best_temperature(scores, truth) == TEMPERATURES[np.argmin(surprises)]


def test_a_calibrated_share_is_a_frequency() -> None:
    """Where labels are drawn by shares of a temperature, that temperature is found."""
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(4000, 3))
    drawn = [rng.choice(3, p=shares) for shares in as_shares(scores, 4.0)]
    assert best_temperature(scores, np.eye(3)[drawn]) == pytest.approx(4.0, rel=0.15)


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
        "vectors": np.zeros((9, 9)),
    }
    return Classifier.from_index(arrays, dict.fromkeys(("centroid", "knn", "svm"), 2.0))


def test_labels_are_kept_as_they_are(classifier: Classifier) -> None:
    """Any text can be a label, with line ends and quotes."""
    assert classifier.labels == ("sea", "la\nnd “ü”")


@pytest.mark.parametrize(("by", "gap"), [("centroid", 2), ("knn", 1), ("svm", 2.5)])
def test_each_classifier(classifier: Classifier, by: str, gap: float) -> None:
    """The shares follow from the difference of the two scores."""
    shares = classifier.shares(np.array([0]), np.array([1.0], np.float32), by)
    assert shares is not None
    assert shares == pytest.approx(as_shares(np.array([[gap, 0]]), 2.0)[0])


@pytest.mark.parametrize("by", ["centroid", "knn"])
@pytest.mark.parametrize("columns", [[], [2], [0, 1]])
def test_no_direction(classifier: Classifier, by: str, columns: list[int]) -> None:
    """Without a term, or where terms cancel out, there is no answer."""
    weights = np.ones(len(columns), np.float32)
    assert classifier.shares(np.array(columns, np.int32), weights, by) is None


def test_no_terms_for_an_svm(classifier: Classifier) -> None:
    """Intercepts alone are no answer."""
    assert classifier.shares(np.array([], np.int32), np.array([], np.float32), "svm") is None


def test_no_heavy_imports() -> None:
    """Judging needs neither SciPy nor scikit-learn."""
    code = (
        "import sys, lpisearch.classifiers.classifier, lpisearch.search.classifying; "
        "print([name for name in ('scipy', 'sklearn', 'alembic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
