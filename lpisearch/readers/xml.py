"""Safe XML parsing, `TextFlow`, XML files.

The title of an XML file is the text of the first element called `title`, otherwise the name of the
file. Attributes, comments and instructions are omitted. Entities that HTML names are resolved; what
is not valid XML is read as HTML.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.entities import html5
from typing import TYPE_CHECKING, Literal, NoReturn
from xml.parsers import expat

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.readers.base import NO_TEXT, Archive, Reader, SourceFile, line_sections, whole
from lpisearch.readers.encoding import clean, looks_binary
from lpisearch.readers.records import date_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from lpisearch.options import ReadOptions


_BETWEEN = "\n\n"

Event = tuple[Literal["start", "end"], str, ET.Element]


def parse_xml(data: bytes, part: str) -> ET.Element:
    """Parse one XML part of a document.

    External entities are never resolved (expat cannot fetch them), and a part that declares any
    entity is refused, so that entities cannot expand ("billion laughs").
    """
    try:
        _refuse_entities(data, part)
        return ET.fromstring(data)  # noqa: S314 - any entity was refused the line before
    except (ET.ParseError, expat.ExpatError, ValueError, LookupError) as error:
        raise ReaderError(f"is damaged: “{part}” is not valid XML: {error}") from error


def local_name(element: ET.Element) -> str:
    """Return the name of an element without its namespace.

    Formats have several namespaces for the same vocabulary (DOCX: transitional and strict).
    """
    return str(element.tag).rpartition("}")[2]


def attribute(element: ET.Element, name: str) -> str:
    """Return an attribute by its name without namespace, or ""."""
    for key, value in element.items():
        if key.rpartition("}")[2] == name:
            return value
    return ""


def walk(root: ET.Element, skip: Collection[str] = ()) -> Iterator[Event]:
    """Yield the start and the end of each element in document order.

    Without recursion: a hostile file nests deeper than Python's stack. An element named in `skip`
    yields only its end, so that the text after it is not lost.
    """
    yield "start", local_name(root), root
    path = [(root, iter(root))]
    while path:
        element, children = path[-1]
        child = next(children, None)
        if child is None:
            path.pop()
            yield "end", local_name(element), element
        elif (name := local_name(child)) in skip:
            yield "end", name, child
        else:
            yield "start", name, child
            path.append((child, iter(child)))


def texts_by_name(root: ET.Element) -> dict[str, list[str]]:
    """Return the texts of the elements below `root`, by element name."""
    texts: dict[str, list[str]] = {}
    for element in root.iter():
        text = " ".join((element.text or "").split())
        if text:
            texts.setdefault(local_name(element), []).append(text)
    return texts


def stated(facts: Mapping[str, list[str]], names: Mapping[str, str]) -> dict[str, str]:
    """Select metadata: our name → the first of the names in the file (a | b) that has a value."""
    metadata: dict[str, str] = {}
    for ours, theirs in names.items():
        for name in theirs.split(" | "):
            if name in facts:
                metadata.setdefault(ours, ", ".join(facts[name]))
    return metadata


def iso_date(facts: Mapping[str, list[str]], *names: str) -> str:
    """Return the first named fact that is a date, in ISO 8601, or ""."""
    dates = (date_of(facts[name][0]) for name in names if name in facts)
    return next(filter(None, dates), "")


class Properties:
    """Title, date and metadata of an office document, as far as it states them."""

    def __init__(
        self, archive: Archive, part: str, dates: Sequence[str], names: Mapping[str, str]
    ) -> None:
        facts = texts_by_name(parse_xml(archive.read(part), part)) if part in archive else {}
        self.title = stated(facts, {"title": "title"}).get("title", "")
        self.date = iso_date(facts, *dates)
        self.metadata = stated(facts, names)

    def document(
        self, title: str, text: str, sections: tuple[Section, ...], media_type: str
    ) -> Document:
        """Return the document, with `title` if none is stated; raises ReaderError without text."""
        if not text:
            raise ReaderError(NO_TEXT)
        return Document(
            self.title or title,
            text,
            date=self.date,
            media_type=media_type,
            metadata=self.metadata,
            sections=sections,
        )


class TextFlow:
    """Collects text piece by piece into nested blocks: paragraphs, cells, rows, tables.

    Closing a block joins its pieces into one piece of the enclosing block; empty blocks leave
    nothing.
    """

    def __init__(self) -> None:
        self._blocks: list[list[str]] = [[]]
        self._headings: list[tuple[int, str]] = []
        self.heading = ""

    def add(self, text: str) -> None:
        """Append text to the innermost open block."""
        self._blocks[-1].append(text)

    def open(self) -> None:
        """Begin a block."""
        self._blocks.append([])

    def close(self, separator: str, around: str = "") -> str:
        """End the innermost block, with `around` before and after it; return its text."""
        text = separator.join(self._blocks.pop()).strip()
        if text:
            self.add(f"{around}{text}{around}")
        return text

    def drop(self) -> None:
        """End the innermost block and discard it."""
        self._blocks.pop()

    def note_heading(self, text: str) -> None:
        """Mark the block closed last as a heading; one inside another begins no section."""
        name = " ".join(text.split())
        self.heading = self.heading or name
        if name and len(self._blocks) == 1:
            self._headings.append((len(self._blocks[0]) - 1, name))

    @property
    def text(self) -> str:
        """All text, its outermost blocks a blank line apart."""
        return _BETWEEN.join(self._blocks[0])

    @property
    def sections(self) -> tuple[Section, ...]:
        """The headings within the text."""
        return line_sections(self._blocks[0], self._headings, between=_BETWEEN)


class _PrologEnd(Exception):
    """The root element begins: no entity can be declared after it."""


def _refuse_entities(data: bytes, part: str) -> None:
    """Scan what precedes the root element for entity declarations."""

    def refuse(*_: object) -> NoReturn:
        raise ReaderError(f"declares XML entities in “{part}”, which are never resolved")

    def stop(*_: object) -> NoReturn:
        raise _PrologEnd

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = stop
    try:
        parser.Parse(data, True)  # noqa: FBT003 - "this is all"; the parser takes no keywords
    except _PrologEnd:
        return


_HEADINGS = {"title", "head", "heading", "chapter-title", "article-title"}


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document."""
    data = whole(source, options.max_document_bytes)
    try:
        root = _parsed(data, source.name)
    except ReaderError as error:
        yield from _read_as_html(data, source, error)
        return
    blocks = [(name.lower(), text) for name, text in _blocks(root) if text]
    if not blocks:
        raise ReaderError(NO_TEXT)
    lines = [text for _, text in blocks]
    headings = [(at, text) for at, (name, text) in enumerate(blocks) if name in _HEADINGS]
    yield Document(
        headings[0][1] if headings else source.stem,
        "\n".join(lines),
        media_type="application/xml",
        sections=line_sections(lines, headings),
    )


