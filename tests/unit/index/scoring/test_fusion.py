from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lpisearch.index.fusion import (
    SUBSPACE_BOUND,
    above_all,
    bounded,
    known_part,
    standard_of,
    standardised,
    subspace_scores,
    vector_certainty,
)

scores = arrays(np.float32, 7, elements=st.floats(0, 100, width=32))


def floats(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return values as scores."""
    return np.array(values, np.float32)


def test_standardised() -> None:
    """Scores become their distance from the mean in deviations, each row by itself."""
    assert standardised(floats(0, 2)).tolist() == [-1, 1]
    assert standardised(np.stack([floats(0, 2), floats(5, 1)])).tolist() == [[-1, 1], [1, -1]]


@pytest.mark.parametrize("values", [(), (0.3,), (0.3, 0.3), (0.3, 0.30000001)])
def test_no_deviation(values: tuple[float, ...]) -> None:
    """No document, one, or equal ones up to rounding have zeros, not NaN."""
    assert standardised(floats(*values)).tolist() == [0] * len(values)


def test_bounds() -> None:
    """Small scores stay as they are, none goes beyond the bound, and their order is kept."""
    values = floats(-30, -0.1, 0, 0.1, 3, 30)
    found = bounded(values, 4)
    assert found[1:4].tolist() == pytest.approx([-0.1, 0, 0.1], abs=1e-3)
    assert np.abs(found).max() <= 4
    assert (np.diff(found) > 0).all()


@given(scores)
def test_never_nan_never_beyond(cosines: np.typing.NDArray[np.float32]) -> None:
    places = subspace_scores(cosines, floats(*[0.5] * 7))
    assert np.abs(places).max() <= SUBSPACE_BOUND / 2


def test_few_terms_make_no_sure_place() -> None:
    found = vector_certainty(np.array([0, 7, 700]))
    assert found.tolist() == pytest.approx([0, 0.5, 0.99], abs=1e-3)


def test_what_is_known_of_a_query() -> None:
    one, frequencies = np.ones(2), np.array([3, 3])
    assert known_part(one, frequencies, np.array([True, True]), 100) == 1
    assert known_part(one, frequencies, np.array([False, False]), 100) == 0
    assert known_part(one, frequencies, np.array([True, False]), 100) == pytest.approx(0.5**0.5)
    nowhere = known_part(one, np.array([3, 0]), np.array([True, False]), 100)
    assert nowhere < 0.5**0.5  # a word in no document tells the most
    assert known_part(np.empty(0), np.empty(0, int), np.empty(0, bool), 100) == 1


def test_special_cosines() -> None:
    """Above the mean by a deviation is special; of equal ones none is, and none below zero."""

    def special(*values: float) -> list[bool]:
        cosines = floats(*values)
        found: list[bool] = above_all(cosines, standard_of(cosines), len(cosines)).tolist()
        return found

    assert special(0.9, 0, 0, 0, 0.1, 0) == [True] + [False] * 5
    assert not any(special(0.5, 0.5, 0.5))
    assert not any(special(-0.1, -0.9, -0.9, -0.9))
    assert special(0.7) == [True]
