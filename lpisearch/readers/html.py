"""HTML pages and their text, and EPUB books, which are such pages in an archive.

Scripts, styles and forms are omitted, and the furniture of a page:

- `nav`, and elements with a role of `_FURNITURE_ROLES`, a class or an id of `_FURNITURE_NAMES`;
- `header`, `footer` and `aside` outside of articles, sections and `main`, but for a `header` with
  the page's first heading (h1);
- lines that consist of links to other pages: “Prev Up Next”, “Next: …, Previous: …, Up: …”.

A page that has nothing else keeps them. The encoding is that of the byte order mark, then that of
the page's own declaration, then found as for any text.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.readers.base import (
    NO_TEXT,
    Archive,
    Reader,
    SourceFile,
    join_sections,
    line_sections,
    whole,
)
from lpisearch.readers.encoding import Decoded, decode, decode_text, unescape
from lpisearch.readers.records import date_of
from lpisearch.readers.xml import attribute, iso_date, local_name, parse_xml, stated, texts_by_name

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from lpisearch.options import ReadOptions


MEDIA_TYPE = "text/html"


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a page and its metadata."""

    title: str
    text: str
    sections: tuple[Section, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield warnings about the encoding, then the one document."""
    data = whole(source, options.max_page_bytes)
    decoded = decode_text(data, declared_encoding(data))
    page = read_page(decoded.text)
    if not page.text:
        raise ReaderError(NO_TEXT)
    yield from decoded.warnings
    date = page.facts.pop("date", "")
    yield Document(
        page.title or source.stem,
        page.text,
        date=date,
        media_type=MEDIA_TYPE,
        metadata={**page.facts, **decoded.metadata},
        sections=page.sections,
    )


def page_of(page: str | bytes) -> Page:
    """Parse a page inside another format."""
    return read_page(_decoded(page).text if isinstance(page, bytes) else page)


def read_page(source: str) -> Page:
    """Parse a page; a page built to stall a parser yields its text only."""
    source = closed_elements(source)
    if is_hostile(source):
        return Page("", *text_of_tags(source))
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(source)
    text, sections = text_of_tree(tree.body) if tree.body is not None else HtmlText("")
    if not text and tree.body is not None:
        text, sections = text_of_tree(tree.body, furniture=True)
    title = _words_of(tree, "title") or _words_of(tree, "h1")
    return Page(title, text, sections, _facts(tree))


def closed_elements(source: str) -> str:
    """Close the empty elements of XHTML: a parser takes <title/> for a beginning."""
    if "/>" in source and _XHTML.search(source, 0, _HEAD_CHARACTERS):
        return _EMPTY_ELEMENT.sub(r"<\1\2></\1>", source)
    return source


def sniff(head: bytes) -> bool:
    """Tell whether bytes begin as HTML does."""
    return bool(_BEGINNING.match(head))


READER = Reader("html", (".html", ".htm", ".xhtml", ".xht"), read, sniff, isolated=True)

_HEAD_CHARACTERS = 2048
_XHTML = re.compile(r"<\?xml|<!DOCTYPE[^>]{0,500}XHTML|<html[^>]{0,500}\sxmlns\s*=", re.IGNORECASE)
_EMPTY_ELEMENT = re.compile(
    r"<(title|script|style|textarea|iframe|noscript|a|div|span|p|td|th|i|b|em|strong)"
    r"(\s[^<>]*)?/>",
    re.IGNORECASE,
)
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^<>]*>\s*)?(?:<!--.{0,2000}?-->\s*)?"
    rb"<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_DECLARATION = re.compile(
    rb"<meta\b[^<>]*\bcharset\s*=\s*[\"']?\s*([\w.:-]+)"
    rb"|^\s*<\?xml\b[^<>]*\bencoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
_DECLARATION_BYTES = 4096
_FACTS = {
    "date": (
        'meta[property="article:published_time"]',
        'meta[name="date"]',
        'meta[name="dc.date"]',
        'meta[name="DC.date"]',
    ),
    "author": ('meta[name="author"]', 'meta[property="article:author"]'),
    "description": ('meta[name="description"]', 'meta[property="og:description"]'),
}


def _decoded(data: bytes) -> Decoded:
    return decode(data, declared_encoding(data))


def declared_encoding(data: bytes) -> str:
    """Return the encoding that a page states, or ""."""
    match = _DECLARATION.search(data, 0, _DECLARATION_BYTES)
    return (match[1] or match[2]).decode("ascii", "replace") if match else ""


def _words_of(tree: LexborHTMLParser, selector: str) -> str:
    node = tree.css_first(selector)
    return " ".join(node.text().split()).removesuffix(_HEADING_LINK) if node is not None else ""


def _facts(tree: LexborHTMLParser) -> dict[str, str]:
    """Return date, author, description and language where the page states them."""
    facts = {}
    for fact, selectors in _FACTS.items():
        nodes = [node for selector in selectors for node in tree.css(selector)]
        values = (" ".join((node.attributes.get("content") or "").split()) for node in nodes)
        facts[fact] = next(filter(None, values), "")
    facts["date"] = date_of(facts["date"])
    language = tree.root.attributes.get("lang") if tree.root is not None else ""
    facts["lang"] = language or ""
    return {fact: value for fact, value in facts.items() if value}


DEEPEST = 1000  # a page nested deeper is not parsed into a tree, which takes quadratic time


class HtmlText(NamedTuple):
    """The words of a page, and its headings."""

    text: str
    sections: tuple[Section, ...] = ()


def text_of_tree(body: LexborNode, *, furniture: bool = False) -> HtmlText:
    """Return the text below a node, without recursion; with `furniture`, all of it."""
    lines = _Lines(furniture=furniture)
    node = body.child
    while node is not None:
        if node.is_text_node:
            lines.add(node.text_content or "")
        else:
            tag = node.tag or ""
            shown = lines.begin(tag) and (furniture or not is_furniture(node, tag, lines.articles))
            if shown and (child := node.child) is not None:
                node = child
                continue
            lines.end(tag)
        # Up to the first element that has a next one, ending each on the way.
        while (following := node.next) is None:
            node = node.parent
            if node is None or node.mem_id == body.mem_id:
                return lines.gathered()
            lines.end(node.tag or "")
        node = following
    return lines.gathered()


def is_furniture(node: LexborNode, tag: str, articles: int) -> bool:
    """Tell whether an element, inside some articles or sections, is not about the page's topic."""
    if tag in _ABOUT_PAGE and not articles:
        return tag != "header" or node.css_first("h1") is None
    if tag not in _NAMED or not (named := node.attributes):
        return False
    names = f"{named.get('class') or ''} {named.get('id') or ''}".casefold().split()
    return named.get("role") in _FURNITURE_ROLES or not _FURNITURE_NAMES.isdisjoint(names)


def text_of_tags(source: str) -> HtmlText:
    """Return the text between tags in any order, for pages too hostile for the parser."""
    lines = _Lines()
    skipped = ""
    # Text and tags take turns in what the pattern splits.
    for number, piece in enumerate(_TAG.split(source)):
        if number % 2 == 0:
            if not skipped:
                lines.add(unescape(piece))
            continue
        name = piece.strip("/ \t\n").split(maxsplit=1)[0].lower() if piece.strip("/ \t\n") else ""
        if skipped:
            skipped = "" if piece.startswith("/") and name == skipped else skipped
        elif piece.startswith("/"):
            lines.end(name)
        elif not lines.begin(name) and name in _RAW:
            skipped = name
    return lines.gathered()


def is_hostile(source: str) -> bool:
    """Tell whether a page is nested, or has a tag with attributes, beyond all use.

    HTML reopens formatting that is still open where a block ends in the next block: a few kilobytes
    can become millions of elements.
    """
    depth = formatting = begun_anew = 0
    for tag in _NESTING_TAG.finditer(source) if source.count("<") > DEEPEST else ():
        ends, name = tag.groups()
        name = name.lower()
        is_nested = name not in _NEVER_NESTED
        if name in _FORMATTING:
            formatting += 1 if not ends else -1 if formatting else 0
        elif ends or not is_nested:
            begun_anew += formatting
        if is_nested:
            depth += 1 if not ends else -1 if depth else 0
        if depth > DEEPEST or begun_anew > _MOST_BEGUN_ANEW:
            return True
    return any(len(tag[0].split()) > _MOST_ATTRIBUTES for tag in _LONG_TAG.finditer(source))


SKIPPED = frozenset((
    "script", "style", "noscript", "template", "head", "title", "svg", "math", "iframe",
    "object", "canvas", "audio", "video", "select", "button", "textarea", "datalist",
))  # fmt: skip
_ABOUT_PAGE = frozenset(("header", "footer", "aside"))
_ARTICLES = frozenset(("article", "main", "section"))
# Elements whose role, class and id are looked at.
_NAMED = frozenset((
    "a", "aside", "div", "dl", "footer", "form", "header", "li", "ol", "p", "section", "span",
    "table", "td", "ul",
))  # fmt: skip
_FURNITURE_ROLES = frozenset(("navigation", "search", "menubar", "contentinfo"))
_FURNITURE_NAMES = frozenset((
    # of many programs and sites
    "breadcrumb", "breadcrumbs", "navbar", "navigation", "pagination", "pager", "prev-next",
    "prevnext", "sidebar", "site-header", "site-footer", "skip-link", "skiplink", "skip-nav",
    # DocBook and Texinfo
    "navheader", "navfooter", "nav-panel",
    # Sphinx and its themes, MkDocs
    "headerlink", "rst-footer-buttons", "sphinxsidebar", "wy-breadcrumbs", "wy-nav-side",
    "related-pages", "md-footer", "md-sidebar",
    # Javadoc and Doxygen
    "topnav", "bottomnav", "subnav", "navlist", "nav-path", "navpath", "side-nav", "tablist",
    # MediaWiki
    "mw-navigation", "mw-panel", "mw-jump-link", "mw-editsection", "catlinks",
))  # fmt: skip
_LINK_WORD = (
    "prev|previous|next|up|home|top|back|contents|index|zurück|weiter|précédent|suivant|anterior"
    "|siguiente"
)
_LINKS = re.compile(
    # only such words, at least two of them; or two of them with what they lead to
    rf"[\W\d_]*(?:\b(?:{_LINK_WORD}|nach oben)\b[\W\d_]*){{2,}}"
    r"|\W*(?:next|prev|previous|up): .{1,300}?\b(?:prev|previous|up|next): .{1,300}",
    re.IGNORECASE,
)
_RAW = frozenset(("script", "style", "noscript", "template", "title", "textarea", "iframe"))
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd",
    "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li",
    "main", "menu", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead",
    "tr", "ul",
))  # fmt: skip
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_CELLS = frozenset(("td", "th"))
# Elements without an end, and those that the next of their kind ends.
_NEVER_NESTED = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
    "source", "track", "wbr", "p", "li", "dd", "dt", "tr", "td", "th", "option",
))  # fmt: skip
_FORMATTING = frozenset((
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
))  # fmt: skip
_MOST_BEGUN_ANEW = 1_000_000
_MOST_ATTRIBUTES = 5000
_TAG = re.compile(r"<([a-zA-Z/!?][^<>]*)>")
_NESTING_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{20000,}")
_HEADING_LINK = "¶"  # of a heading to itself
# Not a single blank, which stays: so most lines are left as they are.
_SPACE = re.compile(r" [ \t\n\r\f\xa0]+|[\t\n\r\f\xa0][ \t\n\r\f\xa0]*")


