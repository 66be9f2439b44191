"""Print an evaluation report as tables, JSON, CSV, Markdown or HTML."""

from __future__ import annotations

import shlex
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lpisearch.cli.evaluate.layout import print_report_table
from lpisearch.cli.progress import cell_line
from lpisearch.cli.render import note, print_json, say
from lpisearch.files import mode_of
from lpisearch.records.wire import report_record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lpisearch.library import Library
    from lpisearch.records import Report, Table

_KEPT_BACK = frozenset({"queries_without_judgements", "missing_queries", "missing_documents"})
_BAR_WIDTH = 80
_MOST_PAIRS = 6


@dataclass(frozen=True, slots=True)
class Output:
    """What to print, and where to write a page."""

    json: bool
    csv: bool
    markdown: bool
    folder: Path | None
    force: bool = False

    def __post_init__(self) -> None:
        if self.json + self.csv + self.markdown > 1:
            from lpisearch.errors import BadOption

            raise BadOption(("json", "csv", "markdown"), "cannot be used together")
        if self.folder is not None:
            from lpisearch.reports import check_folder

            check_folder(self.folder, force=self.force)

    def run(
        self,
        library: Library,
        what: str,
        *tables: str,
        **asked: Any,
    ) -> None:
        """Evaluate, and print what was found.

        Finished parts are kept until the report is out; a terminal sees which is under way.

        Parameters
        ----------
        library
            What is measured; a report is no more open than it.
        what, asked
            What it is told.
        tables
            The names of those that people see, if not all.
        """
        with ExitStack() as until_the_report_is_out:
            with cell_line() as show:
                report: Report = until_the_report_is_out.enter_context(
                    library.evaluating(what, on_cell=show, **asked)
                )
            self.show(report, *tables, mode=mode_of(library.path))
        if report.resumed:
            parts = "1 part was" if report.resumed == 1 else f"{report.resumed:,} parts were"
            note(f"{parts} reused from an earlier, interrupted run.")

    def show(self, report: Report, *tables: str, mode: int) -> None:
        """Print a report; `tables` are those that people see, `mode` that of its files."""
        report = replace(report, command=shlex.join(["lpisearch", *sys.argv[1:]]))
        if self.folder is not None:
            self._write(report, self.folder, mode)
        if self.json:
            print_json(report_record(report))
        elif self.csv or self.markdown:
            from lpisearch.reports import as_csv, as_markdown

            first = report.tables[:1]
            shown = list(filter(_is_shown, report.tables))
            text = as_csv(first) if self.csv else as_markdown(shown)
            if text:
                say(text.removesuffix("\n"))
        else:
            _print(report, tables)

    def _write(self, report: Report, folder: Path, mode: int) -> None:
        from datetime import UTC, datetime

        from lpisearch.reports import write_report

        date = datetime.now(UTC).isoformat(timespec="seconds")
        dated = replace(report, parameters={**report.parameters, "date": date})
        write_report(dated, folder, force=self.force, mode=mode)
        note(f"Report written to {folder / 'index.html'}")


def _is_shown(table: Table) -> bool:
    """Tell what people see here; --json and the page have all of it."""
    many_pairs = table.name.endswith("significance") and len(table.rows) > _MOST_PAIRS
    return table.name not in _KEPT_BACK and not many_pairs


def _print(report: Report, tables: Sequence[str]) -> None:
    is_terminal = sys.stdout.isatty()
    shown = list(filter(_is_shown, report.tables))
    if tables:
        shown = [table for table in shown if table.name in tables]
    elif not is_terminal:
        shown = shown[:1]
    for number, table in enumerate(shown):
        if number:
            say()
        print_report_table(table, is_terminal=is_terminal)
    if is_terminal:
        _print_bars(report)
    for said in dict.fromkeys(said for table in report.tables for said in table.notes):
        note(said)


def _print_bars(report: Report) -> None:
    import shutil

    from lpisearch.reports import as_bars

    width = min(shutil.get_terminal_size().columns, _BAR_WIDTH)
    for figure in report.figures:
        if figure.groups:  # a table says the same
            continue
        say(f"\n{as_bars(figure, width)}")
