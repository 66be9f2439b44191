from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from lpisearch.classifiers.classifier import Members
from lpisearch.classifiers.trainer import TOLERANCE, fit_machine
from lpisearch.numeric.rows import divided_by_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence


def _members(own: Sequence[Sequence[int]]) -> Members:
    starts = np.cumsum([0, *map(len, own)])
    return Members(starts, np.array([one for each in own for one in each]))


def _documents(n_classes: int, seed: int = 0) -> tuple[csr_array, list[int]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=200)
    weights = rng.random((200, 4 * n_classes)) * (rng.random((200, 4 * n_classes)) < 0.3)
    weights[np.arange(200), 4 * labels] += 0.7
    return csr_array(divided_by_lengths(weights).astype(np.float32)), labels.tolist()


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_the_scores_are_those_of_a_peer(n_classes: int) -> None:
    X, labels = _documents(n_classes)
    scores = fit_machine(X, _members([[label] for label in labels]), n_classes, 0).scores(X)
    peer = LinearSVC(multi_class="crammer_singer", tol=TOLERANCE, random_state=0).fit(X, labels)
    theirs = peer.decision_function(X)
    if n_classes == 2:
        assert scores[:, 1] - scores[:, 0] == pytest.approx(theirs, abs=1e-4)
    else:
        assert scores == pytest.approx(theirs, abs=1e-4)


def test_dense_rows_do_too() -> None:
    X, labels = _documents(3)
    members = _members([[label] for label in labels])
    sparse, dense = fit_machine(X, members, 3, 0), fit_machine(X.toarray(), members, 3, 0)
    assert dense.weights == pytest.approx(sparse.weights, abs=1e-3)


def test_a_class_without_documents_is_never_first() -> None:
    X, labels = _documents(3)
    shifted = [label + (label > 0) for label in labels]
    found = fit_machine(X, _members([[label] for label in shifted]), 4, 0).scores(X)
    assert 1 not in found.argmax(axis=1)
    assert np.mean(found.argmax(axis=1) == shifted) > 0.9


def test_several_labels_count_together_as_one_document() -> None:
    X, labels = _documents(3)
    once = fit_machine(X, _members([[label] for label in labels]), 3, 0)
    twice = fit_machine(X, _members([[label, label] for label in labels]), 3, 0)
    assert np.abs(once.scores(X) - twice.scores(X)).mean() < 0.1
    own = [[label, 3] if row % 2 else [label] for row, label in enumerate(labels)]
    both = fit_machine(X, _members(own), 4, 0).scores(X)
    assert np.mean(both[:, :3].argmax(axis=1) == labels) > 0.9
