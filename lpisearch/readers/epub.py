"""EPUB."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.readers.base import Reader, SourceFile, join_sections
from lpisearch.readers.html import Page, page_of
from lpisearch.readers.streams import NO_TEXT, Archive
from lpisearch.readers.xml import attribute, iso_date, local_name, parse_xml, stated, texts_by_name

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterator

    from lpisearch.options import ReadOptions


MEDIA_TYPE = "application/epub+zip"

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTER_TYPES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_METADATA = {
    "author": "creator",
    "subject": "subject",
    "description": "description",
    "language": "language",
    "publisher": "publisher",
    "identifier": "identifier",
}


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the book, after a warning for each chapter that could not be read."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        package_part = _package_part(archive)
        package = parse_xml(archive.read(package_part), package_part)
        chapters = _spine(package, posixpath.dirname(package_part))
        if _encrypted(archive).intersection(chapters):
            raise ReaderError("is encrypted (protected by DRM)")
        pages, problems = _chapter_pages(archive, chapters)
    facts = _facts(package)
    title = facts["title"][0] if "title" in facts else source.stem
    text, sections = _joined(pages, title)
    if not text:
        raise ReaderError(NO_TEXT + (f": {problems[0].reason}" if problems else ""))
    yield from problems
    yield Document(
        title=title,
        text=text,
        date=iso_date(facts, "date"),
        media_type=MEDIA_TYPE,
        metadata=stated(facts, _METADATA),
        sections=sections,
    )


def _package_part(archive: Archive) -> str:
    if _CONTAINER not in archive:
        raise ReaderError(f"is not an EPUB file: it has no {_CONTAINER}")
    for element in parse_xml(archive.read(_CONTAINER), _CONTAINER).iter():
        if local_name(element) == "rootfile" and attribute(element, "full-path"):
            return attribute(element, "full-path")
    raise ReaderError(f"is damaged: {_CONTAINER} names no package")


def _spine(package: ET.Element, folder: str) -> list[str]:
    """Return the parts that contain text, in reading order, without the table of contents."""
    items = {attribute(item, "id"): item for item in package.iter() if local_name(item) == "item"}
    order = [
        items[attribute(reference, "idref")]
        for reference in package.iter()
        if local_name(reference) == "itemref" and attribute(reference, "idref") in items
    ]
    return [
        _part(folder, attribute(item, "href"))
        for item in order
        if attribute(item, "media-type") in _CHAPTER_TYPES
        and "nav" not in attribute(item, "properties").split()
    ]


def _part(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _encrypted(archive: Archive) -> set[str]:
    """Return the encrypted parts: often fonts, in books whose text is readable."""
    if _ENCRYPTION not in archive:
        return set()
    return {
        _part("", attribute(element, "URI"))
        for element in parse_xml(archive.read(_ENCRYPTION), _ENCRYPTION).iter()
        if local_name(element) == "CipherReference"
    }


def _chapter_pages(archive: Archive, chapters: list[str]) -> tuple[list[Page], list[Problem]]:
    pages, problems = [], []
    for chapter in dict.fromkeys(chapters):  # a part named twice is read once
        if chapter not in archive:
            problems.append(Problem("is missing from the book", chapter, warning=True))
            continue
        page = page_of(archive.read(chapter))
        if page.text:
            pages.append(page)
    return pages, problems


def _joined(pages: list[Page], title: str) -> tuple[str, tuple[Section, ...]]:
    """Return the text of a book with its chapters, and the headings within them."""
    names = [_chapter_name(page, title, number) for number, page in enumerate(pages, start=1)]
    parts = [("chapter", name, page.text) for name, page in zip(names, pages, strict=True)]
    text, chapters = join_sections(parts)
    sections: list[Section] = []
    for chapter, page in zip(chapters, pages, strict=True):
        inner = [one._replace(start=chapter.start + one.start) for one in page.sections]
        sections.append(chapter)
        sections.extend(one for one in inner if one.name != chapter.name)
    return text, tuple(sections)


def _chapter_name(page: Page, title: str, number: int) -> str:
    """Return the first heading of a chapter, or its title if that is not the book's."""
    if page.sections:
        return page.sections[0].name
    return str(number) if page.title in ("", title) else page.title


def _facts(package: ET.Element) -> dict[str, list[str]]:
    for element in package:
        if local_name(element) == "metadata":
            return texts_by_name(element)
    return {}


READER = Reader("epub", (".epub",), read, isolated=True)
