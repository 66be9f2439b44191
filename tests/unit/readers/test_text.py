from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.plaintext import TEXT_READER, first_line_title

if TYPE_CHECKING:
    from pathlib import Path


def _read(path: Path, data: bytes, options: ReadOptions | None = None) -> list[Document | Problem]:
    path.write_bytes(data)
    return list(TEXT_READER.read(SourceFile.at(path), options or ReadOptions()))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Boats\n\nThey float.", "Boats"),
        ("\n\n  Boats  \nThey float.", "Boats"),
        ("Boats alone\n\n", ""),
        ("x" * 120 + "\nmore", "x" * 120),
        ("x" * 121 + "\nmore", ""),
        ("-----\nBoats\n", ""),
        ("", ""),
    ],
)
def test_title_is_a_short_first_line(text: str, title: str) -> None:
    """Short, with a letter in it, and followed by more text: else it is no title."""
    assert first_line_title(text) == title


def test_text_keeps_its_title_line(tmp_path: Path) -> None:
    """Nothing of the file is lost but the white space around it."""
    assert _read(tmp_path / "a.txt", b"\nBoats\r\n\r\nThey float.\n") == [
        Document("Boats", "Boats\n\nThey float.")
    ]


def test_file_name_is_the_last_resort_for_a_title(tmp_path: Path) -> None:
    """One line of text is text, not title."""
    assert _read(tmp_path / "of boats.txt", b"They float.") == [Document("of boats", "They float.")]


def test_encoding_is_stated(tmp_path: Path) -> None:
    """A text that is not UTF-8 comes with its encoding, and a warning before it."""
    warning, document = _read(tmp_path / "a.txt", b"caf\xe9")
    assert warning == Problem("not UTF-8; read as cp1252", warning=True)
    assert document == Document("a", "café", metadata={"encoding": "cp1252"})


@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\xef\xbb\xbf", b"\0\0"])
def test_nothing_to_read_is_an_error(data: bytes, tmp_path: Path) -> None:
    """A file without a word is refused."""
    with pytest.raises(ReaderError, match=r"is empty|has no text"):
        _read(tmp_path / "a.txt", data)


def test_binary_file_named_txt_is_an_error(tmp_path: Path) -> None:
    """A program that was renamed is no text."""
    with pytest.raises(ReaderError, match="looks like binary data"):
        _read(tmp_path / "a.txt", b"\x7fELF" + bytes(range(32)) * 9)


def test_huge_line_is_read_when_the_limit_allows(tmp_path: Path) -> None:
    """One line of 100 MB is refused by default, and read with a higher limit."""
    data = b"x" * 100_000_000
    with pytest.raises(
        ReaderError, match=r"is 95\.4 MiB, over the limit of 32\.0 MiB .*max_document_bytes"
    ):
        _read(tmp_path / "a.txt", data)
    (document,) = _read(tmp_path / "a.txt", data, ReadOptions(max_document_bytes=100 * MEBIBYTE))
    assert isinstance(document, Document)
    assert len(document.text) == 100_000_000
