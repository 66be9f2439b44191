from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import CHUNK_BYTES, SourceFile
from lpisearch.readers.judgements import QueriesUnreadable, read_queries
from lpisearch.readers.registry import reader_for
from lpisearch.readers.trec import REUTERS_READER, SMART_READER, sniff_reuters, sniff_smart
from tests.readers import read

if TYPE_CHECKING:
    from pathlib import Path


_AP = """\
<DOC>
<DOCNO> AP880212-0001 </DOCNO>
<HEAD>Boats &amp; ropes</HEAD>
<BYLINE>By ANN</BYLINE>
<TEXT>
   The <F P=105>boat</F> floats.
</TEXT>
<TEXT>
It sails.
</TEXT>
</DOC>
<DOC>
<DOCNO>AP880212-0002</DOCNO>
<DOCTYPE>x</DOCTYPE>
A text without tags of its own.
</DOC>
<DOC>
<DOCNO>3</DOCNO>
</DOC>
"""


def test_documents(tmp_path: Path) -> None:
    """Each element is a document under its number; without a text it is a problem."""
    path = tmp_path / "ap880212"
    path.write_text(_AP, encoding="utf-8")
    source = SourceFile.at(path)
    reader = reader_for(source, ReadOptions())
    assert reader is not None
    assert reader.name == "trec"
    first, second, third = reader.read(source, ReadOptions())
    assert isinstance(first, Document)
    assert (first.id, first.title) == ("AP880212-0001", "Boats & ropes")
    assert first.text == "The boat floats.\n\nIt sails."
    assert first.metadata == {"author": "By ANN"}
    assert isinstance(second, Document)
    assert (second.id, second.text) == ("AP880212-0002", "A text without tags of its own.")
    assert third == Problem("has neither title nor text", "element 3")


_TOPICS = """\
<top>
<head> Tipster Topic Description
<num> Number: 051
<dom> Domain: International Economics
<title> Topic: Airbus
Subsidies

<desc> Description:
Document will discuss subsidies.
<narr> Narrative:
More.
</top>

<top>
<num>052</num>
<desc>Sanctions against
a country</desc>
</top>
"""


def test_topics(tmp_path: Path) -> None:
    """A query of a topic file is its title, or where it has none its description."""
    path = tmp_path / "topics.51-52"
    path.write_text(_TOPICS, encoding="utf-8")
    assert read_queries(path) == [
        ("051", "Airbus Subsidies"),
        ("052", "Sanctions against a country"),
    ]


@pytest.mark.parametrize("content", ["<top>\n</top>\n", "<top>\n<num> 1\n</top>\n", "<top>\n"])
def test_topics_without_a_query(tmp_path: Path, content: str) -> None:
    path = tmp_path / "topics"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(QueriesUnreadable, match="topic 1"):
        read_queries(path)


STORY = b"""<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="PUBLISHED-TESTSET" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987 15:01:01.01</DATE>
<TOPICS><D>cocoa</D><D>coffee</D><D>cocoa</D></TOPICS>
<PLACES><D>el-salvador</D><D>usa</D></PLACES>
<PEOPLE></PEOPLE>
<UNKNOWN>
&#5;&#5;&#5;C T</UNKNOWN>
<TEXT>&#2;
<TITLE>BAHIA &lt;BHA>
 REVIEW</TITLE>
<AUTHOR>    By A. Writer</AUTHOR>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Showers &amp; sun, Z\xfcrich said.
    A new line.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
"""


_read = partial(read, REUTERS_READER)


def test_story_becomes_a_document(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.sgm", STORY) == [
        Document(
            "BAHIA <BHA> REVIEW",
            "Showers & sun, Zürich said.\n    A new line.\n Reuter",
            id="1",
            labels=("cocoa", "coffee"),
            split="train",
            date="1987-02-26T15:01:01",
            metadata={
                "author": "By A. Writer",
                "dateline": "SALVADOR, Feb 26 -",
                "places": ["el-salvador", "usa"],
            },
        )
    ]


def test_other_lists_and_splits_can_be_asked_for(tmp_path: Path) -> None:
    options = ReadOptions(labels="places", split="cgisplit", id_field="oldid")
    (document,) = _read(tmp_path / "a.sgm", STORY, options)
    assert isinstance(document, Document)
    assert (document.id, document.split) == ("5544", "test")
    assert document.labels == ("el-salvador", "usa")
    assert document.metadata["topics"] == ["cocoa", "coffee"]


def test_no_labels_unless_wanted(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "a.sgm", STORY, ReadOptions(labels="none", split="folder"))
    assert isinstance(document, Document)
    assert (document.labels, document.split) == ((), "")


@pytest.mark.parametrize(
    ("stated", "split"), [(b"TRAIN", "train"), (b"TEST", "test"), (b"NOT-USED", "unused")]
)
def test_splits_have_our_names(stated: bytes, split: str, tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "a.sgm", STORY.replace(b'"TRAIN"', b'"%s"' % stated))
    assert isinstance(document, Document)
    assert document.split == split


