"""Where the words of a query stand: titles, headings, paths, and next to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lpisearch
from lpisearch.options import IndexOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.library import Library

OPTIONS = IndexOptions(dims=5, neighbours=4)
_FILES = {
    "talks/dml-fill.txt": "About nothing that its name says.",
    "talks/plain.txt": "A talk that fills an hour, and fills it well.",
    "rope/far.txt": "Cold weather came. Nobody knew where men would find a harbour or water.",
    "rope/near.txt": "Nobody knew where men would find a harbour. Weather came: cold water.",
    "rope/titled.md": "# Marlin spike\n\nA pointed tool.",
    "rope/text.md": "# A pointed tool\n\nA marlin spike opens rope; a spike of marlin opens more.",
    "rope/color-notes.md": "# Notes\n\nOf tools.",
    "sleep/waking.txt": "He slept, and slept again, until the day came back.",
    "sleep/signs-of-a-stroke.txt": "Ask her to smile, and to raise both of her arms.",
    "sleep/nerves.md": "# Nerves\n\nHands that shake.",
    "rope/panther.txt": "黑豹队的防守只丢了。野马队。",
    "rope/headed.md": "# Tools\n\nOf many kinds.\n\n## Bodkin\n\nThe last of them.",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Return a library of a few files among others, with an index."""
    folder = tmp_path_factory.mktemp("files")
    others = {
        f"other/{at}.txt": f"Water and men and rope, number {at}, by day." for at in range(30)
    }
    for name, text in (_FILES | others).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with lpisearch.open(tmp_path_factory.mktemp("library") / "library.db") as opened:
        opened.ingest(folder)
        opened.index(options=OPTIONS)
        yield opened


@pytest.mark.parametrize(
    ("query", "first", "part"),
    [
        ("dml-fill.txt", "talks/dml-fill.txt", "path"),
        ("dml", "talks/dml-fill.txt", "path"),
        ("cold water", "rope/near.txt", "near"),
        ("marlin spike", "rope/titled.md", "title"),
        ("bodkin tools", "rope/headed.md", "title"),
    ],
)
@pytest.mark.parametrize("by", ["hybrid", "lexical"])
def test_where_words_stand(library: Library, query: str, first: str, part: str, by: str) -> None:
    answer = library.search(query, by=by, k=3)
    assert answer.hits[0].id == first
    assert not answer.suggestions
    reason = library.reason(query, first, options=lpisearch.SearchOptions(by=by))
    assert sum(leg.share for leg in reason.legs) == pytest.approx(answer.hits[0].score, abs=1e-4)
    assert {leg.name: leg.share for leg in reason.legs}[part] > 0


@pytest.mark.parametrize(("query", "is_near"), [("黑豹队的", False), ("黑豹 防守", True)])
def test_pairs_of_characters_that_overlap_are_not_near(
    library: Library, query: str, *, is_near: bool
) -> None:
    reason = library.reason(query, "rope/panther.txt")
    assert ("near" in {leg.name for leg in reason.legs}) is is_near


def test_a_filter_and_a_batch_find_by_the_same_scores(library: Library) -> None:
    ((_, run),) = library.batch([("1", "marlin spike")])
    hits = library.search("marlin spike", k=50, collapse=False)
    scores = dict(run)
    assert all(scores[hit.id] == pytest.approx(hit.score, abs=1e-4) for hit in hits)
    (hit,) = library.search("dml", where=lpisearch.Filter(path="talks/dml-fill.txt"))
    assert hit.id == "talks/dml-fill.txt"


def test_a_word_whose_other_spelling_is_in_a_path_alone(library: Library) -> None:
    assert library.search("colour tools").hits
    assert library.search("color tools").hits[0].id == "rope/color-notes.md"


def test_irregular_forms_are_one_word(library: Library) -> None:
    (typed, *_), (other, *_) = (library.search(word, k=1).hits for word in ("slept", "sleeping"))
    assert typed.id == other.id == "sleep/waking.txt"
    assert library.search("sleeps", by="lexical").hits[0].bm25 == pytest.approx(typed.bm25)


def test_a_word_of_the_name_counts_as_one_of_the_text(library: Library) -> None:
    assert library.search("stroke of a hand").hits[0].id == "sleep/signs-of-a-stroke.txt"


def test_a_common_word_that_no_document_has_stands_for_its_base(library: Library) -> None:
    answer = library.search("nervous", by="lexical")
    assert answer.hits[0].id == "sleep/nerves.md"
    assert not answer.suggestions
