"""What a hostile file of an office or an EPUB may try, against each format."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.html import EPUB_READER
from lpisearch.readers.office import (
    DOCX_READER,
    ODP_READER,
    ODS_READER,
    ODT_READER,
    PPTX_READER,
    XLSX_READER,
)

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.readers.base import Reader

_SECRET = "correct-horse-battery"  # noqa: S105 - the content of a file that must not leak


@dataclass(frozen=True)
class _Format:
    """A minimal file: its parts, and which of them is parsed as XML and holds `MARK`."""

    reader: Reader
    xml_part: str
    parts: dict[str, str]


_FORMATS = {
    "docx": _Format(
        DOCX_READER,
        "word/document.xml",
        {
            "_rels/.rels": '<R><r Type="x/officeDocument" Target="word/document.xml"/></R>',
            "word/document.xml": "<document><body><p><r><t>MARK</t></r></p></body></document>",
        },
    ),
    "odt": _Format(
        ODT_READER,
        "content.xml",
        {"content.xml": "<body><text><p>MARK</p></text></body>"},
    ),
    "pptx": _Format(
        PPTX_READER,
        "ppt/slides/slide1.xml",
        {
            "_rels/.rels": '<R><r Type="x/officeDocument" Target="ppt/p.xml"/></R>',
            "ppt/p.xml": '<p xmlns:r="r"><sldIdLst><sldId r:id="a"/></sldIdLst></p>',
            "ppt/_rels/p.xml.rels": '<R><r Id="a" Type="x/slide" Target="slides/slide1.xml"/></R>',
            "ppt/slides/slide1.xml": "<s><sp><txBody><p><r><t>MARK</t></r></p></txBody></sp></s>",
        },
    ),
    "xlsx": _Format(
        XLSX_READER,
        "xl/s.xml",
        {
            "_rels/.rels": '<R><r Type="x/officeDocument" Target="xl/w.xml"/></R>',
            "xl/w.xml": '<w xmlns:r="r"><sheets><sheet name="One" r:id="a"/></sheets></w>',
            "xl/_rels/w.xml.rels": '<R><r Id="a" Type="x/worksheet" Target="s.xml"/></R>',
            "xl/s.xml": '<s><row><c t="inlineStr"><is><t>MARK</t></is></c></row></s>',
        },
    ),
    "ods": _Format(
        ODS_READER,
        "content.xml",
        {
            "content.xml": '<b><spreadsheet><table name="One"><table-row><table-cell><p>MARK</p>'
            "</table-cell></table-row></table></spreadsheet></b>"
        },
    ),
    "odp": _Format(
        ODP_READER,
        "content.xml",
        {"content.xml": "<b><presentation><page><p>MARK</p></page></presentation></b>"},
    ),
    "epub": _Format(
        EPUB_READER,
        "book.opf",
        {
            "META-INF/container.xml": '<container><rootfile full-path="book.opf"/></container>',
            "book.opf": (
                "<package><metadata><title>MARK</title></metadata><manifest>"
                '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
                '<spine><itemref idref="c"/></spine></package>'
            ),
            "c.xhtml": "<html><body><p>MARK</p></body></html>",
        },
    ),
}


@pytest.fixture(params=_FORMATS)
def office(request: pytest.FixtureRequest) -> _Format:
    """Give each format in turn."""
    return _FORMATS[request.param]


def _read(path: Path, office: _Format, changed: dict[str, str] | None = None) -> Document:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in (office.parts | (changed or {})).items():
            archive.writestr(name, part)
    return _document(path, office)


def _document(path: Path, office: _Format) -> Document:
    (document,) = office.reader.read(SourceFile.at(path), ReadOptions())
    assert isinstance(document, Document)
    return document


def test_untouched_file_is_read(tmp_path: Path, office: _Format) -> None:
    assert _read(tmp_path / "a.zip", office).text == "MARK"


def test_external_entity_is_refused(tmp_path: Path, office: _Format) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(_SECRET, encoding="utf-8")
    prolog = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    attack = prolog + office.parts[office.xml_part].replace("MARK", "&e;")
    with pytest.raises(ReaderError, match="declares XML entities"):
        _read(tmp_path / "a.zip", office, {office.xml_part: attack})


def test_swelling_entities_are_refused(tmp_path: Path, office: _Format) -> None:
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    prolog = f'<!DOCTYPE x [<!ENTITY l0 "ha">{laughs}]>'
    attack = prolog + office.parts[office.xml_part].replace("MARK", "&l9;")
    with pytest.raises(ReaderError, match="declares XML entities"):
        _read(tmp_path / "a.zip", office, {office.xml_part: attack})


def test_zip_bomb_is_refused(tmp_path: Path, office: _Format) -> None:
    bomb = office.parts[office.xml_part].replace("MARK", "M" * 40 * MEBIBYTE)
    with pytest.raises(ReaderError, match="a zip bomb"):
        _read(tmp_path / "a.zip", office, {office.xml_part: bomb})


def test_truncated_file_is_stated(tmp_path: Path, office: _Format) -> None:
    _read(tmp_path / "a.zip", office)
    path = tmp_path / "cut.zip"
    path.write_bytes((tmp_path / "a.zip").read_bytes()[:-30])
    with pytest.raises(ReaderError, match="is damaged"):
        _document(path, office)


def test_broken_xml_is_stated(tmp_path: Path, office: _Format) -> None:
    with pytest.raises(ReaderError, match=f"“{office.xml_part}” is not valid XML"):
        _read(tmp_path / "a.zip", office, {office.xml_part: office.parts[office.xml_part][:-5]})
