from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.html import EPUB_MEDIA_TYPE, EPUB_READER

if TYPE_CHECKING:
    from pathlib import Path

_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
_FACTS = (
    "<dc:title>The Tide Table</dc:title><dc:title>A Novel</dc:title>"
    "<dc:creator>Ann Shore</dc:creator><dc:creator>Bo Reef</dc:creator>"
    "<dc:language>en</dc:language><dc:date>2010</dc:date>"
)
_SECOND = (
    "<html xmlns='http://www.w3.org/1999/xhtml'><body><h1>Ebb</h1><p>It goes.</p></body></html>"
)
_FIRST = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "xhtml11.dtd">'
    "<html><body><h1>Flood</h1><p>It comes&nbsp;in.</p></body></html>"
)
_CHAPTERS = {"b 1.xhtml": _FIRST, "a2.xhtml": _SECOND}


def _package(facts: str = _FACTS) -> str:
    """Write a package whose spine differs from the order of its manifest and of the names."""
    kind = 'media-type="application/xhtml+xml"'
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata>{facts}</metadata><manifest>"
        f'<item id="nav" href="nav.xhtml" properties="nav" {kind}/>'
        f'<item id="two" href="text/a2.xhtml" {kind}/>'
        f'<item id="one" href="text/b%201.xhtml" {kind}/>'
        '<item id="pic" href="pic.png" media-type="image/png"/>'
        '</manifest><spine><itemref idref="nav"/><itemref idref="one"/><itemref idref="pic"/>'
        '<itemref idref="two"/><itemref idref="unknown"/></spine></package>'
    )


def _read(
    path: Path,
    package: str | None = None,
    chapters: dict[str, str] | None = None,
    **parts: str,
) -> list[Document | Problem]:
    """Write an EPUB file and read it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", _CONTAINER)
        archive.writestr("OEBPS/book.opf", package or _package())
        archive.writestr("OEBPS/nav.xhtml", "<html><body><p>Contents</p></body></html>")
        for name, chapter in (_CHAPTERS if chapters is None else chapters).items():
            archive.writestr(f"OEBPS/text/{name}", chapter)
        for name, part in parts.items():
            archive.writestr(f"META-INF/{name}.xml", part)
    return list(EPUB_READER.read(SourceFile.at(path), ReadOptions()))


def _encryption(*parts: str) -> str:
    references = "".join(
        f'<e:EncryptedData><e:CipherData><e:CipherReference URI="{part}"/></e:CipherData>'
        "</e:EncryptedData>"
        for part in parts
    )
    return f'<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#">{references}</encryption>'


def test_chapters_come_in_the_order_of_the_spine(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "a.epub")
    assert isinstance(document, Document)
    assert document.text.split() == ["Flood", "It", "comes", "in.", "Ebb", "It", "goes."]
    assert "in.\n\nEbb" in document.text


def test_title_date_and_metadata_are_what_the_package_states(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "a.epub")
    assert isinstance(document, Document)
    assert document.title == "The Tide Table"
    assert document.date == "2010"
    assert document.media_type == EPUB_MEDIA_TYPE
    assert document.metadata == {"author": "Ann Shore, Bo Reef", "language": "en"}


def test_file_name_is_the_title_where_none_is_stated(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "tide book.epub", _package(""))
    assert isinstance(document, Document)
    assert document.title == "tide book"


def test_missing_chapter_is_warned_of(tmp_path: Path) -> None:
    problem, document = _read(tmp_path / "a.epub", chapters={"a2.xhtml": _SECOND})
    assert problem == Problem("is missing from the book", "OEBPS/text/b 1.xhtml", warning=True)
    assert isinstance(document, Document)
    assert "It goes." in document.text


def test_book_under_drm_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match=r"is encrypted \(protected by DRM\)"):
        _read(tmp_path / "a.epub", encryption=_encryption("OEBPS/text/b%201.xhtml"))


def test_book_with_encrypted_fonts_is_read(tmp_path: Path) -> None:
    (document,) = _read(tmp_path / "a.epub", encryption=_encryption("OEBPS/fonts/a.otf"))
    assert isinstance(document, Document)


def test_book_without_text_is_refused(tmp_path: Path) -> None:
    blank = dict.fromkeys(_CHAPTERS, "<html><body><img src='x.png'/></body></html>")
    with pytest.raises(ReaderError, match=r"has no text$"):
        _read(tmp_path / "a.epub", chapters=blank)
    with pytest.raises(ReaderError, match="has no text: is missing"):
        _read(tmp_path / "a.epub", chapters={})


def test_zip_that_is_no_epub_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no")
    with pytest.raises(ReaderError, match="is not an EPUB file"):
        list(EPUB_READER.read(SourceFile.at(path), ReadOptions()))


def test_chapters_and_their_headings_are_sections(tmp_path: Path) -> None:
    chapters = {
        "b 1.xhtml": "<body><h1>Flood</h1><p>It comes.</p><h2>Spring tide</h2><p>High.</p></body>",
        "a2.xhtml": "<head><title>The Tide Table</title></head><body><p>It goes.</p></body>",
    }
    (book,) = _read(tmp_path / "a.epub", chapters=chapters)
    assert isinstance(book, Document)
    assert [(one.kind, one.name) for one in book.sections] == [
        ("chapter", "Flood"),
        ("heading", "Spring tide"),
        ("chapter", "2"),
    ]
    starts = [book.text[one.start :].split("\n")[0] for one in book.sections]
    assert starts == ["Flood", "Spring tide", "It goes."]
