from __future__ import annotations

import gzip
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.mail import MBOX_READER

if TYPE_CHECKING:
    from pathlib import Path

_FROM = b"From ann@example.org Wed Jan 31 12:30:45 2024\n"


def _message(subject: bytes, body: bytes) -> bytes:
    return _FROM + b"Subject: " + subject + b"\n\n" + body + b"\n\n"


def _read(path: Path, data: bytes, limit: int = 1 << 20) -> list[Document | Problem]:
    path.write_bytes(data)
    return list(MBOX_READER.read(SourceFile.at(path), ReadOptions(max_document_bytes=limit // 2)))


def _titles(records: list[Document | Problem]) -> list[str]:
    return [record.title for record in records if isinstance(record, Document)]


def test_each_message_is_a_document(tmp_path: Path) -> None:
    """Messages come in the order of the file, each without the line that separates them."""
    data = _message(b"one", b"1") + _message(b"two", b"2\n\n2") + _message(b"three", b"3")
    records = _read(tmp_path / "a.mbox", data)
    assert _titles(records) == ["one", "two", "three"]
    texts = [record.text for record in records if isinstance(record, Document)]
    assert texts == ["1", "2\n\n2", "3"]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_both_kinds_of_newline_are_read(tmp_path: Path, newline: bytes) -> None:
    """Files from Windows separate their messages just as well."""
    data = (_message(b"one", b"1") + _message(b"two", b"2")).replace(b"\n", newline)
    assert _titles(_read(tmp_path / "a.mbox", data)) == ["one", "two"]


def test_broken_message_is_a_problem_of_its_own(tmp_path: Path) -> None:
    """A message without headers costs no other message; its number is stated."""
    data = _message(b"one", b"1") + _FROM + b"no header here\n\n" + _message(b"three", b"3")
    first, broken, third = _read(tmp_path / "a.mbox", data)
    assert broken == Problem("is not a mail message: it has no headers", "message 2")
    assert _titles([first, third]) == ["one", "three"]


def test_sentence_that_begins_with_the_word_is_text(tmp_path: Path) -> None:
    """Not every line "From …" after a blank one begins a message; a quoted one loses its mark."""
    body = b"Dear Bo,\n\nFrom now on we sail.\n\n>From noon at 12:00 it rains.\n>>From x"
    (document,) = _read(tmp_path / "a.mbox", _message(b"one", body))
    assert isinstance(document, Document)
    assert document.text == (
        "Dear Bo,\n\nFrom now on we sail.\n\nFrom noon at 12:00 it rains.\n>From x"
    )


def test_separator_without_a_time_is_told_by_the_header_after_it(tmp_path: Path) -> None:
    """A few writers leave the time out."""
    data = b"From ann\nSubject: one\n\n1\n\nFrom bo\nSubject: two\n\n2\n"
    assert _titles(_read(tmp_path / "a.mbox", data)) == ["one", "two"]


def test_warnings_name_their_message(tmp_path: Path) -> None:
    """A warning about a charset says which message it is about."""
    body = b"caf\xe9 \x81 \x8d"
    records = _read(tmp_path / "a.mbox", _message(b"one", b"1") + _message(b"two", body))
    (warning,) = (record for record in records if isinstance(record, Problem))
    assert (warning.where, warning.warning) == ("message 2", True)


def test_message_without_subject_is_called_by_its_number(tmp_path: Path) -> None:
    """The name of the file and the number make a title."""
    (document,) = _read(tmp_path / "inbox.mbox", _FROM + b"To: bo@example.org\n\ntext\n")
    assert isinstance(document, Document)
    assert document.title == "inbox 1"


@pytest.mark.parametrize("line", [b"x" * 70, b"x" * 5000])
def test_message_over_the_limit_is_a_problem(tmp_path: Path, line: bytes) -> None:
    """A message that is too large, by its lines or by one line, costs no other message."""
    data = _message(b"one", (line + b"\n") * 100) + _message(b"two", b"2")
    problem, document = _read(tmp_path / "a.mbox", data, limit=4000)
    assert isinstance(problem, Problem)
    assert problem.where == "message 1"
    assert "over the limit" in problem.reason
    assert not problem.warning
    assert _titles([document]) == ["two"]


def test_memory_is_that_of_one_message(tmp_path: Path) -> None:
    """A large file streams through."""
    path = tmp_path / "a.mbox"
    path.write_bytes(_message(b"one", b"a line of text\n" * 1000) * 1000)
    tracemalloc.start()
    try:
        count = sum(1 for _ in MBOX_READER.read(SourceFile.at(path), ReadOptions()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 1000
    assert peak < path.stat().st_size / 4


def test_messages_before_the_damage_of_a_gzip_are_read(tmp_path: Path) -> None:
    """A truncated gzip gives what it holds, then says what is wrong."""
    path = tmp_path / "a.mbox.gz"
    whole = b"".join(_message(b"%d" % number, b"%d" % number**9) for number in range(5000))
    packed = gzip.compress(whole)
    path.write_bytes(packed[: len(packed) // 2])
    documents: list[Document | Problem] = []
    with pytest.raises(ReaderError, match="gzip data is truncated"):
        documents.extend(MBOX_READER.read(SourceFile.at(path), ReadOptions()))
    assert len(documents) > 1000
    path.write_bytes(packed)
    assert len(list(MBOX_READER.read(SourceFile.at(path), ReadOptions()))) == 5000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"Subject: one\n\ntext\n", "is not an MBOX file"),
        (b"From the start, it was prose.\nAnd so on.\n", "is not an MBOX file"),
    ],
)
def test_what_is_no_mbox_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    """A file that does not begin with a separator is of another kind."""
    with pytest.raises(ReaderError, match=reason):
        _read(tmp_path / "a.mbox", data)


def test_format_is_told_by_separator_and_header() -> None:
    """A text that begins with the word is no mailbox."""
    assert MBOX_READER.sniff
    assert MBOX_READER.sniff(_message(b"one", b"1"))
    assert MBOX_READER.sniff(_message(b"one", b"1").replace(b"\n", b"\r\n"))
    assert not MBOX_READER.sniff(b"From 12:30 on, it rained.\nAnd it went on.\n")
    assert not MBOX_READER.sniff(b"From the desk of: Ann\n")
