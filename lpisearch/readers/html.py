"""HTML: the visible text, one block per line.

Scripts, styles, navigation and forms are left out. The encoding is that of the byte order mark,
else of the page's own declaration, else as for any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import Decoded, decode, decode_text
from lpisearch.readers.html_text import HtmlText, is_hostile, text_of_tags, text_of_tree
from lpisearch.readers.streams import NO_TEXT, whole
from lpisearch.readers.values import date_of
from lpisearch.records import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem, Section
    from lpisearch.settings import ReadOptions

MEDIA_TYPE = "text/html"


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says, and what it says about itself."""

    title: str
    text: str
    sections: tuple[Section, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document, after what there is to say about its encoding."""
    data = whole(source, options.max_page_bytes)
    decoded = decode_text(data, _declared_encoding(data))
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
    """Take apart a page that stands inside another format."""
    return read_page(_decoded(page).text if isinstance(page, bytes) else page)


def read_page(source: str) -> Page:
    """Take a page apart; a page built to stall a parser yields its text alone."""
    if "/>" in source and _XHTML.search(source, 0, _HEAD_CHARACTERS):
        # An HTML parser takes <title/> for a beginning, and the whole page for the title.
        source = _EMPTY_ELEMENT.sub(r"<\1\2></\1>", source)
    if is_hostile(source):
        return Page("", *text_of_tags(source))
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(source)
    text, sections = text_of_tree(tree.body) if tree.body is not None else HtmlText("")
    title = _words_of(tree, "title") or _words_of(tree, "h1")
    return Page(title, text, sections, _facts(tree))


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
    return decode(data, _declared_encoding(data))


def _declared_encoding(data: bytes) -> str:
    found = _DECLARATION.search(data, 0, _DECLARATION_BYTES)
    return (found[1] or found[2]).decode("ascii", "replace") if found else ""


def _words_of(tree: LexborHTMLParser, selector: str) -> str:
    node = tree.css_first(selector)
    return " ".join(node.text().split()) if node is not None else ""


def _facts(tree: LexborHTMLParser) -> dict[str, str]:
    """Return date, author, description and language, as far as the page states them."""
    found = {}
    for fact, selectors in _FACTS.items():
        nodes = [node for selector in selectors for node in tree.css(selector)]
        values = (" ".join((node.attributes.get("content") or "").split()) for node in nodes)
        found[fact] = next(filter(None, values), "")
    found["date"] = date_of(found["date"])
    language = tree.root.attributes.get("lang") if tree.root is not None else ""
    found["lang"] = language or ""
    return {fact: value for fact, value in found.items() if value}
