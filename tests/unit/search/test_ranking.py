from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.search.ranking import alphabet_ranks, best, rounded

few_values = st.lists(st.sampled_from([0.0, 0.5, 0.5000001, 1.0]), max_size=12)


@given(few_values, st.integers(0, 14), st.data())
def test_the_best_in_order(values: list[float], count: int, data: st.DataObject) -> None:
    scores = np.array(values, np.float32)
    ids = [f"d{number}" for number in data.draw(st.permutations(range(len(values))))]
    among = sorted(
        data.draw(st.sets(st.sampled_from(range(len(values)))) if values else st.just(set()))
    )
    ranks = alphabet_ranks(ids)
    expected = sorted(among, key=lambda at: (round(float(scores[at]), 6), ids[at]), reverse=True)
    found = best(scores, count, ranks.__getitem__, np.array(among, np.int64))
    assert found.tolist() == expected[:count]


def test_more_than_there_are() -> None:
    scores = np.array([1, 3, 2], np.float32)
    assert best(scores, 99, np.asarray).tolist() == [1, 2, 0]
    assert best(scores, 0, np.asarray).tolist() == []


def test_ids_are_asked_only_of_ties() -> None:
    assert best(np.array([1, 2], np.float32), 2, lambda _: 1 / 0).tolist() == [1, 0]  # type: ignore[arg-type,return-value]


def test_rounding() -> None:
    assert str(rounded(np.array([-1e-9, 0.12345678], np.float32)).tolist()) == "[0.0, 0.123457]"
