"""Parts of documents, and answers within a budget."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.errors import BadOption
from lpisearch.model.answers import Answer, Hit, Passage
from lpisearch.model.codec import json_text, to_json
from lpisearch.model.documents import Document, Section
from lpisearch.model.excerpts import TOKEN, excerpt, sentence_end, within_budget

_PAGES = ("First page. It is short.\n", "Second page, with a table.\n", "The last one.")
_BOOK = Document(
    "Book",
    "".join(_PAGES),
    id="book.pdf",
    sections=(
        Section(0, "page", "i"),
        Section(0, "chapter", "Beginnings"),
        Section(12, "heading", "It is"),
        Section(25, "page", "2"),
        Section(52, "page", "3"),
        Section(52, "chapter", "Endings"),
    ),
)


def _shown(answer: Answer) -> str:
    return json_text(to_json(answer))


def _hit(rank: int, *texts: str) -> Hit:
    passages = tuple(Passage(text, ((0, 3),), 10, 10 + len(text)) for text in texts)
    return Hit(rank, f"document/{rank}", f"Title {rank}", (), "", "", 1.0, passages=passages)


@pytest.mark.parametrize(
    ("part", "text", "page", "section"),
    [
        ({"page": "2"}, _PAGES[1], "2", "It is"),
        ({"page": "I"}, _PAGES[0], "i", "Beginnings"),
        ({"section": "it is"}, _PAGES[0][12:] + _PAGES[1], "i", "It is"),
        ({"section": "end"}, _PAGES[2], "3", "Endings"),
        ({"section": "Beginnings"}, "".join(_PAGES[:2]), "i", "Beginnings"),
        ({"start": 56}, "last one.", "3", "Endings"),
        ({}, _BOOK.text, "i", "Beginnings"),
    ],
)
def test_a_part_by_its_name(part: dict[str, str], text: str, page: str, section: str) -> None:
    found = excerpt(_BOOK, **part)  # type: ignore[arg-type]
    assert (found.text, found.page, found.section) == (text, page, section)
    assert _BOOK.text[found.start : found.end] == text
    assert (found.truncated, found.next, found.characters) == (False, None, len(_BOOK.text))


def test_what_is_cut_goes_on() -> None:
    first = excerpt(_BOOK, length=20)
    assert (first.text, first.truncated, first.next) == ("First page.", True, 11)
    text, start = "", 0
    while True:
        part = excerpt(_BOOK, start=start, length=9)
        text += part.text
        if part.next is None:
            break
        assert part.next > start
        start = part.next
    assert text == _BOOK.text


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"page": "4"}, "the document has no page “4”, only “i”, “2”, “3”"),
        ({"section": "Middle"}, "has no section “Middle”"),
        ({"start": 100}, "must be 0 to 65"),
        ({"page": "2", "start": 5}, "cannot be used together"),
    ],
)
def test_a_part_that_is_not_there(part: dict[str, str], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        excerpt(_BOOK, **part)  # type: ignore[arg-type]


def test_the_nearest_name_is_suggested() -> None:
    many = tuple(Section(0, "heading", f"Part {name}") for name in ("one", "two", *"abcdefg"))
    with pytest.raises(BadOption, match=r"did you mean Part two\?"):
        excerpt(replace(_BOOK, sections=many), section="Patr two")


@given(st.text(max_size=300), st.integers(0, 200))
def test_a_text_is_cut_within_its_bounds(text: str, most: int) -> None:
    end = sentence_end(text, most)
    assert end <= most or end == len(text) <= most
    assert end >= min(len(text), most) // 2


def test_a_text_is_cut_at_the_end_of_a_sentence() -> None:
    assert sentence_end("It rains. It pours! And more", 22) == len("It rains. It pours!")
    assert sentence_end("雨が降る。風が吹く。そして", 12) == len("雨が降る。風が吹く。")
    assert sentence_end("x" * 50, 20) == 20


def test_the_best_passages_stay() -> None:
    whole = Answer((_hit(1, "a" * 80, "b" * 80), _hit(2, "c" * 80, "d" * 80)), "hybrid")
    assert within_budget(whole, 1000, _shown) == (whole, False)
    size = len(_shown(whole))
    cut, is_cut = within_budget(whole, (size - 10) // TOKEN, _shown)
    assert is_cut
    assert [len(hit.passages) for hit in cut] == [2, 1]
    single = replace(whole, hits=tuple(replace(hit, passages=hit.passages[:1]) for hit in whole))
    cut, _ = within_budget(whole, (len(_shown(single)) - 1) // TOKEN, _shown)
    assert [len(hit.passages) for hit in cut] == [1, 1]
    first, second = (len(hit.snippet.text) for hit in cut)
    assert first == 80
    assert 80 - TOKEN <= second < 80
    assert cut[1].snippet.end == 10 + second - 1


_TEXT = st.text(max_size=120)
_HITS = st.lists(st.lists(_TEXT, min_size=1, max_size=3), max_size=12)


@given(_HITS, st.lists(_TEXT, max_size=3), st.integers(25, 1500))
def test_a_budget_is_never_exceeded(texts: list[list[str]], notes: list[str], tokens: int) -> None:
    hits = tuple(_hit(rank, *own) for rank, own in enumerate(texts, start=1))
    whole = Answer(hits, "hybrid", tuple(notes))
    answer, is_cut = within_budget(whole, tokens, _shown)
    assert len(_shown(answer)) <= tokens * TOKEN
    assert is_cut or answer == whole
    assert [hit.id for hit in answer] == [hit.id for hit in whole][: len(answer)]
