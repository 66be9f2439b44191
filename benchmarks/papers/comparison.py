"""Values of a paper compared with those measured here."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from benchmarks.papers.published import AVERAGE, Value
from lpisearch.model.reports import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.model.reports import Cell

MISSING = "–"
_PLACES = 5


@dataclass(frozen=True, slots=True)
class Comparison:
    """One table: rows and columns as in the paper, each cell twice."""

    name: str  # name, title: of the table
    title: str
    corner: str  # what the rows are
    rows: tuple[str, ...]  # rows, columns: their names
    columns: tuple[str, ...]
    # paper, here: values by row and column. The average row is computed here over the rows that
    # both have, unless the paper prints it over just those.
    paper: Mapping[tuple[str, str], Value]
    here: Mapping[tuple[str, str], Value]
    digits: int = 1  # behind the point
    notes: tuple[str, ...] = ()  # remarks on the figures

    def details(self) -> Table:
        """Return a row for each value, in full."""
        rows: list[dict[str, Cell]] = []
        for row in self.rows:
            for column in self.columns:
                paper, here = self.paper.get((row, column)), self.here.get((row, column))
                if paper is None and here is None:
                    continue
                rows.append(
                    {
                        self.corner: row,
                        "method": column,
                        "paper": paper and paper.mean,
                        "measured": here and round(here.mean, _PLACES),
                        "difference": paper and here and round(here.mean - paper.mean, _PLACES),
                        "paper_spread": paper and paper.spread,
                        "measured_spread": here and here.spread and round(here.spread, _PLACES),
                        "draws": here and here.draws,
                    }
                )
        return Table(self.name, self.title, tuple(rows), self.notes)

    def side_by_side(self) -> Table:
        """Return the shape of the paper, each cell “paper / measured ± sd (draws) / difference”."""
        rows = [
            {self.corner: row} | {column: self._cell(row, column) for column in self.columns}
            for row in self.rows
        ]
        return Table(self.name, self.title, tuple(rows), self.notes)

    def differences(self) -> list[float]:
        """Return all differences, but for the average row."""
        both = self.paper.keys() & self.here.keys()
        return [self.here[key].mean - self.paper[key].mean for key in both if key[0] != AVERAGE]

    def _cell(self, row: str, column: str) -> str:
        paper, here = self.paper.get((row, column)), self.here.get((row, column))
        if paper is None and here is None:
            return MISSING
        said = [
            f"{value.mean:.{self.digits}f}" if value is not None else MISSING
            for value in (paper, here)
        ]
        if here is not None and here.spread is not None:
            said[1] += f" ± {here.spread:.{self.digits}f}"
        if here is not None and here.draws > 1:
            said[1] += f" ({here.draws})"
        if paper is not None and here is not None:
            said.append(f"{here.mean - paper.mean:+.{self.digits}f}".replace("-", "−"))
        return " / ".join(said)


def averaged(values: Sequence[float]) -> Value:
    """Return the mean over draws and how far they spread."""
    return Value(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


def with_average(
    rows: Sequence[str],
    paper: Mapping[tuple[str, str], Value],
    here: Mapping[tuple[str, str], Value],
) -> tuple[dict[tuple[str, str], Value], dict[tuple[str, str], Value]]:
    """Add the average row to both, over the rows that were measured."""
    both = dict(paper), dict(here)
    columns = dict.fromkeys(column for _, column in (*paper, *here))
    for column in columns:
        measured = [row for row in rows if (row, column) in here]
        known = [row for row in measured if (row, column) in paper]
        printed = (AVERAGE, column) in paper and len(known) == len(rows)
        if known and not printed:
            both[0][AVERAGE, column] = Value(fmean(paper[row, column].mean for row in known))
        elif not printed:
            both[0].pop((AVERAGE, column), None)
        if measured:
            both[1][AVERAGE, column] = _average([here[row, column] for row in measured])
    return both


def _average(values: Sequence[Value]) -> Value:
    """Average rows; the spread is the standard error of that, the draws are the fewest of a row."""
    mean, draws = fmean(value.mean for value in values), min(value.draws for value in values)
    if any(value.spread is None for value in values):
        return Value(mean, None, draws)
    variances = [(value.spread or 0.0) ** 2 / value.draws for value in values]
    return Value(mean, sum(variances) ** 0.5 / len(values), draws)
