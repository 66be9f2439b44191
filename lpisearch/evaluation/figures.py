"""Figures from rows of tables, and the report of an experiment."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from lpisearch.index.pipeline import library_versions
from lpisearch.model.reports import Cell, Figure, Report, Series, Table
from lpisearch.options import ClusterOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lpisearch.evaluation.collection import Collection

    Rows = Sequence[Mapping[str, Cell]]
    _Point = tuple[float, Mapping[str, Cell], str]


# Columns that distinguish rows of one representation, and how they appear in a name.
_SUFFIXES = {"classifier": "{}", "by": "{}", "classes": "{} classes"}
_LEAST_FOR_LOGARITHM = 20
"""The least ratio of largest to smallest value for a logarithmic axis."""


def compared(table: Table, measures: Sequence[str]) -> Figure:
    """Plot measures as groups of bars, with one bar per row in each group."""
    name = _namer(table.rows)
    series = tuple(
        _series(name(row), [(at, row, measure) for at, measure in enumerate(measures)])
        for row in table.rows
    )
    y_label = ", ".join(measures)
    return Figure(table.name, table.title, "measure", y_label, series, groups=tuple(measures))


def compared_by(table: Table, group: str, measure: str) -> Figure:
    """Plot one measure as bars, grouped by a column."""
    names = tuple(dict.fromkeys(str(row[group]) for row in table.rows))
    rows = [{key: row[key] for key in row if key != group} for row in table.rows]
    name = _namer(rows)
    points: dict[str, list[_Point]] = {}
    for row, rest in zip(table.rows, rows, strict=True):
        points.setdefault(name(rest), []).append((names.index(str(row[group])), row, measure))
    series = tuple(_series(label, own) for label, own in points.items())
    title = f"{table.title}: {measure}"
    return Figure(f"{table.name}-{measure}", title, group, measure, series, groups=names)


def curves(table: Table, over: str, measure: str, x_label: str) -> Figure:
    """Plot a measure against a parameter; a row without the parameter applies to every value."""
    values = sorted({_number(row[over]) for row in table.rows if row[over] is not None})
    name = _namer([{key: row[key] for key in row if key != over} for row in table.rows])
    points: dict[str, list[_Point]] = {}
    for row in table.rows:
        x = min(values, default=0.0) if row[over] is None else _number(row[over])
        points.setdefault(name(row), []).append((x, row, measure))
    return Figure(
        name=f"{table.name}-{measure}-by-{over}",
        title=f"{table.title}: {measure}",
        x_label=x_label,
        y_label=measure,
        series=tuple(_series(label, own) for label, own in points.items()),
        log_x=bool(values) and values[-1] >= _LEAST_FOR_LOGARITHM * values[0] > 0,
    )


def _namer(rows: Rows) -> Callable[[Mapping[str, Cell]], str]:
    """Return a function that names a row by its representation and what varies."""
    varied = [name for name in _SUFFIXES if len({row.get(name) for row in rows}) > 1]

    def name(row: Mapping[str, Cell]) -> str:
        suffixes = [_SUFFIXES[column].format(row.get(column)) for column in varied]
        words = [str(row.get("representation", "")), *suffixes]
        return " ".join(filter(None, words)) or str(row.get("by", ""))

    return name


def _series(name: str, points: Sequence[_Point]) -> Series:
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


_TOKENISER_SETTINGS = ("language", "stop_words", "stemmer")


def as_report(
    title: str,
    collection: Collection | None,
    options: Sequence[Any],
    tables: Sequence[Table],
    figures: Sequence[Figure] = (),
) -> Report:
    """Make a report of tables and figures with the parameters (dataclasses) they depend on."""
    parameters: dict[str, Cell] = {}
    if collection is not None:
        parameters |= {
            "documents": len(collection),
            "source": collection.name,
            "fingerprint": collection.fingerprint,
            "weighting": collection.weighting,
        }
        if collection.tokeniser is not None:
            settings = asdict(collection.tokeniser)
            parameters |= flat({name: settings[name] for name in _TOKENISER_SETTINGS})
    for part in options:
        parameters |= flat(asdict(part))
        if isinstance(part, ClusterOptions):
            parameters["classes"] = ", ".join(str(number or "all") for number in part.classes)
    return Report(title, "", parameters, library_versions(), tuple(tables), tuple(figures))


def flat(values: Mapping[str, Any]) -> dict[str, Cell]:
    """Return options as cells, without those left to the program."""
    own: dict[str, Any] = dict(values)
    for name in [name for name, value in own.items() if isinstance(value, dict)]:
        own |= own.pop(name)
    return {name: _cell(value) for name, value in own.items() if value not in (None, "", ())}


def _cell(value: Any) -> Cell:
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
    return str(value) if isinstance(value, Path) else value


def mean_and_spread(measure: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Cell]:
    """Return the mean of a measure and, of several rows, its sample standard deviation."""
    values = [row[measure] for row in rows]
    spread: dict[str, Cell] = {f"{measure}_sd": stdev(values)} if len(values) > 1 else {}
    return {measure: fmean(values)} | spread
