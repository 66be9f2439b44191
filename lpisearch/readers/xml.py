"""XML of any vocabulary: the text of its elements, those without elements of their own a line each.

The title is the text of the first element called `title`, else the name of the file. Attributes,
comments and instructions are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import clean
from lpisearch.readers.joining import line_sections
from lpisearch.readers.markup import local_name, parse_xml
from lpisearch.readers.streams import NO_TEXT, whole
from lpisearch.records import Document

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem
    from lpisearch.settings import ReadOptions

_HEADINGS = {"title", "head", "heading", "chapter-title", "article-title"}


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document."""
    root = parse_xml(whole(source, options.max_document_bytes), source.name)
    found = [(name.lower(), text) for name, text in _blocks(root) if text]
    if not found:
        raise ReaderError(NO_TEXT)
    lines = [text for _, text in found]
    headings = [(at, text) for at, (name, text) in enumerate(found) if name in _HEADINGS]
    yield Document(
        headings[0][1] if headings else source.stem,
        "\n".join(lines),
        media_type="application/xml",
        sections=line_sections(lines, headings),
    )


def _blocks(root: ET.Element) -> Iterator[tuple[str, str]]:
    """Yield name and text of the elements that hold text, in order; those within are part of it."""
    pending = [root]
    while pending:
        element = pending.pop()
        if _holds_text(element):
            yield local_name(element), " ".join(clean("".join(element.itertext())).split())
        else:
            pending.extend(reversed(element))


def _holds_text(element: ET.Element) -> bool:
    pieces = (element.text, *(child.tail for child in element))
    return any(piece and not piece.isspace() for piece in pieces)


READER = Reader(
    "xml", (".xml", ".rss", ".atom", ".dbk", ".docbook", ".tei", ".nxml"), read, isolated=True
)
