"""Long texts are cut into passages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.model.documents import Section
from lpisearch.text.spans import USUAL_TOKENS, Span, cut_passages
from lpisearch.text.tokeniser import Tokeniser

TOKENISER = Tokeniser()


def _cut(text: str, sections: tuple[Section, ...] = (), usual: int = 20) -> list[Span]:
    return cut_passages(text, sections, TOKENISER.joined, usual)


def _words(number: int, word: str = "sail") -> str:
    """Return lines of five words, each word once."""
    names = [f"{word}q{chr(97 + at // 26)}{chr(97 + at % 26)}z" for at in range(number)]
    return "\n".join(" ".join(names[at : at + 5]) for at in range(0, number, 5))


def _paged(pages: list[str]) -> tuple[str, tuple[Section, ...]]:
    starts = [sum(len(page) + 2 for page in pages[:at]) for at in range(len(pages))]
    sections = [Section(start, "page", str(at)) for at, start in enumerate(starts, start=1)]
    return "\n\n".join(pages), tuple(sections)


def test_a_text_without_sections_is_cut_into_stretches_of_about_equal_size() -> None:
    text = _words(205)
    passages = _cut(text)
    assert " ".join(one.tokens for one in passages) == TOKENISER.joined(text)
    sizes = [len(one.tokens.split()) for one in passages]
    assert len(sizes) == 10
    assert all(15 <= size <= 25 for size in sizes)


def test_sections_are_kept_joined_or_cut_by_their_size() -> None:
    parts = [_words(20, "one"), _words(5, "two"), _words(5, "three"), _words(60, "four")]
    text, sections = _paged(parts)
    passages = _cut(text, sections)
    found = [{token.split("q")[0] for token in one.tokens.split()} for one in passages]
    assert found == [{"one"}, {"two", "three"}, {"four"}, {"four"}, {"four"}]


def test_what_stands_on_the_edge_of_many_pages_is_in_no_passage() -> None:
    names = "abcdef"
    title = "Manual of Boats"
    pages = [
        f"{title}\n{_words(20, name)}\n{title}\n{_words(5, name * 2)}\nPage {at} of 6"
        for at, name in enumerate(names)
    ]
    text, sections = _paged(pages)
    passages = _cut(text, sections)
    assert len(passages) == 6
    for name, one in zip(names, passages, strict=True):
        assert text[one.start :].startswith(_words(20, name))
        assert "page" not in one.tokens.split()
        assert one.tokens.split().count("boat") == 1


def test_a_table_of_contents_is_in_no_passage() -> None:
    contents = "\n".join(f"{n}. On masts and sails of the ship . . . . . . {n}" for n in range(40))
    appendix = "Appendix\t.\t.\t.\t.\tA-3"
    text = f"{contents}\nPreface .......... xii\n{appendix}\n{_words(20)}\nand so on....\n"
    (passage,) = _cut(text)
    assert text[passage.start : passage.end] == f"{_words(20)}\nand so on...."


def test_a_line_of_any_length_is_cut() -> None:
    assert len(_cut("The ship sails far. " * 400, usual=USUAL_TOKENS)) == 4
    assert len(_cut("海上的船很大" * 500, usual=USUAL_TOKENS)) == 10


@pytest.mark.parametrize("text", ["", "\n\n", "....... 3", "one two"])
def test_a_text_that_says_next_to_nothing_has_no_passage(text: str) -> None:
    assert _cut(text) == []


@given(
    st.lists(st.text(st.sampled_from("ab. \n字.3"), max_size=300), max_size=8),
    st.sampled_from(["page", "heading"]),
)
def test_passages_are_in_order_and_say_what_stands_there(parts: list[str], kind: str) -> None:
    """Spans ascend, do not overlap, and hold their tokens; a section without a line has none."""
    text, sections = _paged(parts)
    end = 0
    for one in _cut(text, tuple(each._replace(kind=kind) for each in sections), usual=10):
        assert end <= one.start < one.end <= len(text)
        end = one.end
        assert one.tokens.split() == TOKENISER.tokens(text[one.start : one.end])


@pytest.mark.parametrize("line", ["." * 200, ". " * 100, "_" * 3])
def test_many_sections_without_words_have_no_passage(line: str) -> None:
    """Fifty thousand lines of one sign, each a section, are gone through once."""
    text = f"{line}\n" * 50_000
    starts = range(0, len(text), len(line) + 1)
    assert _cut(text, tuple(Section(start, "heading", "1") for start in starts)) == []
