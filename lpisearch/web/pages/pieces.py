"""Format marked text, bars, histograms, dates and sizes for templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lpisearch.records import FacetValue, Mark

PLAIN, WORD, NEAR = "", "word", "near"


class Piece(NamedTuple):
    """Part of a text: plain, a word of the question, or a word near to it."""

    text: str
    kind: str = PLAIN


def pieces(text: str, marks: Iterable[Mark], start: int = 0, end: int | None = None) -> list[Piece]:
    """Part a text, or a stretch of it, at its marks."""
    at, last = start, len(text) if end is None else end
    found = []
    for mark in marks:
        if mark.end <= at or mark.start >= last:
            continue
        first, until = max(mark.start, at), min(mark.end, last)
        if first > at:
            found.append(Piece(text[at:first]))
        found.append(Piece(text[first:until], NEAR if mark.near else WORD))
        at = until
    if at < last:
        found.append(Piece(text[at:last]))
    return found


class Bar(NamedTuple):
    """A bar of a histogram in percent of its box, and what it stands for."""

    left: float
    width: float
    height: float
    value: FacetValue


def histogram(values: Sequence[FacetValue]) -> list[Bar]:
    """Return the bars of a facet by time; the largest fills the height."""
    most = max((value.count for value in values), default=0) or 1
    step = 100 / max(len(values), 1)
    return [
        Bar(
            round(at * step, 3),
            round(step * 0.86, 3),
            round(max(100 * value.count / most, 3 if value.count else 0), 2),
            value,
        )
        for at, value in enumerate(values)
    ]


class Share(NamedTuple):
    """A signed number as a bar from a middle line, in percent of the width."""

    left: float
    width: float
    against: bool


def shares(values: Sequence[float]) -> list[Share]:
    """Return bars of one scale; if any is below 0, all begin where 0 is."""
    least, most = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    scale = 100 / ((most - least) or 1.0)
    return [
        Share(round((min(value, 0.0) - least) * scale, 2), round(abs(value) * scale, 2), value < 0)
        for value in values
    ]


def folders(path: str, most: int = 3) -> str:
    """Return the end of a path: its last folders and the file."""
    parts = path.replace("\\", "/").split("/")
    return "/".join(parts[-most:]) if len(parts) > most else path


def pages(page: int, last: int) -> Iterator[int]:
    """Yield the numbers of pages to choose from; 0 where some are left out."""
    shown = sorted({1, *range(page - 2, page + 3), last} & set(range(1, last + 1)))
    before = 0
    for number in shown:
        if number > before + 1:
            yield 0
        yield number
        before = number


def size(number: float) -> str:
    """Return a number of bytes in words."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:  # noqa: PLR2004
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
