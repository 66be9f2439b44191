"""How a report is printed: tables, JSON, CSV, Markdown, or a page in a folder."""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from lpisearch.cli.render import cell_line, note, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lpisearch.records import Cell, Report, Table
    from lpisearch.workflows.evaluating.cells import Cells

_ROWS = {"retrieval": "runs"}  # the name of a first table's rows in JSON; "rows" for the others
_KEPT_BACK = frozenset({"queries_without_judgements", "missing_queries", "missing_documents"})
_BAR_WIDTH = 80
_SPREAD = "_sd"


@dataclass(frozen=True, slots=True)
class Output:
    """What to print, and where to write a page."""

    json: bool
    csv: bool
    markdown: bool
    folder: Path | None

    def __post_init__(self) -> None:
        if self.json + self.csv + self.markdown > 1:
            from lpisearch.errors import BadOption

            raise BadOption("output", "choose one of --json, --csv and --markdown")

    @contextmanager
    def cells(self, signature: Mapping[str, Any]) -> Iterator[Cells]:
        """Keep finished parts while the evaluation runs, and say on a terminal where it is."""
        from lpisearch.workflows.evaluating.cells import kept_cells

        with cell_line() as show, kept_cells(signature, show) as cells:
            yield cells
        if cells.found:
            note(f"{cells.found:,} parts were finished by an earlier run that was stopped.")

    def show(self, report: Report, *tables: str) -> None:
        """Print a report; `tables` are those that people see, if not all."""
        report = replace(report, command=shlex.join(["lpisearch", *sys.argv[1:]]))
        if self.folder is not None:
            self._write(report, self.folder)
        if self.json:
            print_json(_as_json(report))
        elif self.csv or self.markdown:
            from lpisearch.reports import as_csv, as_markdown

            first = report.tables[:1]
            shown = [table for table in report.tables if table.name not in _KEPT_BACK]
            text = as_csv(first) if self.csv else as_markdown(shown)
            typer.echo(text, nl=False)
        else:
            _print(report, tables)

    def _write(self, report: Report, folder: Path) -> None:
        from datetime import UTC, datetime

        from lpisearch.reports import write_report

        date = datetime.now(UTC).isoformat(timespec="seconds")
        dated = replace(report, parameters={**report.parameters, "date": date})
        write_report(dated, folder)
        note(f"The report is in {folder / 'index.html'}")


def _as_json(report: Report) -> dict[str, Any]:
    from lpisearch.reports.cells import plain

    first, *others = report.tables
    found: dict[str, Any] = {_ROWS.get(first.name, "rows"): _plain_rows(first)}
    found |= {table.name: _plain_rows(table) for table in others}
    notes = list(dict.fromkeys(said for table in report.tables for said in table.notes))
    parameters = {name: plain(value) for name, value in report.parameters.items()}
    return found | {
        "notes": notes,
        "parameters": parameters,
        "versions": dict(report.versions),
    }


def _plain_rows(table: Table) -> list[dict[str, Any]]:
    from lpisearch.reports.cells import plain

    return [{name: plain(cell) for name, cell in row.items()} for row in table.rows]


def _print(report: Report, tables: Sequence[str]) -> None:
    is_terminal = sys.stdout.isatty()
    shown = [table for table in report.tables if table.name not in _KEPT_BACK]
    if tables:
        shown = [table for table in shown if table.name in tables]
    elif not is_terminal:
        shown = shown[:1]
    for number, table in enumerate(shown):
        if number:
            typer.echo()
        _print_table(table, is_terminal=is_terminal)
    if is_terminal:
        _print_bars(report)
    for said in dict.fromkeys(said for table in report.tables for said in table.notes):
        note(said)


def _print_bars(report: Report) -> None:
    import shutil

    from lpisearch.reports import as_bars

    width = min(shutil.get_terminal_size().columns, _BAR_WIDTH)
    for figure in report.figures:
        typer.echo(f"\n{as_bars(figure, width)}")


def _print_table(table: Table, *, is_terminal: bool) -> None:
    """Print rows; on a terminal a spread (…_sd) stands beside what it is the spread of."""
    from lpisearch.reports import shown
    from lpisearch.reports.cells import plain

    if not is_terminal:
        rows = [[_bare(plain(row.get(name))) for name in table.columns] for row in table.rows]
        print_table(table.columns, rows)
        return
    columns = [name for name in table.columns if not name.endswith(_SPREAD)]
    texts = [[_with_spread(row, name, shown) for name in columns] for row in table.rows]
    numeric = [name for name in columns if not _has_text(table, name)]
    print_table(columns, texts, title=table.title, numeric=numeric)


def _with_spread(row: Mapping[str, Cell], name: str, shown: Callable[[str, object], str]) -> str:
    spread = row.get(name + _SPREAD)
    said = shown(name, row.get(name))
    return said if spread is None else f"{said} ± {shown(name, spread)}"


def _has_text(table: Table, name: str) -> bool:
    return any(isinstance(row.get(name), str) for row in table.rows)


def _bare(value: object) -> object:
    return "" if value is None else value
