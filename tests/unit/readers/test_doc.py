"""Compound files: by converters that are installed, by xlrd, by olefile."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.legacy_office import DOC_READER, MSG_READER, PPT_READER, XLS_READER
from tests.office import outlook_message
from tests.readers import read, read_document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


_DOC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.fixture
def converter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return a maker of converters: of nothing else is anything found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(name: str, script: str) -> None:
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    return make


def _read(tmp_path: Path, data: bytes = _DOC) -> Document:
    path = tmp_path / "boat.doc"
    path.write_bytes(data)
    (document,) = DOC_READER.read(SourceFile.at(path), ReadOptions())
    assert isinstance(document, Document)
    return document


def test_a_converter_gives_the_text(tmp_path: Path, converter: Callable[[str, str], None]) -> None:
    converter("antiword", "printf 'Boats\\n\\nThe boat fl\\303\\266ats.\\n'")
    document = _read(tmp_path)
    assert (document.title, document.text) == ("Boats", "Boats\n\nThe boat flöats.")


def test_the_second_converter_is_asked(
    tmp_path: Path, converter: Callable[[str, str], None]
) -> None:
    converter("antiword", "exit 1")
    converter("catdoc", "printf 'It floats.'")
    assert _read(tmp_path).text == "It floats."
    converter("catdoc", "exit 0")
    with pytest.raises(ReaderError, match="has no text"):
        _read(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="limits are other there")
def test_a_converter_has_limits(tmp_path: Path, converter: Callable[[str, str], None]) -> None:
    converter("antiword", "exit 1")
    converter("catdoc", "echo $(ulimit -t) s, $(ulimit -v) kB")
    assert _read(tmp_path).text == "10 s, 131072 kB"


def test_without_a_converter(tmp_path: Path, converter: Callable[[str, str], None]) -> None:
    """Without a converter the reason names those that would read it."""
    del converter
    with pytest.raises(ReaderError, match="install antiword or catdoc"):
        _read(tmp_path)


@pytest.mark.parametrize("data", [b"", b"plain text", b"{\\rtf1 x}"])
def test_another_format_is_stated(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ReaderError, match=r"is not a Word DOC file|is empty"):
        _read(tmp_path, data)


def test_slides_are_read_by_catppt(tmp_path: Path, converter: Callable[[str, str], None]) -> None:
    converter("catppt", "printf 'Boats\\n\\nThey float.'")
    assert read_document(PPT_READER, tmp_path / "a.ppt", _DOC).text == "Boats\n\nThey float."


def test_sheets_are_read_by_xls2csv_without_xlrd(
    tmp_path: Path, converter: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "lpisearch.readers.legacy_office.importlib.util.find_spec", lambda _name: None
    )
    converter("xls2csv", "printf 'Train\\t45'")
    assert read_document(XLS_READER, tmp_path / "a.xls", _DOC).text == "Train\t45"
    with pytest.raises(ReaderError, match=r"install lpisearch.office."):
        read_document(MSG_READER, tmp_path / "a.msg", _DOC)


def test_sheets_have_dates_and_whole_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    xlrd = pytest.importorskip("xlrd")
    with pytest.raises(ReaderError, match="is damaged"):
        read_document(XLS_READER, tmp_path / "a.xls", _DOC)
    row = [(3, 45352.0), (1, " Train \n home"), (2, 45.0), (2, 4.5), (5, 7), (6, "")]
    cells = [xlrd.sheet.Cell(kind, value) for kind, value in row]
    sheet = SimpleNamespace(name="March", nrows=1, row=lambda _number: cells)
    book = SimpleNamespace(datemode=0, sheets=lambda: [sheet])
    monkeypatch.setattr(xlrd, "open_workbook", lambda **_options: book)
    document = read_document(XLS_READER, tmp_path / "a.xls", _DOC)
    assert document.text == "2024-03-01\tTrain home\t45\t4.5"
    assert document.sections[0].name == "March"


def test_a_message_of_outlook(tmp_path: Path) -> None:
    pytest.importorskip("olefile")
    message, attached = read(MSG_READER, tmp_path / "a.msg", outlook_message(b"The boat floats."))
    assert isinstance(message, Document)
    assert isinstance(attached, Document)
    assert (message.title, message.text) == ("Invoice", "See below.")
    assert message.date.startswith("2024-01-31")
    assert message.metadata["from"] == "Ann <ann@example.org>"
    assert message.metadata["attachments"] == ["a.txt"]
    assert (attached.text, attached.metadata["part"]) == ("The boat floats.", "/a.txt")
