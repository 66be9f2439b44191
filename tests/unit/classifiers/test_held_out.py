from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csr_array

from lpisearch.classifiers.classifier import Members
from lpisearch.classifiers.trainer import TrainingLimits, held_out_folds

N_CLASSES = 3


def _members(classes: list[int]) -> Members:
    return Members(np.arange(len(classes) + 1), np.array(classes))


def _different(count: int) -> csr_array:
    """Make documents that have no term in common."""
    return csr_array(sparse.eye_array(count, dtype=np.float32))


@pytest.mark.parametrize("count", [7, 100, 2500])
def test_folds(count: int) -> None:
    """Fifths with each class in proportion; of many documents one part."""
    folds = held_out_folds(_different(count), _members([n % N_CLASSES for n in range(count)]), 0)
    every = np.concatenate([fold.judged for fold in folds])
    assert len(every) == len(set(every.tolist()))
    if count <= 2000:
        assert sorted(every) == list(range(count))
    else:
        assert len(folds) == 1
        assert len(every) == pytest.approx(count / 5, abs=2)
    for fold in folds:
        assert not set(fold.seen) & set(fold.judged)
        sizes = Counter((fold.judged % N_CLASSES).tolist())
        assert max(sizes.values()) - min(sizes.values()) <= 2


def test_large_collections_take_part_by_a_sample() -> None:
    members = _members([n % N_CLASSES for n in range(3000)])
    limits = TrainingLimits(judged=200, seen=1000)
    (fold,) = held_out_folds(_different(3000), members, 0, limits)
    assert (len(fold.judged), len(fold.seen)) == (200, 1000)


def test_copies_are_held_out_together() -> None:
    X = csr_array(sparse.kron(np.ones((4, 1)), sparse.eye_array(30)).astype(np.float32))
    for fold in held_out_folds(X, _members([n % 30 % N_CLASSES for n in range(120)]), 0):
        assert not set((fold.seen % 30).tolist()) & set((fold.judged % 30).tolist())


def test_a_class_of_copies_is_not_lost() -> None:
    X = csr_array(np.repeat(np.eye(2, dtype=np.float32), 5, axis=0))
    classes = [0] * 5 + [1] * 5
    folds = held_out_folds(X, _members(classes), 0)
    assert len(folds) == 5
    for fold in folds:
        assert {classes[row] for row in fold.seen} == {0, 1}


def test_a_part_that_would_leave_one_class_is_left_out() -> None:
    assert held_out_folds(_different(2), _members([0, 1]), 0) == []
