"""PPTX, XLSX, ODS, ODP and RTF: slides and sheets are sections."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.registry import READERS
from tests.office import (
    RTF,
    SHEETS,
    SLIDES,
    opendocument,
    presentation,
    relations,
    workbook,
    zipped,
)

if TYPE_CHECKING:
    from pathlib import Path


def _read(name: str, data: bytes, tmp_path: Path) -> Document:
    path = tmp_path / f"boat.{name}"
    path.write_bytes(data)
    (document,) = READERS[name].read(SourceFile.at(path), ReadOptions())
    assert isinstance(document, Document)
    return document


def _parts(document: Document) -> list[tuple[str, str, str]]:
    starts = [*(one.start for one in document.sections), len(document.text)]
    return [
        (one.kind, one.name, document.text[one.start : starts[at + 1]].strip())
        for at, one in enumerate(document.sections)
    ]


def test_slides_of_pptx(tmp_path: Path) -> None:
    document = _read("pptx", presentation(), tmp_path)
    assert document.title == "Boats"
    assert _parts(document) == [
        ("slide", "1", "Boats\n\nThey float.\n\nSpeak slowly."),
        ("slide", "2", "Last words"),
    ]


def test_sheets_of_xlsx(tmp_path: Path) -> None:
    document = _read("xlsx", workbook(), tmp_path)
    assert document.title == "boat"
    row = "oak\t7.5\t2024-05-01\t2024-05-01 18:00:00\tTRUE"
    assert _parts(document) == [("sheet", "Prices", f"Kind\tWood\n{row}")]


def test_a_string_of_no_such_number(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(workbook())) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace("<v>0</v>", f"<v>{'9' * 5000}</v>")
    assert _read("xlsx", zipped(parts), tmp_path).text.startswith("Wood\n")


def test_sheets_of_ods(tmp_path: Path) -> None:
    document = _read("ods", opendocument(SHEETS), tmp_path)
    assert _parts(document) == [("sheet", "Prices", "Kind\toak"), ("sheet", "More", "7")]


def test_slides_of_odp(tmp_path: Path) -> None:
    document = _read("odp", opendocument(SLIDES), tmp_path)
    assert document.title == "Boats"
    assert [(kind, name) for kind, name, _ in _parts(document)] == [("slide", "1"), ("slide", "2")]
    assert "Speak slowly." in _parts(document)[0][2]


def test_rtf(tmp_path: Path) -> None:
    """Fonts, headers and codes go; characters of the code page and of Unicode are themselves."""
    document = _read("rtf", RTF, tmp_path)
    assert (document.title, document.metadata) == ("The boat", {"author": "Ann"})
    assert document.text == "Ships\nIt naïvely “floats” on. 😀here\n{end}"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("pptx", zipped({"a": "b"})),
        ("xlsx", zipped({"_rels/.rels": relations()})),
        ("pptx", zipped({"_rels/.rels": relations(a=("officeDocument", "gone.xml"))})),
        ("ods", opendocument("<office:spreadsheet/>")),
        ("rtf", b"plain text"),
        ("rtf", b"{\\rtf1 " + b"{" * 20_000),
        ("rtf", b"{\\rtf1 {\\*\\x y}}"),
    ],
)
def test_a_file_of_no_use_says_why(name: str, data: bytes, tmp_path: Path) -> None:
    """What lacks its main part, or any text, is refused with a reason."""
    with pytest.raises(ReaderError):
        _read(name, data, tmp_path)
