"""Long text cut into spans.

A passage is a section (page, chapter, part below a heading), several short consecutive ones, or a
part of a long one; in a text without sections, a part of the text. Lines of a table of contents and
lines repeated at the head or foot of many pages are in no passage.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.model.documents import Section


LONG_DOCUMENT = 600
"""Documents of fewer tokens have no passages: they are one."""

USUAL_TOKENS = 300
"""Sections below half of it are joined, sections above one and a half times it are cut."""

_LEAST_TOKENS = 8  # a shorter rest of a page is dropped
_LONG_LINE = 200  # characters; a longer line may be cut within
_EDGE_LINES = 2  # of a page, at the head and at the foot
_LEAST_REPEATS = 3
_REPEATED_SHARE = 0.02  # of all pages: the running title of a chapter is on few of a book
_PAGE_NUMBER = re.compile(r"(?<=[. \t])(?:[A-Z]-?)?(?:\d+|[ivxlc]+)$")
_DOTS = "...."
_TAIL = 60  # last characters of a line that may be one of a table of contents
_LINE = re.compile(r"[^\n]+")
_DIGITS = re.compile(r"\d+")
# Where a long line may be cut: after a sentence, else after any word, else anywhere.
_STRETCH = re.compile(
    rf"(?s:.{{{_LONG_LINE // 2},{_LONG_LINE}}}?)(?:(?<=[.!?:;])\s|(?<=[。！？]))"  # noqa: RUF001 (full-width signs)
    rf"|(?s:.{{{_LONG_LINE // 2},{_LONG_LINE}}})\s|(?s:.{{1,{_LONG_LINE}}})"
)


class Span(NamedTuple):
    """Where a passage is in the text, and its tokens joined by spaces."""

    start: int
    end: int
    tokens: str


class _Piece(NamedTuple):
    """A line, or part of a long one."""

    start: int
    end: int
    tokens: str
    size: int


def cut_passages(
    text: str, sections: Sequence[Section], joined: Callable[[str], str], usual: int = USUAL_TOKENS
) -> list[Span]:
    """Split a text into passages, in order and without overlap.

    `sections` are in order; `joined` returns the tokens of a text, joined by spaces; a passage has
    about `usual` tokens.
    """
    bounds = sorted({0, *(section.start for section in sections), len(text)})
    passed_over = _page_edges(text, sections)
    passages: list[Span] = []
    waiting: list[_Piece] = []
    size = 0
    for start, end in pairwise(bounds):
        for run in _runs(text, (start, end), passed_over, _Cut(joined, usual)):
            if waiting and text[waiting[-1].end : run[0].start].strip():
                passages.extend(_stretches(waiting, usual))  # a line between was skipped
                waiting, size = [], 0
            waiting += run
            size += sum(piece.size for piece in run)
            if size >= usual / 2:
                passages.extend(_stretches(waiting, usual))
                waiting, size = [], 0
    passages.extend(_stretches(waiting, usual))
    return passages


def _stretches(pieces: Sequence[_Piece], usual: int) -> Iterator[Span]:
    """Yield consecutive pieces as one passage, or as several of about equal size."""
    total = sum(piece.size for piece in pieces)
    if total < _LEAST_TOKENS:
        return
    number = max(1, round(total / usual))
    begun = seen = done = 0
    for at, piece in enumerate(pieces, start=1):
        seen += piece.size
        if at == len(pieces) or done < seen * number // total < number:
            some = pieces[begun:at]
            tokens = " ".join(one.tokens for one in some if one.tokens)
            yield Span(some[0].start, some[-1].end, tokens)
            begun, done = at, seen * number // total


def _runs(
    text: str, bounds: tuple[int, int], passed_over: set[int], cut: _Cut
) -> Iterator[list[_Piece]]:
    """Yield the consecutive lines of a section without skipped lines between them."""
    run: list[_Piece] = []
    begun = end = -1
    for line in _LINE.finditer(text, *bounds):
        if line.start() in passed_over or _is_dotted(line[0]):
            run += cut.pieces(text, begun, end)
            if run:
                yield run
            run, begun, end = [], -1, -1
            continue
        begun, end = line.start() if begun < 0 else begun, line.end()
        if end - begun >= cut.usual:  # characters: far less than a passage
            run += cut.pieces(text, begun, end)
            begun = end = -1
    run += cut.pieces(text, begun, end)
    if run:
        yield run


class _Cut(NamedTuple):
    """The function that returns tokens, and the usual number of tokens of a passage."""

    joined: Callable[[str], str]
    usual: int

    def pieces(self, text: str, start: int, end: int) -> Iterator[_Piece]:
        """Yield the tokens of a few short lines together, of a long one in parts."""
        if start < 0:
            return
        bounds = [(start, end)]
        if end - start > 2 * _LONG_LINE:
            bounds = [part.span() for part in _STRETCH.finditer(text, start, end)]
        for first, last in bounds:
            tokens = self.joined(text[first:last])
            yield _Piece(first, last, tokens, tokens.count(" ") + 1 if tokens else 0)


def _is_dotted(line: str) -> bool:
    """Tell a line of dots that lead to a page number: "Results . . . . . 12"."""
    tail = line.rstrip()[-_TAIL:]
    page = _PAGE_NUMBER.search(tail) if _DOTS[0] in tail else None
    return page is not None and "".join(tail[: page.start()].split()).endswith(_DOTS)


def _page_edges(text: str, sections: Sequence[Section]) -> set[int]:
    """Return the starts of the lines repeated at the head or the foot of many pages."""
    pages = [one.start for one in sections if one.kind == "page"]
    edges: dict[str, list[int]] = {}
    for start, end in pairwise([*pages, len(text)]):
        lines = [line for line in _LINE.finditer(text, start, end) if not line[0].isspace()]
        for line in {*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:]}:
            words = _DIGITS.sub("#", " ".join(line[0].casefold().split()))
            edges.setdefault(words, []).append(line.start())
    least = max(_LEAST_REPEATS, _REPEATED_SHARE * len(pages))
    return {start for starts in edges.values() if len(starts) >= least for start in starts}
