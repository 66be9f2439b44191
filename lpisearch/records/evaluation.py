"""Evaluation reports: tables, figures and their parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Cell: TypeAlias = "str | int | float | bool | None"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one evaluation.

    Attributes
    ----------
    name
        The evaluation: "similarity", "classify", …
    title
        One line for people.
    rows
        Each names its cells; shares lie between 0 and 1. Rows need not have the same cells.
    notes
        What is to be known beside the figures: documents left out, pairs sampled, ….
    """

    name: str
    title: str
    rows: tuple[Mapping[str, Cell], ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all cells, in the order of their first appearance."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a figure: values of y at values of x, and how far they spread (±)."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure against a parameter, a line for each method; or named groups of bars.

    Attributes
    ----------
    name
        Of its file, without suffix.
    title, x_label, y_label
        For people.
    series
        The lines.
    log_x
        Whether x is drawn on a logarithmic scale.
    groups
        What each x means, counted from 0, where it is no number: then bars are drawn.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    groups: tuple[str, ...] = ()

    def said(self, x: float) -> str:
        """Say in words what an x means."""
        return self.groups[int(x)] if self.groups else f"{float(x):g}"

    @property
    def baselines(self) -> tuple[Series, ...]:
        """The series that hold at every x: those with one point, where others have more."""
        if self.groups:
            return ()
        single = tuple(series for series in self.series if len(series.x) == 1)
        return single if any(len(series.x) > 1 for series in self.series) else ()


@dataclass(frozen=True, slots=True)
class Report:
    """All that one evaluation found.

    Attributes
    ----------
    title
        One line for people.
    command
        What was typed.
    parameters
        What the figures depend on, by name.
    versions
        Of the libraries that computed them.
    tables, figures
        The findings.
    resumed
        How many parts an earlier run that was stopped had finished.
    """

    title: str
    command: str
    parameters: Mapping[str, Cell]
    versions: Mapping[str, str]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = field(default=())
    resumed: int = 0


def plain(value: object) -> Cell:
    """Give a cell as Python's own type, in full precision; what is not a finite number is None."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Integral):  # NumPy's integers are no subclass of int
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    return str(value)
