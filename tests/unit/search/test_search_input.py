from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lpisearch
from lpisearch.options import SearchOptions
from tests.searching import run_search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def opened(index_shelf: Callable[..., Path]) -> Iterator[lpisearch.Library]:
    """Return a small library with an index."""
    with lpisearch.open(index_shelf(dims=5)) as library:
        yield library


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    text=st.text(max_size=60) | st.from_regex(r'[ab"*\-:^(){}+ ]{1,20}', fullmatch=True),
    by=st.sampled_from(["hybrid", "semantic", "lexical"]),
)
def test_any_text_is_a_query(opened: lpisearch.Library, text: str, by: str) -> None:
    hits = opened.search(text, by=by, k=4).hits
    assert len(hits) <= 4
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(math.isfinite(score) for score in scores)


@pytest.mark.parametrize("by", ["hybrid", "semantic", "lexical"])
def test_a_megabyte_is_a_query(opened: lpisearch.Library, by: str) -> None:
    text = "ship harbour " * 80_000
    assert len(text) > 1_000_000
    assert len(opened.search(text, by=by, k=3).hits) == 3


@pytest.mark.usefixtures("shelf")
def test_a_megabyte_without_an_index(library: Path, sql: Callable[..., list[Any]]) -> None:
    assert sql("SELECT count(*) FROM documents")[0][0] > 0
    text = " ".join(f"ship w{number}" for number in range(60_000))
    assert run_search(library, text, SearchOptions(k=3)).by == "lexical"
