from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from lpisearch.graphs.supervision import memberships
from lpisearch.methods.rlpi import RLPI, STRENGTHS, Labelled, choose_label_strength, some_labels
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_DOCUMENTS, N_CLASSES, N_TERMS = 300, 3, 60


def _documents(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Make documents of random words, of which a class prefers a third."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(N_CLASSES, size=N_DOCUMENTS)
    chance = np.full((N_DOCUMENTS, N_TERMS), 0.1)
    chance[labels[:, np.newaxis] == np.arange(N_TERMS) % N_CLASSES] += 0.15
    words = (rng.random(chance.shape) < chance) * (0.5 + rng.random(chance.shape))
    return np.asarray(unit_rows(words.astype(np.float32))), labels


def _chosen(X: Any, labels: Any, places: Any) -> float:
    shares = memberships(labels.tolist(), len(labels))[0]
    known = Labelled(sparse.csr_array(X), shares, np.asarray(places, np.float32))
    return choose_label_strength(known, 1.0, np.random.default_rng(0))


def test_the_better_kind_counts_more() -> None:
    X, labels = _documents()
    telling = 3 * np.eye(N_CLASSES)[labels]
    rng = np.random.default_rng(1)
    assert _chosen(X, rng.permutation(labels), telling[rng.permutation(len(X))]) == 1
    assert _chosen(rng.permutation(X), labels, telling) <= 1
    assert _chosen(X, labels, 20 * rng.normal(size=(len(X), 5))) > 1


def test_too_few_labels_leave_it_at_one() -> None:
    X, labels = _documents()
    rows = [int(np.flatnonzero(labels == each)[0]) for each in range(N_CLASSES)]
    assert _chosen(X[rows[:2]], labels[rows[:2]], np.ones((2, 1))) == 1


@pytest.mark.parametrize("strength", [s for s in STRENGTHS if 0 < s < np.inf])
def test_dimensions_of_both_kinds_lie_side_by_side(strength: float) -> None:
    X, labels = _documents()
    some = [label if row < 40 else None for row, label in enumerate(labels.tolist())]
    both = RLPI(10, label_strength=strength).fit(X, some)
    alone = RLPI(10).fit(X[:40], labels[:40].tolist())
    blind = RLPI(10).fit(X)
    expected = [strength * alone.components_, blind.components_[: 10 - alone.n_components_]]
    np.testing.assert_allclose(both.components_, np.concatenate(expected), atol=1e-5)
    np.testing.assert_array_equal(both.eigenvalues_[: alone.n_components_], 1)
    assert (both.label_strength_, both.n_components_) == (strength, 10)


def test_one_kind_alone_at_the_ends() -> None:
    X, labels = _documents()
    some = [label if row < 40 else None for row, label in enumerate(labels.tolist())]
    without = RLPI(10, label_strength=0).fit(X, some)
    np.testing.assert_array_equal(without.components_, RLPI(10).fit(X).components_)
    alone = RLPI(10, label_strength=np.inf).fit(X, some)
    found = RLPI(10).fit(X[:40], labels[:40].tolist())
    np.testing.assert_allclose(alone.components_, found.components_, atol=1e-5)


def test_no_more_dimensions_than_asked() -> None:
    X, labels = _documents()
    some = [label if row < 40 else None for row, label in enumerate(labels.tolist())]
    for count in (1, 2, 3):
        assert RLPI(count, label_strength=1).fit(X, some).n_components_ == count
    found = RLPI("auto", label_strength=1).fit(X, some)
    assert found.n_components_ == RLPI("auto").fit(X).n_components_ + N_CLASSES - 1


def test_when_there_are_some_labels() -> None:
    assert some_labels(None, 3) is None
    assert some_labels(["a", "b", "a"], 3) is None
    assert some_labels(["a", None, "a"], 3) is None
    assert some_labels(["a", None, "b"], 3) is not None
