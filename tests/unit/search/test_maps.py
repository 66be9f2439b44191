"""Maps of all documents, marks of words, and reasons: sums that are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import lpisearch
from lpisearch.errors import BadOption, DocumentNotFound
from lpisearch.options import SearchOptions
from lpisearch.search.document_map import PROJECTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lpisearch.library import Library

QUESTION = "ship harbour bread"


@pytest.fixture
def opened(index_shelf: Callable[..., Path]) -> Iterator[Library]:
    """Return an open library of records on four topics, with an index."""
    with lpisearch.open(index_shelf(dims=6)) as library:
        yield library


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_topics_lie_apart(opened: Library, projection: str) -> None:
    drawn = opened.map(projection, number=4)
    assert len(drawn.ids) == len(drawn.titles) == len(drawn.places) == 40
    assert np.abs(drawn.places).max() == pytest.approx(1)
    assert np.array_equal(opened.map(projection, number=4).places, drawn.places)
    assert [drawn.label_names[at] for at in drawn.labels] == [
        name.split("/")[0] for name in drawn.ids
    ]
    apart = np.linalg.norm(drawn.places[:, np.newaxis] - drawn.places, axis=2)
    same = drawn.topics[:, np.newaxis] == drawn.topics
    assert apart[same].mean() < 0.7 * apart[~same].mean()


def test_a_map_drawn_before_gives_its_places(opened: Library) -> None:
    first = opened.map()
    opened.label(first.ids[0], add="new")
    again = opened.map(previous=first)
    assert again.places is first.places
    assert "new" in again.label_names or again.labels.tolist() == first.labels.tolist()
    opened.index("lsi", dims=4)
    assert opened.map(previous=first).places is not first.places


def test_a_map_that_is_none(opened: Library) -> None:
    with pytest.raises(BadOption):
        opened.map("globe")


@pytest.mark.parametrize("by", ["hybrid", "semantic", "lexical"])
def test_the_parts_of_a_score_add_up(opened: Library, by: str) -> None:
    options = SearchOptions(by=by)
    for hit in opened.search(QUESTION, options=options):
        reason = opened.reason(QUESTION, hit.id, options=options)
        assert reason.score == pytest.approx(hit.score, abs=1e-5)
        assert sum(leg.share for leg in reason.legs) == pytest.approx(hit.score, abs=1e-4)
        for leg in reason.legs:
            assert leg.points * leg.weight == pytest.approx(leg.share, abs=1e-5)
    with pytest.raises(DocumentNotFound):
        opened.reason(QUESTION, "no such document")


def test_the_parts_of_a_score_by_feedback(opened: Library) -> None:
    for hit in opened.search("ship", like=["sea/0"], unlike=["sky/2"]):
        reason = opened.reason("ship", hit.id, like=["sea/0"], unlike=["sky/2"])
        assert sum(leg.share for leg in reason.legs) == pytest.approx(hit.score, abs=1e-4)


def test_without_an_index_words_are_all(shelf: Path) -> None:
    with lpisearch.open(shelf) as library:
        (hit, *_) = library.search("ship")
        (leg,) = library.reason("ship", hit.id).legs
        assert leg.name == "words"
        assert leg.share == pytest.approx(hit.score, abs=1e-5)


def test_marks(opened: Library) -> None:
    """Words of the question are marked in all their forms, near words with what they add."""
    text = "Two ships, and an anchor; BREAD."
    (marks,) = opened.marks("ship bread", text)
    assert [text[mark.start : mark.end] for mark in marks if not mark.near] == ["ships", "BREAD"]
    assert all(mark.near > 0 for mark in marks if text[mark.start : mark.end] == "anchor")
    assert opened.marks("", text) == [()]
    own = [mark[:2] for mark in opened.marks('"an anchor"', text)[0] if not mark.near]
    assert own == [(text.index("an an"), text.index(";"))]
