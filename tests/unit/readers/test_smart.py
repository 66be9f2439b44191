from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.trec import SMART_READER, sniff_smart

if TYPE_CHECKING:
    from pathlib import Path

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


def _read(path: Path, data: bytes, options: ReadOptions | None = None) -> list[Document | Problem]:
    path.write_bytes(data)
    return list(SMART_READER.read(SourceFile.at(path), options or ReadOptions()))


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_records_become_documents(newline: bytes, tmp_path: Path) -> None:
    """Title on one line, text as it is, author and source as metadata, references left out."""
    assert _read(tmp_path / "a.all", COLLECTION.replace(b"\n", newline)) == [
        Document(
            "experimental investigation of a wing .",
            "an experimental study\nof a wing in a slipstream .",
            id="1",
            metadata={"author": "brenckman,m.", "source": "j. ae. scs. 25, 1958, 324."},
        ),
        Document("", "only text, and .T within a line", id="2"),
    ]


def test_record_without_words_is_a_problem(tmp_path: Path) -> None:
    """It is told by the line of its number; the next record is read."""
    problem, document = _read(tmp_path / "a.all", b".I 1\n.W\n.A\nann\n.I 2\n.T\nx\n")
    assert problem == Problem("has neither title nor text", "line 1")
    assert document == Document("x", "", id="2")


def test_repeated_field_goes_on(tmp_path: Path) -> None:
    """Several authors are several `.A` fields."""
    (document,) = _read(tmp_path / "a.all", b".I 1\n.A\nann\n.A\nbo\n.W\nx\n")
    assert document == Document("", "x", id="1", metadata={"author": "ann\nbo"})


def test_record_over_the_limit_is_a_problem(tmp_path: Path) -> None:
    """By one long line or by many lines."""
    options = ReadOptions(max_document_bytes=1000)
    for text in (b"x" * 5000, b"x\n" * 2500):
        problem, document = _read(
            tmp_path / "a.all", b".I 1\n.W\n" + text + b"\n.I 2\n.W\ny\n", options
        )
        assert isinstance(problem, Problem)
        assert "over the limit" in problem.reason
        assert problem.where == "line 1"
        assert document == Document("", "y", id="2")


def test_encoding_is_told_once(tmp_path: Path) -> None:
    """Records are decoded one by one."""
    found = _read(tmp_path / "a.all", b".I 1\n.W\ncaf\xe9\n.I 2\n.W\nth\xe9\n")
    assert [type(item) for item in found] == [Problem, Document, Document]
    assert found[0] == Problem("not UTF-8; read as cp1252", "line 1", warning=True)


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "is empty"), (b"\n\n", "is not a SMART"), (b"words\n.I 1\n", "is not a SMART")],
)
def test_useless_file_is_an_error(data: bytes, reason: str, tmp_path: Path) -> None:
    """A file that does not begin with `.I` is something else."""
    with pytest.raises(ReaderError, match=reason):
        _read(tmp_path / "a.all", data)


def test_collection_is_known_by_its_first_line() -> None:
    """`.I` and a number, on a line of their own."""
    assert sniff_smart(COLLECTION)
    assert not sniff_smart(b".In the beginning\n")
    assert not sniff_smart(b"text\n.I 1\n")
