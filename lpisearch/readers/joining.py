"""Pages, chapters, slides or lines into one text, and where its sections begin."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from lpisearch.records import Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_BETWEEN = "\n\n"


def join_sections(parts: Iterable[tuple[str, str, str]]) -> tuple[str, tuple[Section, ...]]:
    """Return the parts a blank line apart, and where each begins; an empty one leaves nothing.

    Parameters
    ----------
    parts
        Kind, name and text of each.
    """
    texts, sections, start = [], [], 0
    for kind, name, text in parts:
        if text:
            texts.append(text)
            sections.append(Section(start, kind, name))
            start += len(text) + len(_BETWEEN)
    return _BETWEEN.join(texts), tuple(sections)


def line_sections(
    lines: Sequence[str],
    headings: Iterable[tuple[int, str]],
    *,
    between: str = "\n",
    skipped: int = 0,
) -> tuple[Section, ...]:
    """Return the headings of a text that was joined from lines or blocks.

    Parameters
    ----------
    lines
        Of the text, before white space was taken off its beginning.
    headings
        The number of a line, from 0, and the heading on it; in order.
    between
        What the lines were joined by.
    skipped
        How many characters were taken off the beginning.
    """
    ends = list(accumulate((len(line) + len(between) for line in lines), initial=0))
    return tuple(
        Section(max(ends[number] - skipped, 0), "heading", name)
        for number, name in headings
        if name
    )