class _Lines:
    """Collects words; blocks begin new lines."""

    def __init__(self, *, furniture: bool = False) -> None:
        self.articles = 0  # begun and not ended, with sections
        self._furniture = furniture
        self._lines: list[str] = []
        self._words: list[str] = []
        self._preformatted = 0
        self._headings: list[tuple[int, str]] = []
        self._heading_at = 0

    def begin(self, tag: str) -> bool:
        """Begin an element; return whether to include its text."""
        if tag in SKIPPED or tag.startswith("-") or (tag == "nav" and not self._furniture):
            return False
        if tag in _CELLS:
            self._words.append(" ")
        elif tag in _BLOCKS:
            self._end_line()
            self.articles += tag in _ARTICLES
            self._preformatted += tag == "pre"
            if tag in _HEADINGS:
                self._heading_at = len(self._lines)
        return True

    def end(self, tag: str) -> None:
        """End an element."""
        if tag not in _BLOCKS:
            return
        self._end_line()
        if tag in _ARTICLES:
            self.articles = max(0, self.articles - 1)
        elif tag in _HEADINGS:
            name = " ".join(" ".join(self._lines[self._heading_at :]).split())
            self._headings.append((self._heading_at, name))
        elif tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)

    def add(self, text: str) -> None:
        """Add words between tags."""
        if text and text != _HEADING_LINK:
            self._words.append(text)

    def gathered(self) -> HtmlText:
        """Return everything so far."""
        self._end_line()
        text = "\n".join(self._lines)
        skipped = len(text) - len(text.lstrip())
        return HtmlText(text.strip(), line_sections(self._lines, self._headings, skipped=skipped))

    def _end_line(self) -> None:
        if not (self._words or self._preformatted):
            return
        text = "".join(self._words)
        self._words.clear()
        if self._preformatted:
            self._lines += [line.rstrip() for line in text.strip("\n").split("\n")]
            return
        text = _SPACE.sub(" ", text).strip()
        if text and (self._furniture or not _LINKS.fullmatch(text)):
            self._lines.append(text)


