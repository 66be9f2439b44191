"""Rows to figures; report of an experiment."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.index.pipeline import library_versions
from lpisearch.model.reports import Figure, Report, Series
from lpisearch.options import ClusterOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lpisearch.evaluation.collection import Collection
    from lpisearch.model.reports import Cell, Table

    Rows = Sequence[Mapping[str, Cell]]


# What tells rows of one representation apart, and how it is said.
_BESIDE = {"classifier": "{}", "by": "{}", "classes": "{} classes"}
_LEAST_FOR_LOGARITHM = 20
"""The axis is logarithmic where the largest value is so many times the smallest."""


def compared(table: Table, measures: Sequence[str]) -> Figure:
    """Draw the measures as groups of bars, one bar of each for every row."""
    name = _namer(table.rows)
    series = tuple(
        _series(name(row), [(at, row, each) for at, each in enumerate(measures)])
        for row in table.rows
    )
    y_label = ", ".join(measures)
    return Figure(table.name, table.title, "measure", y_label, series, groups=tuple(measures))


def compared_by(table: Table, group: str, measure: str) -> Figure:
    """Draw one measure, the rows grouped by a column of theirs."""
    names = tuple(dict.fromkeys(str(row[group]) for row in table.rows))
    rows = [{key: row[key] for key in row if key != group} for row in table.rows]
    name = _namer(rows)
    found: dict[str, list[tuple[float, Mapping[str, Cell], str]]] = {}
    for row, rest in zip(table.rows, rows, strict=True):
        found.setdefault(name(rest), []).append((names.index(str(row[group])), row, measure))
    series = tuple(_series(each, points) for each, points in found.items())
    title = f"{table.title}: {measure}"
    return Figure(f"{table.name}-{measure}", title, group, measure, series, groups=names)


def curves(table: Table, over: str, measure: str, x_label: str) -> Figure:
    """Draw a measure against a parameter; a row without it holds at every value."""
    values = sorted({_number(row[over]) for row in table.rows if row[over] is not None})
    name = _namer([{key: row[key] for key in row if key != over} for row in table.rows])
    found: dict[str, list[tuple[float, Mapping[str, Cell], str]]] = {}
    for row in table.rows:
        x = min(values, default=0.0) if row[over] is None else _number(row[over])
        found.setdefault(name(row), []).append((x, row, measure))
    return Figure(
        name=f"{table.name}-{measure}-by-{over}",
        title=f"{table.title}: {measure}",
        x_label=x_label,
        y_label=measure,
        series=tuple(_series(each, points) for each, points in found.items()),
        log_x=bool(values) and values[-1] >= _LEAST_FOR_LOGARITHM * values[0] > 0,
    )


def _namer(rows: Rows) -> Callable[[Mapping[str, Cell]], str]:
    """Return what names a row: its representation, and what it differs in from others."""
    beside = [name for name in _BESIDE if len({row.get(name) for row in rows}) > 1]

    def name(row: Mapping[str, Cell]) -> str:
        said = [_BESIDE[each].format(row.get(each)) for each in beside]
        words = [str(row.get("representation", "")), *said]
        return " ".join(filter(None, words)) or str(row.get("by", ""))

    return name


def _series(name: str, points: Sequence[tuple[float, Mapping[str, Cell], str]]) -> Series:
    ordered = sorted(points, key=lambda point: point[0])
    spreads = [row.get(f"{measure}_sd") for _, row, measure in ordered]
    return Series(
        name,
        tuple(x for x, _, _ in ordered),
        tuple(_number(row[measure]) for _, row, measure in ordered),
        None if None in spreads else tuple(map(_number, spreads)),
    )


def _number(cell: Cell) -> float:
    return float(cell or 0)


_OF_WORDS = ("language", "stop_words", "stemmer")


def as_report(
    title: str,
    collection: Collection | None,
    options: Sequence[Any],
    tables: Sequence[Table],
    figures: Sequence[Figure] = (),
) -> Report:
    """Put findings and their circumstances together.

    Parameters
    ----------
    options
        Dataclasses of what was asked for.
    """
    parameters: dict[str, Cell] = {}
    if collection is not None:
        parameters |= {
            "documents": len(collection),
            "source": collection.name,
            "fingerprint": collection.fingerprint,
            "weighting": collection.weighting,
        }
        if collection.tokeniser is not None:
            asked = asdict(collection.tokeniser)
            parameters |= flat({name: asked[name] for name in _OF_WORDS})
    for each in options:
        parameters |= flat(asdict(each))
        if isinstance(each, ClusterOptions):
            parameters["classes"] = ", ".join(str(number or "all") for number in each.classes)
    return Report(title, "", parameters, library_versions(), tuple(tables), tuple(figures))


def flat(values: Mapping[str, Any]) -> dict[str, Cell]:
    """Return options as cells; what was left to the program is left out."""
    own: dict[str, Any] = dict(values)
    for name in [name for name, value in own.items() if isinstance(value, dict)]:
        own |= own.pop(name)
    return {name: _cell(value) for name, value in own.items() if value not in (None, "", ())}


def _cell(value: Any) -> Cell:
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in value)
    return str(value) if isinstance(value, Path) else value


def mean_and_spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and the standard deviation (of a sample; None for one value)."""
    from statistics import fmean, stdev

    return fmean(values), stdev(values) if len(values) > 1 else None
