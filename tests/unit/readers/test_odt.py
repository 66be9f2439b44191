from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.office import ODT_MEDIA_TYPE, ODT_READER

if TYPE_CHECKING:
    from pathlib import Path

_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "draw", "meta", "manifest")
)
_META = (
    f'<office:document-meta {_SPACES} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>'
    "<dc:title>On Tides</dc:title><meta:initial-creator>Ann Shore</meta:initial-creator>"
    "<dc:creator>Someone Else</dc:creator>"
    "<meta:creation-date>2024-01-31T12:30:45.123456789</meta:creation-date>"
    "<meta:keyword>moon</meta:keyword><meta:keyword>sea</meta:keyword>"
    "</office:meta></office:document-meta>"
)


def _read(path: Path, body: str, parts: dict[str, str] | None = None) -> Document:
    """Write an ODT file around the XML of its body, and read it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", ODT_MEDIA_TYPE)
        content = (
            f"<office:document-content {_SPACES}><office:body><office:text>{body}"
            "</office:text></office:body></office:document-content>"
        )
        archive.writestr("content.xml", content)
        for name, part in (parts or {}).items():
            archive.writestr(name, part)
    (document,) = ODT_READER.read(SourceFile.at(path), ReadOptions())
    assert isinstance(document, Document)
    return document


def test_mixed_content_keeps_its_order(tmp_path: Path) -> None:
    body = (
        "<text:p>The <text:span>moon</text:span> pulls\n   the<text:s text:c='3'/>sea.</text:p>\n  "
    )
    assert _read(tmp_path / "a.odt", body + "<text:p>Twice.</text:p>").text == (
        "The moon pulls the sea.\n\nTwice."
    )


def test_title_date_and_metadata_are_what_the_file_states(tmp_path: Path) -> None:
    document = _read(tmp_path / "a.odt", "<text:p>Ebb</text:p>", {"meta.xml": _META})
    assert document.title == "On Tides"
    assert document.date == "2024-01-31T12:30:45.123456789"
    assert document.media_type == ODT_MEDIA_TYPE
    assert document.metadata == {"author": "Ann Shore", "keywords": "moon, sea"}


def test_first_heading_then_file_name_is_the_title(tmp_path: Path) -> None:
    body = "<text:p>x</text:p><text:h>Spring tide</text:h><text:h>Neap tide</text:h>"
    assert _read(tmp_path / "a.odt", body).title == "Spring tide"
    assert _read(tmp_path / "tide notes.odt", "<text:p>x</text:p>").title == "tide notes"


def test_table_is_one_block_with_a_line_for_each_row(tmp_path: Path) -> None:
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    row = "<table:table-row>" + cell + cell + "</table:table-row>"
    table = f"<table:table>{row.format('port', 'range')}{row.format('Brest', '6 m')}</table:table>"
    assert _read(tmp_path / "a.odt", table).text == "port\trange\nBrest\t6 m"


def test_comments_and_deleted_text_are_left_out_notes_kept(tmp_path: Path) -> None:
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        "<text:p>High<office:annotation><text:p>comment</text:p></office:annotation> water"
        "<text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>At noon.</text:p></text:note-body></text:note> again</text:p>"
    )
    assert _read(tmp_path / "a.odt", body).text == "High water\nAt noon.\n again"


def test_encrypted_file_is_refused(tmp_path: Path) -> None:
    manifest = (
        f"<manifest:manifest {_SPACES}><manifest:file-entry manifest:full-path='content.xml'>"
        "<manifest:encryption-data/></manifest:file-entry></manifest:manifest>"
    )
    with pytest.raises(ReaderError, match="is encrypted"):
        _read(tmp_path / "a.odt", "", {"META-INF/manifest.xml": manifest})


def test_document_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="has no text"):
        _read(tmp_path / "a.odt", "<text:p/>")


def test_headings_are_sections(tmp_path: Path) -> None:
    """A heading begins a section where it stands."""
    heading = "<text:h>The <text:span>moon</text:span></text:h>"
    body = f"<text:p>Before.</text:p>{heading}<text:p>It pulls.</text:p>"
    document = _read(tmp_path / "a.odt", body)
    (section,) = document.sections
    assert (section.kind, section.name) == ("heading", "The moon")
    assert document.text[section.start :] == "The moon\n\nIt pulls."
