"""What the formats of Microsoft Office share: how a package names its parts, and its properties."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.markup import attribute, iso_date, parse_xml, stated, texts_by_name

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET

    from lpisearch.readers.archives import Archive

METADATA = {
    "author": "creator",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "language": "language",
    "category": "category",
}
_UNTITLED = {"powerpoint presentation"}  # what the program writes where nobody gave a title


def main_part(archive: Archive, kind: str) -> str:
    """Follow the package's relationship to its document, such as word/document.xml."""
    relations = "_rels/.rels"
    if relations not in archive:
        raise ReaderError(f"is not a {kind} file: it has no _rels/.rels")
    for relation in parse_xml(archive.read(relations), relations):
        if attribute(relation, "Type").endswith("/officeDocument"):
            return attribute(relation, "Target").lstrip("/")
    raise ReaderError(f"is not a {kind} file: it names no main document")


def related_parts(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Return the type and the name of each part that a part refers to, by its id."""
    folder, name = posixpath.split(part)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations not in archive:
        return {}
    return {
        attribute(each, "Id"): (
            attribute(each, "Type").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, attribute(each, "Target"))).lstrip("/"),
        )
        for each in parse_xml(archive.read(relations), relations)
        if attribute(each, "TargetMode") != "External"
    }


def relation_id(element: ET.Element) -> str:
    """Return the id of the part that an element refers to: not that of the element itself."""
    return next((value for key, value in element.items() if key.endswith("}id")), "")


class Properties:
    """What a package says of itself.

    Attributes
    ----------
    title, date
        "" if it says nothing.
    metadata
        Author, subject and the like.
    """

    def __init__(self, archive: Archive) -> None:
        part = "docProps/core.xml"
        facts = texts_by_name(parse_xml(archive.read(part), part)) if part in archive else {}
        title = stated(facts, {"title": "title"}).get("title", "")
        self.title = "" if title.lower() in _UNTITLED else title
        self.date = iso_date(facts, "created", "modified")
        self.metadata = stated(facts, METADATA)
