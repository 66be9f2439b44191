"""DOCX, straight from its XML: paragraphs, tables, text boxes and notes, in reading order.

Headers, footers, comments and deleted text are left out.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.archives import Archive
from lpisearch.readers.base import Reader
from lpisearch.readers.markup import TextFlow, attribute, local_name, parse_xml, walk
from lpisearch.readers.ooxml import Properties, main_part
from lpisearch.readers.streams import NO_TEXT
from lpisearch.records import Document

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Collection, Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem
    from lpisearch.settings import ReadOptions

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

# What joins the pieces of a block, and what stands around it in the block that holds it.
_BLOCKS = {
    "p": ("", ""),
    "tc": (" ", ""),
    "tr": ("\t", ""),
    "tbl": ("\n", ""),
    "txbxContent": ("\n", "\n"),
}
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Fallback repeats what Choice says; moveFrom is text that now stands elsewhere; the properties
# hold elements called "tab" that are tab stops.
_SKIP = frozenset({"Fallback", "moveFrom", "del", "rPr", "tabs", "sectPr"})
_NOTES = ("footnotes.xml", "endnotes.xml")


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the document."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        main = main_part(archive, "DOCX")
        folder = posixpath.dirname(main)
        properties = Properties(archive)
        flow = TextFlow()
        styles = _heading_styles(archive, posixpath.join(folder, "styles.xml"))
        _gather(parse_xml(archive.read(main), main), flow, styles)
        for note in (posixpath.join(folder, name) for name in _NOTES):
            if note in archive:
                _gather(parse_xml(archive.read(note), note), flow, ())
    if not flow.text:
        raise ReaderError(NO_TEXT)
    yield Document(
        title=properties.title or flow.heading or source.stem,
        text=flow.text,
        date=properties.date,
        media_type=MEDIA_TYPE,
        metadata=properties.metadata,
        sections=flow.sections,
    )


def _heading_styles(archive: Archive, part: str) -> frozenset[str]:
    """Return the ids of the title and heading styles: ids are translated, names are not."""
    if part not in archive:
        return frozenset({"Title", "Heading1", "Heading2", "Heading3"})
    return frozenset(
        attribute(style, "styleId")
        for style in parse_xml(archive.read(part), part)
        for name in style
        if local_name(name) == "name"
        and attribute(name, "val").lower().startswith(("heading", "title"))
    )


def _gather(root: ET.Element, flow: TextFlow, heading_styles: Collection[str]) -> None:
    """Add the text below `root` to the flow, and the paragraphs styled as headings."""
    is_heading = False
    for event, name, element in walk(root, _SKIP):
        if event == "end":
            if name in _BLOCKS:
                text = flow.close(*_BLOCKS[name])
                if name == "p" and is_heading:
                    flow.note_heading(text)
                    is_heading = False
        elif name in _BLOCKS:
            flow.open()
        elif name == "t":
            flow.add(element.text or "")
        elif name in _CHARACTERS:
            flow.add(_CHARACTERS[name])
        elif name == "pStyle":
            is_heading = attribute(element, "val") in heading_styles


READER = Reader(name="docx", suffixes=(".docx", ".docm"), read=read, isolated=True)
