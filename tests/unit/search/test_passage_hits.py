"""A hit shows where in its document the answer stands."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import lpisearch
from lpisearch.options import SearchOptions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from lpisearch import Hit

_PAGES = ("bread flour oven", "sugar cake yeast", "ship harbour anchor", "salt recipe bowl")


def _book() -> dict[str, Any]:
    """Return a book of eight pages; the third and the seventh are on the sea."""
    chance = random.Random(1)  # noqa: S311 (texts, not secrets)
    texts = [
        "\n".join(" ".join(chance.choices(_PAGES[page % 4].split(), k=8)) for _ in range(30))
        for page in range(8)
    ]
    texts[6] = "The old pilot knows the harbour.\n" + texts[4]
    starts = [sum(len(text) + 2 for text in texts[:at]) for at in range(8)]
    sections = [{"start": at, "kind": "page", "name": str(n)} for n, at in enumerate(starts, 1)]
    return {"id": "book", "title": "A book", "text": "\n\n".join(texts), "sections": sections}


@pytest.fixture
def book(shelf: Path, put: Callable[..., Any]) -> Path:
    """Return a library of 40 short records and a book, with an index."""
    note = {
        "id": "note",
        "text": "Of rope\nIt is short.\nOf masts\nA mast is a quadrant high.",
        "sections": [
            {"start": 0, "kind": "heading", "name": "Of rope"},
            {"start": 21, "kind": "heading", "name": "Of masts"},
        ],
    }
    put([_book(), note], name="book")
    with lpisearch.open(shelf) as library:
        library.index(options=lpisearch.IndexOptions(dims=6, neighbours=5))
    return shelf


def _hit(library: Path, text: str, name: str = "book", **options: Any) -> Hit:
    with lpisearch.open(library) as opened:
        answer = opened.search(text, options=SearchOptions(k=60, **options))
        return next(hit for hit in answer if hit.id == name)


@pytest.mark.parametrize("by", ["hybrid", "semantic", "lexical"])
def test_a_long_document_shows_its_best_pages(book: Path, by: str) -> None:
    hit = _hit(book, "harbour ship", by=by)
    assert hit.snippet is hit.passages[0]
    assert hit.passages[0].page == "3"
    assert 1 <= len(hit.passages) <= 3
    text = _book()["text"]
    for one in hit.passages:
        section = one.section
        assert section is not None
        assert (section.kind, section.name) == ("page", one.page)
        assert section.start <= one.start < one.end <= len(text)
        shown = one.text.strip("…")
        assert " ".join(text[one.start : one.end].split()) == shown
    assert len({one.page for one in hit.passages}) == len(hit.passages)


def test_the_scores_and_the_explanation_are_of_the_best_passage(book: Path) -> None:
    hit = _hit(book, "harbour ship", explain=True)
    why = hit.explanation
    assert why is not None
    assert hit.cosine == pytest.approx(why.cosine, abs=1e-4)
    assert sum(share for _, share in why.by_query_term) == pytest.approx(why.cosine, abs=1e-4)
    assert {pair.document_term for pair in why.pairs} <= {"ship", "harbour", "anchor", "book"}


def test_fewer_passages_are_the_best_of_all(book: Path) -> None:
    every = _hit(book, "bread sugar ship")
    assert len(every.passages) > 1
    assert _hit(book, "bread sugar ship", passages=1).passages == every.passages[:1]


def test_what_is_quoted_is_shown_first(book: Path) -> None:
    hit = _hit(book, '"pilot knows the harbour" ship anchor')
    assert hit.passages[0].page == "7"
    assert "pilot knows the harbour" in hit.passages[0].text


def test_a_short_document_shows_under_which_heading(book: Path) -> None:
    hit = _hit(book, "quadrant", "note")
    (passage,) = hit.passages
    assert passage.section is not None
    assert (passage.section.name, passage.page) == ("Of masts", "")
    assert (passage.start, passage.end) == (21, 56)


def test_without_an_index_the_heading_is_shown_too(shelf: Path, put: Callable[..., Any]) -> None:
    put([_book()], name="book")
    assert _hit(shelf, "pilot knows").passages[0].page == "7"


def test_words_far_into_a_text_are_shown_without_an_index(
    shelf: Path, put: Callable[..., Any]
) -> None:
    book = _book()
    far = len(book["text"]) + 2
    filler = "bread flour oven butter sugar\n" * 20_000
    last = "The old quadrant hangs on the wall of the mess, beside the clock and the barometer."
    book["text"] += f"\n\n{filler}{last}\n"
    book["sections"] += [
        {"start": far, "kind": "page", "name": "9"},
        {"start": far + len(filler), "kind": "page", "name": "10"},
    ]
    put([book], name="book")
    passage = _hit(shelf, "quadrant").passages[0]
    assert "old quadrant" in passage.text
    assert passage.page == "10"
    assert "quadrant" in book["text"][passage.start : passage.end]


@pytest.mark.usefixtures("book")
def test_every_output_has_the_page(cli: Callable[..., Result]) -> None:
    asked = ("query", "harbour", "ship", "-k", "1", "--by", "lexical")
    (line,) = cli(*asked, "--path", "book").stdout.splitlines()[1:]
    assert "\tpage 3\t" in line
    assert ",page 3," in cli(*asked, "--path", "book", "--csv").stdout
    (hit,) = json.loads(cli(*asked, "--path", "book", "--json").stdout)
    first = hit["passages"][0]
    assert (first["page"], first["section"]["kind"]) == ("3", "page")
    assert first["text"] == hit["snippet"]


def test_what_is_said_twice_is_shown_once(shelf: Path, put: Callable[..., Any]) -> None:
    same = "The pilot knows the harbour. " + "An anchor holds in sand but not on rock. " * 6
    lines = [("bread flour oven", "sugar cake yeast", "salt recipe bowl")[n % 3] for n in range(60)]
    texts = ["\n".join([f"Page {n}.", *lines, f"Then {n}. {same}", *lines]) for n in range(4)]
    starts = [sum(len(text) + 2 for text in texts[:at]) for at in range(4)]
    sections = [{"start": at, "kind": "page", "name": str(n)} for n, at in enumerate(starts, 1)]
    put([{"id": "twice", "text": "\n\n".join(texts), "sections": sections}], name="twice")
    with lpisearch.open(shelf) as library:
        library.index(options=lpisearch.IndexOptions(dims=6, neighbours=5))
    (passage,) = _hit(shelf, "pilot harbour", "twice").passages
    assert passage.text.startswith("…The pilot knows")


def test_topics_are_named_in_words(book: Path) -> None:
    hit = _hit(book, "harbour ship", explain=True)
    assert hit.explanation is not None
    named = {term for topic in hit.explanation.topics for term in topic.terms}
    assert "recip" not in named
    assert named & {"recipe", "harbour", "anchor"}
