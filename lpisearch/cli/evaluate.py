"""Evaluate and its words; their reports printed, or written as an HTML page."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpisearch.cli.commands import VerbCommand, VerbGroup, is_typed
from lpisearch.cli.options import accepts, only, values, without
from lpisearch.cli.output import OUTPUT, cell_line, note, print_json, print_table, say
from lpisearch.errors import BadOption
from lpisearch.files import mode_of
from lpisearch.model.codec import report_record
from lpisearch.model.fields import option
from lpisearch.model.report_text import SPREAD, full_title, own_columns, padded, width_of
from lpisearch.options import (
    CategoriesOptions,
    ClusterOptions,
    EvaluateOptions,
    RetrievalOptions,
    Setting,
    SimilarityOptions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lpisearch.library import Library
    from lpisearch.model.reports import Cell, Report, Table


_HIDDEN = frozenset({"queries_without_judgements", "missing_queries", "missing_documents"})
_BAR_WIDTH = 80
_MAX_PAIRS = 6


@dataclass(frozen=True, slots=True)
class Output:
    """How a report is printed, and where it is written."""

    csv: bool = option(False, "Print CSV.")
    markdown: bool = option(False, "Print Markdown.", advanced=True)
    report: Path | None = option(
        None, "Write an HTML report with tables, plots and parameters to DIR.", metavar="DIR"
    )
    force: bool = option(False, "Overwrite files that do not belong to a report.", advanced=True)
    json: bool = option(False, "Print JSON only.", panel=OUTPUT)

    def __post_init__(self) -> None:
        if self.json + self.csv + self.markdown > 1:
            raise BadOption(("json", "csv", "markdown"), "cannot be used together")
        if self.report is not None:
            from lpisearch.library import check_folder

            check_folder(self.report, force=self.force)

    def run(self, library: Library, what: str, *tables: str, **arguments: Any) -> None:
        """Evaluate a library and print the report, of whose tables people see `tables`.

        Finished parts are stored until the report is printed; a terminal shows the current one.
        """
        with ExitStack() as until_printed:
            with cell_line() as show:
                report: Report = until_printed.enter_context(
                    library.evaluating(what, on_cell=show, **arguments)
                )
            self.show(report, *tables, mode=mode_of(library.path))
        if report.resumed:
            parts = "1 part was" if report.resumed == 1 else f"{report.resumed:,} parts were"
            note(f"{parts} reused from an earlier, interrupted run.")

    def show(self, report: Report, *tables: str, mode: int) -> None:
        """Print a report; `mode` is that of its files."""
        report = replace(report, command=shlex.join(["lpisearch", *sys.argv[1:]]))
        if self.report is not None:
            self._write(report, self.report, mode)
        if self.json:
            print_json(report_record(report))
        elif self.csv or self.markdown:
            from lpisearch.model.report_text import as_csv, as_markdown

            first = report.tables[:1]
            shown = list(filter(_is_shown, report.tables))
            text = as_csv(first) if self.csv else as_markdown(shown)
            if text:
                say(text.removesuffix("\n"))
        else:
            _print(report, tables)

    def _write(self, report: Report, folder: Path, mode: int) -> None:
        from datetime import UTC, datetime

        from lpisearch.library import write_report

        date = datetime.now(UTC).isoformat(timespec="seconds")
        dated = replace(report, parameters={**report.parameters, "date": date})
        write_report(dated, folder, force=self.force, mode=mode)
        note(f"Report written to {folder / 'index.html'}")


def _is_shown(table: Table) -> bool:
    """Tell whether a table is printed; --json and the page have all tables."""
    many_pairs = table.name.endswith("significance") and len(table.rows) > _MAX_PAIRS
    return table.name not in _HIDDEN and not many_pairs


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
    for remark in dict.fromkeys(remark for table in report.tables for remark in table.notes):
        note(remark)


def _print_bars(report: Report) -> None:
    from lpisearch.model.report_text import as_bars

    width = min(shutil.get_terminal_size().columns, _BAR_WIDTH)
    for figure in report.figures:
        if figure.groups:  # a table shows the same
            continue
        say(f"\n{as_bars(figure, width)}")


_GAP = 2
# What is hidden first on a narrow terminal.
_HIDDEN_FIRST = ("alpha", "found_dims", "cluster_s", "fit_s", "predict_s", "dims")


def print_report_table(table: Table, *, is_terminal: bool) -> None:
    """Print rows; on a terminal a spread (…_sd) follows its value in the same cell."""
    if not is_terminal:
        _print_lines(table)
        return
    if not table.rows:
        return
    say(full_title(table))
    width = shutil.get_terminal_size().columns
    columns = own_columns(table)
    left_out = []
    for name in (None, *(name for name in _HIDDEN_FIRST if name in columns)):
        left_out += [] if name is None else [name]
        names = [column for column in columns if column not in left_out]
        heads, rows = _heads_and_rows(table, names, width)
        if _width(heads, rows) <= width:
            _print_table(table, names, heads, rows)
            if left_out:
                say(f"(hidden to fit {width} columns: {', '.join(left_out)}; --csv shows all)")
            return
    _print_blocks(columns, _rows(table, columns))


def _rows(table: Table, columns: Sequence[str]) -> list[list[str]]:
    return [[_with_spread(row, name) for name in columns] for row in table.rows]


def _print_table(
    table: Table, columns: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    from lpisearch.model.report_text import is_numeric

    numeric = [head for head, name in zip(heads, columns, strict=True) if is_numeric(table, name)]
    print_table(heads, rows, numeric=numeric)


def _print_lines(table: Table) -> None:
    from lpisearch.model.reports import plain

    cells = [[plain(row.get(name)) for name in table.columns] for row in table.rows]
    print_table(table.columns, [["" if one is None else one for one in row] for row in cells])


def _print_blocks(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print each row on several lines, for a terminal that is too narrow for a table."""
    wide = max(map(len, columns)) + _GAP
    for number, row in enumerate(rows):
        if number:
            say()
        for name, cell in zip(columns, row, strict=True):
            if cell:
                say(padded(name, wide) + cell)


