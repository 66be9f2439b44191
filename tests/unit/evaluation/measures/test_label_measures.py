"""Measures of labels, beside those of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from lpisearch.evaluation.measures import (
    Confused,
    accuracy,
    confusion,
    macro_f1,
    set_f1,
    worst_pairs,
)

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


_LABELS = st.lists(st.sampled_from("abcd"), unique=True, max_size=3)


@given(st.lists(st.tuples(_LABELS.filter(bool), _LABELS), min_size=1, max_size=8))
@example([(["a"], ["a"]), (["a"], [])])
def test_it_is_that_of_scikit_learn(pairs: list[tuple[list[str], list[str]]]) -> None:
    given_labels, predicted = (list(each) for each in zip(*pairs, strict=True))
    # A column for each of the four: scikit-learn takes a single column for two classes.
    names = MultiLabelBinarizer(classes=list("abcd")).fit([])
    truth, said = names.transform(given_labels), names.transform(predicted)
    occur = (truth + said).any(axis=0).nonzero()[0]
    found = set_f1(given_labels, predicted)
    for value, average in ((found.micro, "micro"), (found.macro, "macro")):
        expected = f1_score(truth, said, labels=occur, average=average, zero_division=0)
        assert value == pytest.approx(expected)


def test_documents_without_labels_are_left_out() -> None:
    assert set_f1([["a"], []], [["a"], ["b"]]) == (1.0, 1.0)
    with pytest.raises(ValueError, match="2 labels, but 1 predictions"):
        set_f1([["a"], ["b"]], [["a"]])
