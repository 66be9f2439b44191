"""Parts of documents, and answers that fit a budget of tokens, cut at the ends of sentences.

A token counts as four characters. The faces state what counts: the text that they show.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.messages import nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.model.answers import Answer, Hit, Passage
    from lpisearch.model.documents import Document, Section


TOKEN = 4
"""The characters that count as a token."""
_NAMED = 5
_FEWEST = 20  # characters: a shorter rest of a passage is not worth its place
_PAGES = ("page", "slide")
_OUTER = {"heading": ("heading", "chapter")}  # the kinds of sections that end one
_SENTENCE = re.compile(
    r"[.!?…][\"'”’»)\]]*(?=\s)|[。！？]|\n(?=[^\S\n]*\n)"  # noqa: RUF001 (full-width signs)
)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of the text of a document.

    Attributes
    ----------
    id, title
        Of the document.
    start, end
        Where the part is in the text.
    characters
        The length of the whole text.
    page, section
        The names of those in which the part begins, or "".
    text
        The part.
    truncated
        Whether more of what was asked for follows.
    next
        Where it goes on, if it was cut.
    """

    id: str
    title: str
    start: int
    end: int
    characters: int
    page: str
    section: str
    text: str
    truncated: bool = False
    next: int | None = None

    def cut(self, most: int) -> Excerpt:
        """Return the excerpt with at most `most` characters, up to the end of a sentence."""
        end = self.start + sentence_end(self.text, most)
        if end == self.end:
            return self
        text = self.text[: end - self.start]
        return replace(self, text=text, end=end, truncated=True, next=end)


def sentence_end(text: str, most: int) -> int:
    """Return where a text of at most `most` characters ends: a sentence, else a line or word.

    >>> sentence_end("One two. Three.", 12), sentence_end("One two three", 12)
    (8, 7)
    """
    if len(text) <= most:
        return len(text)
    half = most // 2
    ends = [found.end() for found in _SENTENCE.finditer(text, half, most + 1)]
    space = max(text.rfind(sign, half, most + 1) for sign in "\n ")
    return max((end for end in ends if end <= most), default=space if space > 0 else most)


def excerpt(
    document: Document,
    *,
    page: str = "",
    section: str = "",
    start: int = 0,
    length: int | None = None,
) -> Excerpt:
    """Return one page or section of a document, or the text from a character on.

    At most `length` characters are returned, up to the end of a sentence.
    """
    wanted = {"page": page, "section": section, "start": start}
    given = [name for name, value in wanted.items() if value]
    if len(given) > 1:
        raise BadOption(tuple(given), "cannot be used together")
    text = document.text
    if start > len(text):
        raise BadOption("start", f"must be 0 to {len(text)}, the length of the text, not {start}")
    end = len(text)
    if page or section:
        start, end = _bounds(document, *(("page", page) if page else ("section", section)))
    part = Excerpt(
        document.id or "",
        document.title,
        start,
        end,
        len(text),
        _name_at(document, start, _PAGES),
        _name_at(document, start, ("heading", "chapter", "sheet")),
        text[start:end],
    )
    return part if length is None else part.cut(length)


def _bounds(document: Document, field: str, name: str) -> tuple[int, int]:
    """Return the bounds of the page or section of a name: the same, else one that contains it."""
    sections = [one for one in document.sections if (one.kind in _PAGES) == (field == "page")]
    folded = " ".join(name.split()).casefold()
    found = [one for one in sections if one.name.casefold() == folded]
    if field == "section":
        found += [one for one in sections if folded in one.name.casefold()]
    if not found:
        raise BadOption(field, f"the document has no {field} “{name}”{_known(sections, name)}")
    first = found[0]
    ending = _OUTER.get(first.kind, (first.kind,))
    after = (one.start for one in document.sections if one.kind in ending)
    return first.start, next((at for at in after if at > first.start), len(document.text))


def _known(sections: list[Section], name: str) -> str:
    """Name the pages or sections that there are, or the nearest."""
    names = [one.name for one in sections if one.name]
    if not names:
        return ""
    if len(names) <= _NAMED:
        return f", only {quoted(names)}"
    return nearest(name, names) or f", but {quoted(names[:1])} to {quoted(names[-1:])}"


def _name_at(document: Document, start: int, kinds: tuple[str, ...]) -> str:
    before = (one.name for one in document.sections if one.kind in kinds and one.start <= start)
    return next(reversed([*before]), "")


def within_budget(
    answer: Answer, tokens: int, shown: Callable[[Answer], str]
) -> tuple[Answer, bool]:
    """Return as much of an answer as fits, and whether something is missing.

    The best passage of each result comes first, then further ones; the last passage that does not
    fit is cut. `shown` returns the text that counts.
    """

    def size(hits: tuple[Hit, ...]) -> int:
        return len(shown(replace(answer, hits=hits)))

    most = tokens * TOKEN
    if size(answer.hits) <= most:
        return answer, False
    if size(()) > most:
        answer = replace(answer, notes=(), suggestions=())
    hits = tuple(replace(hit, passages=hit.passages[:1]) for hit in answer.hits)
    number = _bisect(len(hits), most, lambda n: size(hits[:n]))
    chosen = hits[:number]
    if number == len(hits):
        for at, whole in enumerate(answer.hits):
            fuller = (*chosen[:at], whole, *chosen[at + 1 :])
            chosen = fuller if size(fuller) <= most else chosen
        return replace(answer, hits=chosen), True
    last = hits[number]

    def cut(length: int) -> Hit:
        return replace(last, passages=(_cut_passage(last.snippet, length),))

    length = _bisect(len(last.snippet.text), most, lambda n: size((*chosen, cut(n))))
    length = sentence_end(last.snippet.text, length)
    if length >= _FEWEST and size((*chosen, cut(length))) <= most:
        chosen = (*chosen, cut(length))
    return replace(answer, hits=chosen), True


def _bisect(limit: int, most: int, size: Callable[[int], int]) -> int:
    """Return the largest number up to a limit of which the size is at most `most`; or 0."""
    return max(bisect_right(range(limit + 1), most, key=size) - 1, 0)


def _cut_passage(passage: Passage, length: int) -> Passage:
    """Return the beginning of a passage; its end is exact but for white space that was folded."""
    return replace(
        passage,
        text=f"{passage.text[:length].rstrip()}…",
        marks=tuple(mark for mark in passage.marks if mark[1] <= length),
        end=min(passage.start + length, passage.end),
    )
