from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.streams import CHUNK_BYTES
from lpisearch.readers.trec import REUTERS_READER, sniff_reuters

if TYPE_CHECKING:
    from pathlib import Path

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


def _read(path: Path, data: bytes, options: ReadOptions | None = None) -> list[Document | Problem]:
    path.write_bytes(data)
    return list(REUTERS_READER.read(SourceFile.at(path), options or ReadOptions()))


def test_story_becomes_a_document(tmp_path: Path) -> None:
    """Topics are labels, LEWISSPLIT the split, NEWID the id; Latin-1 and entities are read."""
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
    """Any list of the element can be the labels; topics are then metadata."""
    options = ReadOptions(labels="places", split="cgisplit", id_field="oldid")
    (document,) = _read(tmp_path / "a.sgm", STORY, options)
    assert isinstance(document, Document)
    assert (document.id, document.split) == ("5544", "test")
    assert document.labels == ("el-salvador", "usa")
    assert document.metadata["topics"] == ["cocoa", "coffee"]


def test_no_labels_unless_wanted(tmp_path: Path) -> None:
    """Labels and splits from folders leave those of the file alone."""
    (document,) = _read(tmp_path / "a.sgm", STORY, ReadOptions(labels="none", split="folder"))
    assert isinstance(document, Document)
    assert (document.labels, document.split) == ((), "")


@pytest.mark.parametrize(
    ("stated", "split"), [(b"TRAIN", "train"), (b"TEST", "test"), (b"NOT-USED", "unused")]
)
def test_splits_have_our_names(stated: bytes, split: str, tmp_path: Path) -> None:
    """The words of the collection become those of the library."""
    (document,) = _read(tmp_path / "a.sgm", STORY.replace(b'"TRAIN"', b'"%s"' % stated))
    assert isinstance(document, Document)
    assert document.split == split


def test_unprocessed_story_keeps_its_text(tmp_path: Path) -> None:
    """A story without title and body has its words in TEXT itself."""
    story = b'<REUTERS NEWID="2"><TEXT TYPE="UNPROC">&#2;\n\nGulf oil\nup\n</TEXT></REUTERS>'
    assert _read(tmp_path / "a.sgm", story) == [Document("", "Gulf oil\nup", id="2")]


def test_odd_date_stays_as_metadata(tmp_path: Path) -> None:
    """A day without a readable time is a date; what is no date is kept."""
    (day,) = _read(tmp_path / "a.sgm", STORY.replace(b"15:01:01.01", b"605:12:19.12"))
    (none,) = _read(tmp_path / "a.sgm", STORY.replace(b"26-FEB-1987", b"soon"))
    assert isinstance(day, Document)
    assert isinstance(none, Document)
    assert day.date == "1987-02-26"
    assert (none.date, none.metadata["date"]) == ("", "soon 15:01:01.01")


def test_elements_may_lie_across_chunks(tmp_path: Path) -> None:
    """Where a chunk ends makes no difference."""
    for shift in (0, 5, 11):
        filler = b"x" * (CHUNK_BYTES - len(STORY) - shift)
        found = _read(tmp_path / "a.sgm", filler + STORY * 3)
        assert [item.id for item in found if isinstance(item, Document)] == ["1", "1", "1"]


def test_story_without_words_is_a_problem(tmp_path: Path) -> None:
    """An empty element is told by its number."""
    found = _read(tmp_path / "a.sgm", STORY + b'<REUTERS NEWID="2"><TEXT></TEXT></REUTERS>')
    assert found[1:] == [Problem("has neither title nor text", "element 2")]


def test_story_over_the_limit_is_a_problem(tmp_path: Path) -> None:
    """It is passed over, in one chunk or in many; the next one is read."""
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
    """Another kind of SGML, or half a story, is refused."""
    with pytest.raises(ReaderError, match=reason):
        _read(tmp_path / "a.sgm", data)


def test_files_of_the_collection_are_known_by_their_beginning() -> None:
    """By the document type, or the first element."""
    assert sniff_reuters(STORY)
    assert sniff_reuters(b"\n<REUTERS NEWID")
    assert not sniff_reuters(b"<!DOCTYPE html>")
