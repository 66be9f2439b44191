from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.indexes.scoring.fusion import standard_from, standard_of, stretches_of
from lpisearch.indexes.scoring.steps import Border, First, Sums, as_json, in_step, of_json, together

if TYPE_CHECKING:
    from numpy.typing import NDArray

RNG = np.random.default_rng(3)


def test_what_is_said_crosses_the_wire_bit_by_bit() -> None:
    """Scores, vectors and numbers of words are the same after they were JSON."""
    scores = RNG.normal(size=4).astype(np.float32)
    rows: list[NDArray[Any]] = [
        RNG.normal(size=(4, 3)).astype(np.float32),
        np.arange(8).reshape(4, 2),
    ]
    sums = Sums([stretches_of(scores), []], 4, 6, 5)
    for said in (sums, First(4, scores, rows), Border.of(scores, 2)):
        again = of_json(json.loads(json.dumps(as_json(said))))
        assert json.dumps(as_json(again)) == json.dumps(as_json(said))
    vectors = of_json(as_json(First(4, scores, rows)))
    assert isinstance(vectors, First)
    assert vectors.rows[0].tobytes() == rows[0].tobytes()


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"kind": "other"},
        {"kind": "first", "count": 1, "scores": {"dtype": "O", "shape": [1], "data": "AAAA"}},
        {"kind": "first", "count": 1, "scores": {"dtype": "<f4", "shape": [9], "data": "AAAA"}},
    ],
)
def test_what_was_not_said_so_is_refused(said: dict[str, object]) -> None:
    """Neither objects nor shapes that do not fit become arrays."""
    with pytest.raises(ValueError, match=r"\S"):
        of_json({"rows": [], **said})


def test_parts_are_standardised_as_the_whole() -> None:
    """Counts, means and squares of parts give the mean and deviation of all."""
    scores = RNG.normal(5, 2, 1000).astype(np.float32)
    parts = [Sums([stretches_of(part)], len(part), len(part), 1) for part in np.split(scores, 4)]
    every = together(parts)
    assert isinstance(every, Sums)
    assert (every.documents, every.units, every.movers) == (1000, 1000, 4)
    assert np.allclose(standard_from(every.legs[0]), standard_of(scores), rtol=1e-6)


def test_the_first_of_all_are_chosen_from_those_of_parts() -> None:
    """By their scores, with what is told of each."""
    parts = [
        First(2, np.array([3, 1], np.float32), [np.array([[3], [1]])]),
        First(2, np.array([2], np.float32), [np.array([[2]])]),
    ]
    best = together(parts)
    assert isinstance(best, First)
    assert best.scores.tolist() == [3, 2]
    assert best.rows[0].tolist() == [[3], [2]]


@pytest.mark.parametrize("number", [30, 5000])
def test_a_border_is_where_so_many_are_above(number: int) -> None:
    """Exact where parts tell all their best scores, within a thousandth where they are many."""
    scores = RNG.normal(size=number).astype(np.float32)
    count = number // 3
    whole = Border.of(np.sort(scores)[-count:], count)
    assert whole.value == np.sort(scores)[-count]
    parts = [Border.of(np.sort(part)[-count:], count) for part in np.split(scores, 2)]
    border = together(parts)
    assert isinstance(border, Border)
    assert abs(int((scores >= border.value).sum()) - count) <= number // 1000


def test_nothing_is_said_where_there_is_nothing() -> None:
    """A border of no scores is below all."""
    assert Border.of(np.empty(0, np.float32), 3).value == -np.inf
    assert in_step([]) == []
