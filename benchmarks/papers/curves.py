"""Curves of a paper's figure: means over draws, as lines of a picture and as rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.papers.comparison import averaged
from lpisearch.model.reports import Series, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    from benchmarks.papers.published import Value
    from lpisearch.model.reports import Cell

    Curves: TypeAlias = "dict[str, dict[float, Value]]"


def collected(measured: Iterable[tuple[str, float, float]]) -> Curves:
    """Average over draws."""
    found: dict[str, dict[float, list[float]]] = {}
    for label, x, y in measured:
        found.setdefault(label, {}).setdefault(x, []).append(y)
    return {
        label: {x: averaged(values) for x, values in own.items()} for label, own in found.items()
    }


def as_series(curves: Curves, digits: int = 2) -> tuple[Series, ...]:
    """Return the lines; what does not depend on x has one point."""
    return tuple(
        Series(label, tuple(own), tuple(round(value.mean, digits) for value in own.values()))
        for label, own in curves.items()
    )


def as_table(name: str, title: str, corner: str, curves: Curves, digits: int = 2) -> Table:
    """Return a row for each x: the means, their standard deviations (±) and the draws.

    The draws are those of the curve that has fewest there. A curve of one point, where others
    have more, is a note.
    """
    curves = {label: own for label, own in curves.items() if own}
    lines = {label: own for label, own in curves.items() if len(own) > 1} or curves
    rows: list[dict[str, Cell]] = []
    for x in dict.fromkeys(x for own in lines.values() for x in own):
        row: dict[str, Cell] = {corner: f"{x:g}"}
        there = {label: own[x] for label, own in lines.items() if x in own}
        for label, value in there.items():
            row[label] = round(value.mean, digits)
            row[f"{label} ±"] = None if value.spread is None else round(value.spread, digits)
        row["draws"] = min(value.draws for value in there.values())
        rows.append(row)
    notes = tuple(_said(label, own, digits) for label, own in curves.items() if label not in lines)
    return Table(name, title, tuple(rows), notes)


def _said(label: str, own: Mapping[float, Value], digits: int) -> str:
    (value,) = own.values()
    spread = "" if value.spread is None else f" ± {value.spread:.{digits}f}"
    return f"{label}: {value.mean:.{digits}f}{spread} ({value.draws} draws)"
