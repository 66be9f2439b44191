from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lpisearch.search.fusion import MOST_WEIGHT, fuse, semantic_weight, standardised

scores = arrays(np.float32, 7, elements=st.floats(0, 100, width=32))


def floats(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return values as scores."""
    return np.array(values, np.float32)


def test_both_legs_standardised_and_added() -> None:
    """The score is z(BM25) + w z(cosine) with w = two thirds of the most by the best."""
    found = fuse(floats(0, 2), floats(1, 0.5), 3.0)
    assert found.tolist() == pytest.approx([-1 + 1, 1 - 1])


def test_the_weight_falls_as_one_document_says_all() -> None:
    """The subspace counts two thirds beside words that are all there, four times at most."""
    assert semantic_weight(6, 6) == pytest.approx(2 / 3)
    assert semantic_weight(3, 6) == pytest.approx(4 / 3)
    assert semantic_weight(0.1, 6) == MOST_WEIGHT
    assert semantic_weight(0, 0) == semantic_weight(0, 5) == 1


def test_a_leg_that_says_nothing_adds_nothing() -> None:
    """With no hit in one leg, or equal scores, the order is that of the other."""
    cosines = floats(0.1, 0.9, 0.4)
    nothing = floats(0, 0, 0)
    assert np.argsort(fuse(nothing, cosines, 0)).tolist() == [0, 2, 1]
    assert np.argsort(fuse(floats(1, 3, 2), nothing, 9)).tolist() == [0, 2, 1]
    assert fuse(nothing, nothing, 0).tolist() == [0, 0, 0]


@pytest.mark.parametrize("values", [(), (0.3,), (0.3, 0.3), (0.3, 0.30000001)])
def test_no_deviation(values: tuple[float, ...]) -> None:
    """No document, one, or equal ones up to rounding have zeros, not NaN."""
    assert standardised(floats(*values)).tolist() == [0] * len(values)


@given(scores, scores, st.floats(0, 1000))
def test_never_nan(
    bm25: np.typing.NDArray[np.float32], cosines: np.typing.NDArray[np.float32], most: float
) -> None:
    """Whatever the legs give, the score is a number."""
    assert np.isfinite(fuse(bm25, cosines, most)).all()
