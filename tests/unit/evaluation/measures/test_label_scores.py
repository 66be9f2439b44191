from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from lpisearch.evaluation.label_measures import Confused, accuracy, confusion, macro_f1, worst_pairs

_GIVEN = list("aaaabbbc")
_GUESS = list("aabbbbac")


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abce")), min_size=1))
def test_scores_equal_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    labels, predicted = map(list, zip(*pairs, strict=True))
    matrix, names = confusion(labels, predicted)
    assert names == sorted({*labels, *predicted})
    assert np.array_equal(
        matrix, confusion_matrix(labels, predicted, labels=[*names, "f"])[:-1, :-1]
    )
    assert accuracy(labels, predicted) == pytest.approx(accuracy_score(labels, predicted))
    expected = f1_score(labels, predicted, average="macro", zero_division=0)
    assert macro_f1(labels, predicted) == pytest.approx(expected)


def test_eight_documents_by_hand() -> None:
    assert accuracy(_GIVEN, _GUESS) == pytest.approx(5 / 8)
    assert macro_f1(_GIVEN, _GUESS) == pytest.approx((4 / 7 + 4 / 7 + 1) / 3)
    matrix, names = confusion(np.array(_GIVEN), np.array(_GUESS))
    assert (matrix.tolist(), names) == ([[2, 2, 0], [1, 2, 0], [0, 0, 1]], ["a", "b", "c"])


def test_worst_pairs_come_in_order_and_never_with_none() -> None:
    assert worst_pairs(_GIVEN, _GUESS) == [Confused("a", "b", 2, 0.5), Confused("b", "a", 1, 1 / 3)]
    assert worst_pairs(_GIVEN, _GUESS, 1) == [Confused("a", "b", 2, 0.5)]
    assert worst_pairs(_GIVEN, _GIVEN) == []
    ties = worst_pairs(["a", "a", "b", "c"], ["b", "a", "c", "a"])
    assert [(pair.label, pair.predicted) for pair in ties] == [("b", "c"), ("c", "a"), ("a", "b")]


def test_several_labels_and_none() -> None:
    labels: list[Any] = [["b", "a"], ["b", "c"], None, ["c", "b"], "a"]
    predicted = ["a", "a", "a", "c", "a"]
    assert accuracy(labels, predicted) == pytest.approx(3 / 4)
    matrix, names = confusion(labels, predicted)
    assert (matrix.tolist(), names) == ([[2, 0, 0], [1, 0, 0], [0, 0, 1]], ["a", "b", "c"])


def test_numbers_are_labels_too() -> None:
    assert accuracy(np.array([0, 1, 2]), [0, 1, 1]) == pytest.approx(2 / 3)
    assert confusion([0, 1], np.array([1, 1]))[1] == [0, 1]


@pytest.mark.parametrize("measure", [accuracy, macro_f1, confusion, worst_pairs])
def test_lengths_that_differ_and_no_labels_are_refused(measure: Any) -> None:
    with pytest.raises(ValueError, match="There are 2 labels, but 1 predictions"):
        measure(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="No document has a label"):
        measure([None], ["a"])
