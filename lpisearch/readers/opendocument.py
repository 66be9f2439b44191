"""ODT, ODS, ODP. Comments and deleted text are omitted."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader, SourceFile, join_sections
from lpisearch.readers.encoding import clean
from lpisearch.readers.streams import Archive
from lpisearch.readers.xml import Properties, TextFlow, attribute, local_name, parse_xml, walk

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterator

    from lpisearch.model.documents import Document, Problem
    from lpisearch.options import ReadOptions


# The separator of the pieces of a block, and the text around it in the enclosing block.
_BLOCKS = {
    "p": ("", ""),
    "h": ("", ""),
    "table-cell": (" ", ""),
    "table-row": ("\t", ""),
    "table": ("\n", ""),
    "text-box": ("\n", "\n"),
    "note-body": ("\n", "\n"),
}
_PARAGRAPHS = ("p", "h")
# The format keeps deleted text at the start of the body, and a count or number where a note is.
_SKIP = frozenset({"annotation", "tracked-changes", "note-citation", "forms", "sequence-decls"})
_CHARACTERS = {"s": " ", "tab": "\t", "line-break": "\n"}
_METADATA = {
    "author": "initial-creator | creator",
    "subject": "subject",
    "keywords": "keyword",
    "description": "description",
    "language": "language",
}
_WHITE_SPACE = re.compile(r"[ \t\r\n]+")


def properties_of(archive: Archive) -> Properties:
    """Return title, date and metadata of a document."""
    return Properties(archive, "meta.xml", ("creation-date", "date"), _METADATA)


def content(archive: Archive) -> ET.Element:
    """Return the content of a document; raises ReaderError if it is encrypted."""
    part = "META-INF/manifest.xml"
    if part in archive and any(
        local_name(element) == "encryption-data"
        for element in parse_xml(archive.read(part), part).iter()
    ):
        raise ReaderError("is encrypted")
    return parse_xml(archive.read("content.xml"), "content.xml")


def gather(root: ET.Element, flow: TextFlow) -> None:
    """Add the text below `root` to the flow, with its headings."""
    open_blocks = [""]

    def add(text: str | None) -> None:
        # White space between paragraphs is the layout of the XML, not text.
        if text and open_blocks[-1] in _PARAGRAPHS:
            flow.add(_WHITE_SPACE.sub(" ", text))

    for event, name, element in walk(root, _SKIP):
        if event == "start":
            if name in _BLOCKS:
                flow.open()
                open_blocks.append(name)
            elif name in _CHARACTERS:
                flow.add(_CHARACTERS[name])
            add(element.text)
            continue
        if name in _BLOCKS:
            text = flow.close(*_BLOCKS[name])
            open_blocks.pop()
            if _is_heading(name, element):
                flow.note_heading(text)
        add(element.tail)


def _is_heading(name: str, element: ET.Element) -> bool:
    return name == "h" or (name == "p" and attribute(element, "style-name") == "Title")


_BODY = {"sheet": ("spreadsheet", "table"), "slide": ("presentation", "page")}


def read_parts(
    source: SourceFile, options: ReadOptions, kind: str, media_type: str
) -> Iterator[Document | Problem]:
    """Yield the document of a file, with a section for each sheet or slide."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        root = content(archive)
        properties = properties_of(archive)
    text, sections = join_sections(_parts(root, kind))
    first_line = text.split("\n", 1)[0] if kind == "slide" else ""
    yield properties.document(first_line.strip()[:120] or source.stem, text, sections, media_type)


def _parts(root: ET.Element, kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and text of each part."""
    holder, part = _BODY[kind]
    body = next((item for item in root.iter() if local_name(item) == holder), ())
    number = 0
    for element in body:
        if local_name(element) != part:
            continue
        number += 1
        flow = TextFlow()
        gather(element, flow)
        name = clean(attribute(element, "name")) if kind == "sheet" else str(number)
        yield kind, name or str(number), flow.text.strip()


ODT_MEDIA_TYPE = "application/vnd.oasis.opendocument.text"


def read_odt(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the document."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        root = content(archive)
        properties = properties_of(archive)
    flow = TextFlow()
    gather(root, flow)
    yield properties.document(flow.heading or source.stem, flow.text, flow.sections, ODT_MEDIA_TYPE)


ODT_READER = Reader("odt", (".odt",), read_odt, isolated=True)


_SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
_PRESENTATION = "application/vnd.oasis.opendocument.presentation"
_read_ods = partial(read_parts, kind="sheet", media_type=_SPREADSHEET)
_read_odp = partial(read_parts, kind="slide", media_type=_PRESENTATION)
ODS_READER = Reader("ods", (".ods",), _read_ods, isolated=True)
ODP_READER = Reader("odp", (".odp",), _read_odp, isolated=True)