def _parsed(data: bytes, name: str) -> ET.Element:
    """Parse a file, with the entities that HTML names (&nbsp;) if it has any."""
    try:
        return parse_xml(data, name)
    except ReaderError:
        resolved = _ENTITY.sub(_character, data)
        if resolved == data:
            raise
        return parse_xml(resolved, name)


def _character(entity: re.Match[bytes]) -> bytes:
    text = html5.get(f"{entity[1].decode()};", "")
    return b"".join(b"&#%d;" % ord(one) for one in text) or entity[0]


def _read_as_html(
    data: bytes, source: SourceFile, error: ReaderError
) -> Iterator[Document | Problem]:
    """Yield what an HTML parser reads of a file that is not XML; raise the error if nothing."""
    from lpisearch.readers.html import page_of

    if _DECLARES_ENTITIES.search(data) or looks_binary(data) or not _ELEMENT.search(data):
        raise error
    page = page_of(data)
    if not page.text:
        raise error
    yield Problem(_NOT_XML, warning=True)
    yield Document(
        page.title or source.stem, page.text, media_type="application/xml", sections=page.sections
    )


_NOT_XML = "is not valid XML; read as HTML"
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]{1,30});")
_DECLARES_ENTITIES = re.compile(rb"<!ENTITY")
_ELEMENT = re.compile(rb"<[A-Za-z][^<>]*>")


def _blocks(root: ET.Element) -> Iterator[tuple[str, str]]:
    """Yield name and full text of each outermost element with text of its own, in order."""
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
    "xml",
    (".xml", ".rss", ".atom", ".dbk", ".docbook", ".tei", ".nxml", ".page"),
    read,
    isolated=True,
)