def _heads_and_rows(
    table: Table, columns: Sequence[str], width: int
) -> tuple[list[str], list[list[str]]]:
    """Return the headings, on two lines if the table would be too wide, and the cells."""
    rows = _rows(table, columns)
    if _width(columns, rows) <= width:
        return list(columns), rows
    wide = [max(map(width_of, cells)) for cells in zip(*rows, strict=True)]
    heads = [
        name if len(name) <= space else name.replace("_", "\n", 1)
        for name, space in zip(columns, wide, strict=True)
    ]
    return heads, rows


def _width(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    columns = zip(heads, *rows, strict=True)
    wide = [
        max(width_of(line) for cell in column for line in cell.split("\n")) for column in columns
    ]
    return sum(wide) + _GAP * (len(wide) - 1)


def _with_spread(row: Mapping[str, Cell], name: str) -> str:
    value, spread = _text(name, row.get(name)), row.get(name + SPREAD)
    return value if spread is None else f"{value} ± {_text(name, spread)}"


def _text(name: str, value: Cell) -> str:
    from lpisearch.model.report_text import shown

    return shown(name, value)


_OVER, _VALUES = "dims", "5,10,20,50,100"
app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    help="Measure search and classification quality.",
    invoke_without_command=True,
)


@app.callback()
@accepts()
def evaluate(
    context: typer.Context,
    wanted: Annotated[RetrievalOptions, only("queries", "qrels")],
    options: Annotated[EvaluateOptions, only("methods", "largest", "matrix", "index", "seed")],
    output: Output,
) -> None:
    """Run every evaluation the labels allow, compared with plain terms and LSI."""
    if context.invoked_subcommand is not None:
        _nothing_before_the_word(context)
        return
    judged = _judged(wanted) if wanted.queries or wanted.qrels else None
    tables = ("overview", "retrieval")
    output.run(context.obj.library, "all", *tables, options=options, wanted=judged)


def _nothing_before_the_word(context: typer.Context) -> None:
    """Refuse options of the group, which its word would ignore."""
    names = tuple(name for name in context.params if is_typed(context, name))
    if names:
        raise BadOption(names, f"put options after “{context.invoked_subcommand}”")


def _judged(options: RetrievalOptions) -> RetrievalOptions:
    """Refuse an evaluation of rankings without queries or judgements."""
    for name, file in (("queries", "a query file"), ("qrels", "relevance judgements")):
        if getattr(options, name) is None:
            raise BadOption(name, f"retrieval needs {file}: --{name} FILE")
    return options


