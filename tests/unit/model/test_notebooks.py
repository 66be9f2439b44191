"""What notebooks show: complete tables in which nothing of a document is markup."""

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lpisearch
from lpisearch.model.answers import (
    Answer,
    Dimension,
    DimensionDocument,
    DimensionReport,
    DimensionWord,
    Hit,
    LabelShare,
    Passage,
    Topic,
    TopicDocument,
    TopicReport,
)
from lpisearch.model.documents import IngestReport, Section, Trouble
from lpisearch.model.reports import IndexReport, Report, Table

_TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "b", "br", "small", "mark", "p"}
_HOSTILE = '<script>alert("&")</script>\x1b[31m\u202e'


class _Page(HTMLParser):
    """The tags and the text of a piece of HTML; each tag is closed in its order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert all(name == "style" for name, _ in attrs)
        self._open += [] if tag == "br" else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _hit(text: str) -> Hit:
    passage = Passage(text, ((0, 3), (1, 2), (4, 5)), 7, 20, Section(0, "heading", text), text)
    return Hit(1, text, text, (text,), text, "2024", 1.5, 0.5, None, passages=(passage, passage))


def _shown(text: str) -> list[str]:
    """Return the HTML of each kind of record, with a text wherever there is one."""
    topic = Topic(1, 3, (text,), (TopicDocument(text, text, 0.5),), (LabelShare(text, 0.5),))
    word, near = (DimensionWord(text, -0.5),), (DimensionDocument(text, text, 0.5),)
    ends = DimensionReport(text, "", 3, 4, (Dimension(1, 0.5, 1, word, (), near, ()),))
    table = Table("classify", text, ({text: text, "accuracy": 0.5},), (text,))
    built = IndexReport(
        name=text, method="lsi", seconds={"a": 1.5}, peak_mb=1, size_bytes=1, folder="", dims=3
    )
    records = (
        Answer((_hit(text),), "hybrid", (text,)),
        TopicReport((topic,), 3, 0, chosen=True),
        ends,
        Report(text, "", {}, {}, (table,)),
        IngestReport(added=1200, failures=[Trouble(text, text)], notes=[text]),
        built,
    )
    return [one._repr_html_() for one in records]


@given(st.text() | st.just(_HOSTILE))
def test_text_is_never_markup(text: str) -> None:
    for html in _shown(text):
        page = _Page(html)
        assert page.tags <= _TAGS | {"h4"}
        assert not set(page.text) & {"\x1b", "\u202e", "\0"}


def test_what_is_shown() -> None:
    answer, topics, ends, report, ingested, built = map(_Page, _shown("ship"))
    for part in ("1 result, hybrid", "1.50", "page ship:"):
        assert part in answer.text
    assert answer.tags >= {"mark", "table"}
    assert "1 topic in 3 documents" in topics.text
    assert "ship 50%" in topics.text
    assert "ship -0.50" in ends.text
    assert "0.5000" in report.text
    assert "1,200" in ingested.text
    assert "updated" not in ingested.text
    assert "seconds1.5" in built.text
    assert "dims3" in built.text


def test_rows_are_plain_values() -> None:
    (row,) = Answer((_hit("ship"),), "hybrid").rows()
    assert row["labels"] == ["ship"]
    assert (row["passage"], row["start"], row["end"]) == ("ship", 7, 20)
    assert (row["page"], row["section"], row["bm25"]) == ("ship", "ship", None)
    assert {type(value) for value in row.values()} <= {str, int, float, list, type(None)}
    (bare,) = Answer((Hit(1, "a", "", (), "", "", 0.0),), "lexical").rows()
    assert bare.keys() == row.keys()
    assert bare["passage"] == ""


def test_a_library_is_shown(library: Path, folder: Callable[..., Path]) -> None:
    with lpisearch.open(library) as opened:
        assert _Page(opened._repr_html_()).text == repr(opened)
        opened.ingest(folder({"sea/a.txt": "a ship", "b.txt": "bread"}), labels="folder")
        text = _Page(opened._repr_html_()).text
        for part in ("documents2", "sea 1", "indexesnone"):
            assert part in text


@pytest.mark.parametrize("made", ["pandas", "polars"])
def test_rows_make_a_data_frame(made: str) -> None:
    frames = pytest.importorskip(made)
    frame = frames.DataFrame(Answer((_hit("ship"), _hit("boat")), "hybrid").rows())
    assert list(frame["id"]) == ["ship", "boat"]
    assert list(frame["score"]) == [1.5, 1.5]
