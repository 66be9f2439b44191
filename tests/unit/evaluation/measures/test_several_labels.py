"""F1 of sets of labels, beside scikit-learn's."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import example, given
from sklearn.metrics import f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from lpisearch.evaluation.label_measures import set_f1

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
