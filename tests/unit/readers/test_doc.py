from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.rtf import DOC_READER

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