EPUB_MEDIA_TYPE = "application/epub+zip"

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


def read_epub(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the book, after a warning for each chapter that could not be read_epub."""
    del options  # the worker bounds the size of the answer
    with Archive(source) as archive:
        package_part = _package_part(archive)
        package = parse_xml(archive.read(package_part), package_part)
        chapters = _spine(package, posixpath.dirname(package_part))
        if _encrypted(archive).intersection(chapters):
            raise ReaderError("is encrypted (protected by DRM)")
        pages, problems = _chapter_pages(archive, chapters)
    facts = _package_facts(package)
    title = facts["title"][0] if "title" in facts else source.stem
    text, sections = _joined(pages, title)
    if not text:
        raise ReaderError(NO_TEXT + (f": {problems[0].reason}" if problems else ""))
    yield from problems
    yield Document(
        title=title,
        text=text,
        date=iso_date(facts, "date"),
        media_type=EPUB_MEDIA_TYPE,
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
    for chapter in dict.fromkeys(chapters):  # a part named twice is read_epub once
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


def _package_facts(package: ET.Element) -> dict[str, list[str]]:
    for element in package:
        if local_name(element) == "metadata":
            return texts_by_name(element)
    return {}


EPUB_READER = Reader("epub", (".epub",), read_epub, isolated=True)