def test_unprocessed_story_keeps_its_text(tmp_path: Path) -> None:
    story = b'<REUTERS NEWID="2"><TEXT TYPE="UNPROC">&#2;\n\nGulf oil\nup\n</TEXT></REUTERS>'
    assert _read(tmp_path / "a.sgm", story) == [Document("", "Gulf oil\nup", id="2")]


def test_odd_date_stays_as_metadata(tmp_path: Path) -> None:
    (day,) = _read(tmp_path / "a.sgm", STORY.replace(b"15:01:01.01", b"605:12:19.12"))
    (none,) = _read(tmp_path / "a.sgm", STORY.replace(b"26-FEB-1987", b"soon"))
    assert isinstance(day, Document)
    assert isinstance(none, Document)
    assert day.date == "1987-02-26"
    assert (none.date, none.metadata["date"]) == ("", "soon 15:01:01.01")


def test_elements_may_lie_across_chunks(tmp_path: Path) -> None:
    for shift in (0, 5, 11):
        filler = b"x" * (CHUNK_BYTES - len(STORY) - shift)
        found = _read(tmp_path / "a.sgm", filler + STORY * 3)
        assert [item.id for item in found if isinstance(item, Document)] == ["1", "1", "1"]


def test_story_without_words_is_a_problem(tmp_path: Path) -> None:
    found = _read(tmp_path / "a.sgm", STORY + b'<REUTERS NEWID="2"><TEXT></TEXT></REUTERS>')
    assert found[1:] == [Problem("has neither title nor text", "element 2")]


def test_story_over_the_limit_is_a_problem(tmp_path: Path) -> None:
    for size in (5000, 1_000_000):
        large = STORY.replace(b"Showers", b"x" * size)
        options = ReadOptions(max_document_bytes=3000)
        problem, document = _read(tmp_path / "a.sgm", large + STORY, options)
        assert isinstance(problem, Problem)
        assert "over the limit" in problem.reason
        assert isinstance(document, Document)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"<html></html>", "has no <REUTERS> element"),
        (STORY[:-20], "its last <REUTERS> element has no end"),
    ],
)
def test_useless_file_is_an_error(data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match=reason):
        _read(tmp_path / "a.sgm", data)


def test_files_of_the_collection_are_known_by_their_beginning() -> None:
    assert sniff_reuters(STORY)
    assert sniff_reuters(b"\n<REUTERS NEWID")
    assert not sniff_reuters(b"<!DOCTYPE html>")


COLLECTION = b""".I 1
.T
experimental investigation
of a wing .
.A
brenckman,m.
.B
j. ae. scs. 25, 1958, 324.
.W
an experimental study
of a wing in a slipstream .
.X
1\t5\t1
.I 2
.W
only text, and .T within a line
"""


_smart_read = partial(read, SMART_READER)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_records_become_documents(newline: bytes, tmp_path: Path) -> None:
    assert _smart_read(tmp_path / "a.all", COLLECTION.replace(b"\n", newline)) == [
        Document(
            "experimental investigation of a wing .",
            "an experimental study\nof a wing in a slipstream .",
            id="1",
            metadata={"author": "brenckman,m.", "source": "j. ae. scs. 25, 1958, 324."},
        ),
        Document("", "only text, and .T within a line", id="2"),
    ]


def test_record_without_words_is_a_problem(tmp_path: Path) -> None:
    problem, document = _smart_read(tmp_path / "a.all", b".I 1\n.W\n.A\nann\n.I 2\n.T\nx\n")
    assert problem == Problem("has neither title nor text", "line 1")
    assert document == Document("x", "", id="2")


def test_repeated_field_goes_on(tmp_path: Path) -> None:
    (document,) = _smart_read(tmp_path / "a.all", b".I 1\n.A\nann\n.A\nbo\n.W\nx\n")
    assert document == Document("", "x", id="1", metadata={"author": "ann\nbo"})


def test_record_over_the_limit_is_a_problem(tmp_path: Path) -> None:
    options = ReadOptions(max_document_bytes=1000)
    for text in (b"x" * 5000, b"x\n" * 2500):
        problem, document = _smart_read(
            tmp_path / "a.all", b".I 1\n.W\n" + text + b"\n.I 2\n.W\ny\n", options
        )
        assert isinstance(problem, Problem)
        assert "over the limit" in problem.reason
        assert problem.where == "line 1"
        assert document == Document("", "y", id="2")


def test_encoding_is_told_once(tmp_path: Path) -> None:
    found = _smart_read(tmp_path / "a.all", b".I 1\n.W\ncaf\xe9\n.I 2\n.W\nth\xe9\n")
    assert [type(item) for item in found] == [Problem, Document, Document]
    assert found[0] == Problem("not UTF-8; read as cp1252", "line 1", warning=True)


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "is empty"), (b"\n\n", "is not a SMART"), (b"words\n.I 1\n", "is not a SMART")],
)
def test_useless_file_is_an_error_of_smart(data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match=reason):
        _smart_read(tmp_path / "a.all", data)


def test_collection_is_known_by_its_first_line() -> None:
    assert sniff_smart(COLLECTION)
    assert not sniff_smart(b".In the beginning\n")
    assert not sniff_smart(b"text\n.I 1\n")
