"""PPTX, straight from its XML: the slides in their order, each with its notes.

Slide numbers, dates and footers are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.archives import Archive
from lpisearch.readers.base import Reader
from lpisearch.readers.joining import join_sections
from lpisearch.readers.markup import TextFlow, attribute, parse_xml, walk
from lpisearch.readers.ooxml import Properties, main_part, related_parts, relation_id
from lpisearch.readers.streams import NO_TEXT
from lpisearch.records import Document

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem
    from lpisearch.settings import ReadOptions

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

_BLOCKS = {
    "p": ("", ""),
    "txBody": ("\n", ""),
    "tc": (" ", ""),
    "tr": ("\t", ""),
    "tbl": ("\n", ""),
    "sp": ("\n", ""),
}
_CHARACTERS = {"tab": "\t", "br": "\n"}
_SKIP = frozenset({"Fallback", "rPr", "pPr", "endParaRPr", "extLst"})
_TITLES = {"title", "ctrTitle"}
_FOOTERS = {"sldNum", "dt", "ftr", "hdr", "sldImg"}


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the presentation."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        properties = Properties(archive)
        slides = [_slide(archive, part) for part in _slide_parts(archive)]
    text, sections = join_sections(
        ("slide", str(number), text) for number, (_, text) in enumerate(slides, start=1)
    )
    if not text:
        raise ReaderError(NO_TEXT)
    heading = next((title for title, _ in slides if title), "")
    yield Document(
        title=properties.title or heading or source.stem,
        text=text,
        date=properties.date,
        media_type=MEDIA_TYPE,
        metadata=properties.metadata,
        sections=sections,
    )


def _slide_parts(archive: Archive) -> list[str]:
    main = main_part(archive, "PPTX")
    parts = related_parts(archive, main)
    root = parse_xml(archive.read(main), main)
    named = [relation_id(each) for event, name, each in walk(root) if (event, name) == _SLIDE]
    return [parts[name][1] for name in named if name in parts]


_SLIDE = ("start", "sldId")


def _slide(archive: Archive, part: str) -> tuple[str, str]:
    """Return the title and the text of a slide, its notes below it."""
    flow = TextFlow()
    title = _gather(parse_xml(archive.read(part), part), flow)
    for kind, notes in related_parts(archive, part).values():
        if kind == "notesSlide" and notes in archive:
            _gather(parse_xml(archive.read(notes), notes), flow)
    return title, flow.text


def _gather(root: ET.Element, flow: TextFlow) -> str:
    """Add the text below `root` to the flow; return that of the first title."""
    title = placeholder = ""
    for event, name, element in walk(root, _SKIP):
        if event == "start":
            if name in _BLOCKS:
                flow.open()
            elif name == "t":
                flow.add(element.text or "")
            elif name in _CHARACTERS:
                flow.add(_CHARACTERS[name])
            placeholder = _placeholder(name, element, placeholder)
        elif name == "sp" and placeholder in _FOOTERS:
            flow.drop()
        elif name in _BLOCKS:
            text = flow.close(*_BLOCKS[name])
            if name == "sp" and placeholder in _TITLES:
                title = title or " ".join(text.split())
    return title


def _placeholder(name: str, element: ET.Element, known: str) -> str:
    """Return what kind of shape is being read: one begins with none, and may then state it."""
    return "" if name == "sp" else attribute(element, "type") if name == "ph" else known


READER = Reader(name="pptx", suffixes=(".pptx", ".pptm", ".ppsx"), read=read, isolated=True)
