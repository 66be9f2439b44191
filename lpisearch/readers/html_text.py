"""The text of HTML: a parsed tree, or loose tags, in; lines of words out."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, NamedTuple

from lpisearch.readers.joining import line_sections

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from lpisearch.records import Section

DEEPEST = 1000
"""A page nested deeper is not parsed into a tree: the parser takes quadratic time for it."""


class HtmlText(NamedTuple):
    """The words of a page, and its headings."""

    text: str
    sections: tuple[Section, ...] = ()


def text_of_tree(body: LexborNode) -> HtmlText:
    """Return the words below a node, without recursion."""
    lines = _Lines()
    node = body.child
    while node is not None:
        if node.is_text_node:
            lines.add(node.text_content or "")
            entered = None
        else:
            entered = node.child if lines.begin(node.tag or "") else None
        if entered is not None:
            node = entered
            continue
        # Up to the first element that has a next one, ending each on the way.
        while node is not None and node.next is None:
            lines.end(node.tag or "")
            node = node.parent
            if node is None or node.mem_id == body.mem_id:
                return lines.gathered()
        lines.end(node.tag or "")
        node = node.next
    return lines.gathered()


def text_of_tags(source: str) -> HtmlText:
    """Return the words between tags, whatever their order: for pages that no parser should see."""
    lines = _Lines()
    skipped = ""
    # Text and tags take turns in what the pattern splits.
    for number, piece in enumerate(_TAG.split(source)):
        if number % 2 == 0:
            if not skipped:
                lines.add(html.unescape(piece))
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

    Formatting that is still open where a block ends is begun anew in the next, as HTML demands: a
    few kilobytes can become millions of elements.
    """
    depth = formatting = begun_anew = 0
    for tag in _NESTING_TAG.finditer(source):
        name = tag[2].lower()
        if name in _FORMATTING:
            formatting = max(0, formatting - 1) if tag[1] else formatting + 1
        elif tag[1] or name in _NEVER_NESTED:
            begun_anew += formatting
        if name not in _NEVER_NESTED:
            depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > DEEPEST or begun_anew > _MOST_BEGUN_ANEW:
            return True
    return any(len(tag[0].split()) > _MOST_ATTRIBUTES for tag in _LONG_TAG.finditer(source))


_SKIPPED = frozenset((
    "script", "style", "noscript", "template", "nav", "head", "title", "svg", "math", "iframe",
    "object", "canvas", "audio", "video", "select", "button", "textarea", "datalist",
))  # fmt: skip
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
_SPACE = re.compile(r"[ \t\n\r\f\xa0]+")


class _Lines:
    """Gathers words; blocks begin new lines."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._words: list[str] = []
        self._preformatted = 0
        self._headings: list[tuple[int, str]] = []
        self._heading_at = 0

    def begin(self, tag: str) -> bool:
        """Note the beginning of an element; return whether its text is wanted."""
        if tag in _SKIPPED or tag.startswith("-"):
            return False
        if tag in _BLOCKS:
            self._end_line()
        elif tag in _CELLS:
            self._words.append(" ")
        if tag in _HEADINGS:
            self._heading_at = len(self._lines)
        self._preformatted += tag == "pre"
        return True

    def end(self, tag: str) -> None:
        """Note the end of an element."""
        if tag in _BLOCKS:
            self._end_line()
        if tag in _HEADINGS:
            name = " ".join(" ".join(self._lines[self._heading_at :]).split())
            self._headings.append((self._heading_at, name))
        if tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)

    def add(self, text: str) -> None:
        """Note words between tags."""
        if text:
            self._words.append(text)

    def gathered(self) -> HtmlText:
        """Return everything so far."""
        self._end_line()
        text = "\n".join(self._lines)
        skipped = len(text) - len(text.lstrip())
        return HtmlText(text.strip(), line_sections(self._lines, self._headings, skipped=skipped))

    def _end_line(self) -> None:
        text = "".join(self._words)
        self._words.clear()
        if self._preformatted:
            self._lines += [line.rstrip() for line in text.strip("\n").split("\n")]
        elif text := _SPACE.sub(" ", text).strip():
            self._lines.append(text)
