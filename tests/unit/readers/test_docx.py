from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.office import DOCX_MEDIA_TYPE, DOCX_READER

if TYPE_CHECKING:
    from pathlib import Path

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Target="/word/document.xml" Type="http://schemas.openxmlformats.org'
    '/officeDocument/2006/relationships/officeDocument"/></Relationships>'
)
_CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/'
    'core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:dcterms="http://purl.org/dc/terms/">'
    "<dc:title>On Bees</dc:title><dc:creator>Ann Hive</dc:creator>"
    "<cp:keywords>honey; wax</cp:keywords>"
    "<dcterms:created>2024-01-31T12:30:45Z</dcterms:created></cp:coreProperties>"
)
_STYLES = (
    f'<w:styles xmlns:w="{_W}"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/>'
    "</w:style></w:styles>"
)


def _read(path: Path, body: str, **parts: str) -> Document:
    """Write a DOCX file around the XML of its body, and read it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", _RELATIONS)
        document = f'<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", document)
        for name, content in parts.items():
            archive.writestr(
                f"docProps/{name}.xml" if name == "core" else f"word/{name}.xml", content
            )
    (document_read,) = DOCX_READER.read(SourceFile.at(path), ReadOptions())
    assert isinstance(document_read, Document)
    return document_read


def _p(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def test_paragraphs_are_a_blank_line_apart(tmp_path: Path) -> None:
    split = (
        "<w:p><w:r><w:t>The qu</w:t></w:r><w:r><w:t>een</w:t><w:tab/><w:t>flies</w:t></w:r></w:p>"
    )
    assert (
        _read(tmp_path / "a.docx", split + _p("") + _p("Alone.")).text
        == "The queen\tflies\n\nAlone."
    )


def test_table_is_one_block_with_a_line_for_each_row(tmp_path: Path) -> None:
    row = "<w:tr><w:tc>{}</w:tc><w:tc>{}{}</w:tc></w:tr>"
    table = row.format(_p("hive"), _p("weight"), _p("kg")) + row.format(_p("1"), _p("20"), "")
    text = _read(tmp_path / "a.docx", _p("Before") + f"<w:tbl>{table}</w:tbl>" + _p("After")).text
    assert text == "Before\n\nhive\tweight kg\n1\t20\n\nAfter"


def test_core_properties_give_title_date_and_metadata(tmp_path: Path) -> None:
    document = _read(tmp_path / "a.docx", _p("Heading", "Heading1") + _p("Text"), core=_CORE)
    assert document.title == "On Bees"
    assert document.date == "2024-01-31T12:30:45Z"
    assert document.media_type == DOCX_MEDIA_TYPE
    assert document.metadata == {"author": "Ann Hive", "keywords": "honey; wax"}


def test_first_heading_is_the_title_where_none_is_stated(tmp_path: Path) -> None:
    body = _p("Preface") + _p("Von Bienen", "berschrift1") + _p("Mehr", "berschrift1")
    assert _read(tmp_path / "a.docx", body, styles=_STYLES).title == "Von Bienen"


def test_file_name_is_the_last_resort_for_a_title(tmp_path: Path) -> None:
    assert _read(tmp_path / "bee notes.docx", _p("Text")).title == "bee notes"


def test_deleted_moved_and_repeated_text_is_left_out(tmp_path: Path) -> None:
    ac = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    box = "<w:txbxContent>" + _p("Boxed") + "</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>Kept</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>elsewhere</w:t></w:r></w:moveFrom>"
        f"<mc:AlternateContent {ac}><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:p>"
    )
    assert _read(tmp_path / "a.docx", body).text == "Kept\nBoxed"


def test_footnotes_follow_the_text(tmp_path: Path) -> None:
    notes = f'<w:footnotes xmlns:w="{_W}"><w:footnote>{_p("See wax.")}</w:footnote></w:footnotes>'
    assert _read(tmp_path / "a.docx", _p("Honey"), footnotes=notes).text == "Honey\n\nSee wax."


def test_document_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="has no text"):
        _read(tmp_path / "a.docx", _p(""))


def test_nesting_deeper_than_the_stack_is_read(tmp_path: Path) -> None:
    depth = 50_000
    body = "<w:sdt>" * depth + _p("Deep") + "</w:sdt>" * depth
    assert _read(tmp_path / "a.docx", body).text == "Deep"


def test_zip_that_is_no_docx_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no")
    with pytest.raises(ReaderError, match="is not a DOCX file"):
        list(DOCX_READER.read(SourceFile.at(path), ReadOptions()))


def test_a_file_written_by_python_docx_is_read(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    path = tmp_path / "made.docx"
    made = docx.Document()
    made.core_properties.title = ""
    made.add_heading("Swarming", level=1)
    made.add_paragraph("In May the old queen leaves.")
    table = made.add_table(rows=1, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "May", "swarm"
    made.save(str(path))
    (document,) = DOCX_READER.read(SourceFile.at(path), ReadOptions())
    assert isinstance(document, Document)
    assert document.title == "Swarming"
    assert document.text == "Swarming\n\nIn May the old queen leaves.\n\nMay\tswarm"


def test_headings_are_sections(tmp_path: Path) -> None:
    """A paragraph of a heading's style begins a section, by whatever name the style has."""
    body = _p("Before.") + _p("The queen", "berschrift1") + _p("She flies.")
    document = _read(tmp_path / "a.docx", body, styles=_STYLES)
    (section,) = document.sections
    assert (section.kind, section.name) == ("heading", "The queen")
    assert document.text[section.start :] == "The queen\n\nShe flies."
