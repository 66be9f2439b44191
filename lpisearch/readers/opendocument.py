"""What the formats of OpenDocument (LibreOffice) share: properties, and text in reading order.

Comments and deleted text are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.markup import (
    attribute,
    iso_date,
    local_name,
    parse_xml,
    stated,
    texts_by_name,
    walk,
)

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

    from lpisearch.readers.archives import Archive
    from lpisearch.readers.markup import TextFlow

# What joins the pieces of a block, and what stands around it in the block that holds it.
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


class Properties:
    """What a document says of itself.

    Attributes
    ----------
    title, date
        "" if it says nothing.
    metadata
        Author, subject and the like.
    """

    def __init__(self, archive: Archive) -> None:
        part = "meta.xml"
        facts = texts_by_name(parse_xml(archive.read(part), part)) if part in archive else {}
        self.title = stated(facts, {"title": "title"}).get("title", "")
        self.date = iso_date(facts, "creation-date", "date")
        self.metadata = stated(facts, _METADATA)


def content(archive: Archive) -> ET.Element:
    """Return what a document holds.

    Raises
    ------
    ReaderError
        It is encrypted.
    """
    part = "META-INF/manifest.xml"
    if part in archive and any(
        local_name(element) == "encryption-data"
        for element in parse_xml(archive.read(part), part).iter()
    ):
        raise ReaderError("is encrypted")
    return parse_xml(archive.read("content.xml"), "content.xml")


def gather(root: ET.Element, flow: TextFlow) -> None:
    """Add the text below `root` to the flow, and its headings."""
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
