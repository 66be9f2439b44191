"""From shares to one label or several."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given
from hypothesis.extra.numpy import arrays

from lpisearch.classifiers.classifier import NO_FURTHER, decided_labels, further_share

_SHAPES = st.tuples(st.integers(1, 6), st.integers(2, 4))


def _micro_f1(shares: Any, truth: Any, further: float) -> float:
    """Count it document by document."""
    taken = [set(decided_labels(row, further).tolist()) for row in shares]
    given_labels = [set(np.flatnonzero(row).tolist()) for row in truth]
    hits = sum(len(a & b) for a, b in zip(taken, given_labels, strict=True))
    return 2 * hits / (sum(map(len, taken)) + sum(map(len, given_labels)))


@given(st.data())
def test_no_other_share_has_a_better_f1(data: st.DataObject) -> None:
    shape = data.draw(_SHAPES)
    weights = data.draw(arrays(np.int64, shape, elements=st.integers(1, 5)))
    shares = weights / weights.sum(axis=1, keepdims=True)
    truth = data.draw(arrays(np.bool_, shape))
    truth[:, 0] |= ~truth.any(axis=1)
    learned = _micro_f1(shares, truth, further_share(shares, truth))
    borders = [*np.unique(shares).tolist(), 0.0, NO_FURTHER]
    assert learned >= max(_micro_f1(shares, truth, border) for border in borders) - 1e-12


def test_documents_with_one_label_teach_to_give_one() -> None:
    shares = np.array([[0.9, 0.1], [0.45, 0.55]])
    assert further_share(shares, shares > 0.5) == NO_FURTHER
    assert decided_labels(np.array([0.5, 0.5]), NO_FURTHER).tolist() == [0]


def test_labels_come_best_first() -> None:
    assert decided_labels(np.array([0.2, 0.5, 0.3]), 0.25).tolist() == [1, 2]
    assert decided_labels(np.array([0.2, 0.5, 0.3]), 0.9).tolist() == [1]
