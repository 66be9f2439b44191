"""OpenDocument files that are made of parts: the sheets of ODS, the slides of ODP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.archives import Archive
from lpisearch.readers.encoding import clean
from lpisearch.readers.joining import join_sections
from lpisearch.readers.markup import TextFlow, attribute, local_name
from lpisearch.readers.opendocument import Properties, content, gather
from lpisearch.readers.streams import NO_TEXT
from lpisearch.records import Document

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile

_BODY = {"sheet": ("spreadsheet", "table"), "slide": ("presentation", "page")}


def read_parts(source: SourceFile, kind: str, media_type: str) -> Iterator[Document]:
    """Yield the document of a file, with a section for each part of a kind."""
    with Archive(source) as archive:
        root = content(archive)
        properties = Properties(archive)
    parts = list(_parts(root, kind))
    text, sections = join_sections(parts)
    if not text:
        raise ReaderError(NO_TEXT)
    first_line = text.split("\n", 1)[0] if kind == "slide" else ""
    yield Document(
        title=properties.title or first_line.strip()[:120] or source.stem,
        text=text,
        date=properties.date,
        media_type=media_type,
        metadata=properties.metadata,
        sections=sections,
    )


def _parts(root: ET.Element, kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and text of each part."""
    holder, part = _BODY[kind]
    body = next((each for each in root.iter() if local_name(each) == holder), ())
    number = 0
    for element in body:
        if local_name(element) != part:
            continue
        number += 1
        flow = TextFlow()
        gather(element, flow)
        name = clean(attribute(element, "name")) if kind == "sheet" else str(number)
        yield kind, name or str(number), flow.text.strip()