@app.command(
    "similarity",
    cls=VerbCommand,
    short_help="Check that documents on one topic are close together.",
)
@accepts()
def similarity(
    context: typer.Context, wanted: SimilarityOptions, options: EvaluateOptions, output: Output
) -> None:
    """Rank all document pairs by cosine; report average precision for pairs on one topic."""
    library = context.obj.library
    output.run(library, "similarity", "similarity", options=options, wanted=wanted)


@app.command(
    "classify", cls=VerbCommand, short_help="Measure label prediction on unseen documents."
)
@accepts()
def classify(
    context: typer.Context,
    wanted: CategoriesOptions,
    options: Annotated[EvaluateOptions, without("scale", "index")],
    output: Output,
) -> None:
    """Train on some documents and measure label prediction on the others."""
    output.run(context.obj.library, "classify", options=options, wanted=wanted)


@app.command(
    "cluster", cls=VerbCommand, short_help="Cluster with k-means and compare with the labels."
)
@accepts()
def cluster(
    context: typer.Context,
    wanted: ClusterOptions,
    options: Annotated[EvaluateOptions, without("scale", "index")],
    output: Output,
) -> None:
    """Cluster the documents with k-means and compare with their labels."""
    output.run(context.obj.library, "cluster", options=options, wanted=wanted)


@app.command(
    "retrieval", cls=VerbCommand, short_help="Measure ranking on queries with known answers."
)
@accepts()
def retrieval(
    context: typer.Context,
    wanted: RetrievalOptions,
    options: Annotated[EvaluateOptions, without("scale", "largest", "matrix")],
    output: Output,
) -> None:
    """Run queries with relevance judgements; report trec_eval measures per ranking mode."""
    output.run(context.obj.library, "retrieval", options=options, wanted=_judged(wanted))


@app.command(
    "spectrum", cls=VerbCommand, short_help="Compare eigenvalues, with bounds for sparse methods."
)
@accepts()
def spectrum(
    context: typer.Context,
    options: Annotated[EvaluateOptions, without("scale", "largest", "index")],
    output: Output,
) -> None:
    """Compare the eigenvalues of methods, with bounds on what the best m terms can achieve.

    No labels needed. Each value is f of one dimension: 0 if neighbours coincide.
    """
    output.run(context.obj.library, "spectrum", options=options, wanted=None)


@app.command(
    "sweep", cls=VerbCommand, short_help="Repeat a measurement over values of a parameter."
)
@accepts("by", "seed")
def sweep(
    context: typer.Context,
    measure: Annotated[
        str,
        typer.Argument(
            metavar="MEASURE", help="What to measure: similarity, classify, cluster or retrieval."
        ),
    ],
    over: Annotated[
        str,
        typer.Option(
            "--over",
            metavar="NAME",
            help="Parameter to vary: dims, neighbours, alpha or train; for others use "
            "--set NAME=5,10,…",
        ),
    ] = "",
    tried: Annotated[
        str | None, typer.Option("--values", metavar="5,10,…", help="Values to try.")
    ] = None,
    *,
    options: Annotated[EvaluateOptions, without("index")],
    similarity: SimilarityOptions,
    classify: CategoriesOptions,
    cluster: ClusterOptions,
    retrieval: Annotated[RetrievalOptions, only("queries", "qrels", "by")],
    output: Output,
) -> None:
    """Repeat an evaluation for several values of one parameter."""
    fixed, varied = _varied(over, tried, options.settings)
    wanted = {"similarity": similarity, "classify": classify, "cluster": cluster}.get(measure)
    output.run(
        context.obj.library,
        measure,
        options=replace(options, settings=fixed),
        wanted=_judged(retrieval) if measure == "retrieval" else wanted,
        over=varied,
    )


def _varied(
    over: str, tried: str | None, settings: Mapping[str, Any]
) -> tuple[dict[str, Setting], tuple[str, tuple[float | str, ...]]]:
    """Separate fixed settings from what varies: the setting with several values, or --over."""
    several = [name for name, text in settings.items() if "," in text or ".." in text]
    fixed = {name: text for name, text in settings.items() if name not in several}
    if not several:
        texts = _VALUES if tried is None else tried
        return fixed, (over or _OVER, values("values", texts))
    if len(several) > 1:
        raise BadOption("settings", f"cannot vary {' and '.join(several)} at the same time")
    if over or tried is not None:
        raise BadOption("over" if over else "values", f"--set already varies {several[0]}")
    return fixed, (several[0], values("settings", settings[several[0]], words=True))
