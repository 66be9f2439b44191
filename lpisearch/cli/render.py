"""What every verb prints with: JSON, tables, notes, progress.

Results go to stdout; on a terminal as tables, in a pipe as lines of tab-separated values. All
else goes to stderr. Rich is imported only where something is drawn.
"""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from lpisearch.cli.words import spoken, spoken_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from lpisearch.records import Progress

Cell = TypeVar("Cell")
OUTPUT = "Output"
"""The heading of the options that say how a result is printed."""
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON value and nothing else.", rich_help_panel=OUTPUT),
]


def print_json(value: Any) -> None:
    """Print one JSON value on stdout."""
    typer.echo(json.dumps(spoken_value(value), ensure_ascii=False, indent=2))


def note(message: str) -> None:
    """Say something beside the result, on stderr."""
    typer.echo(_harmless(spoken(message)), err=True)


def print_text(text: str) -> None:
    """Print the text of a document, as it is in a pipe."""
    typer.echo(_harmless(text) if sys.stdout.isatty() else text)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str = "",
    aside: bool = False,
    numeric: Collection[str] = (),
) -> None:
    """Print rows: a table on a terminal, tab-separated lines with a header in a pipe.

    With `aside` it goes to stderr, as all that is not the result. Columns of numbers are aligned
    to the right, and so are those named `numeric`.
    """
    stream = sys.stderr if aside else sys.stdout
    if not stream.isatty():
        for row in (columns, *rows):
            typer.echo("\t".join(_one_line(cell) for cell in row), err=aside)
        return
    if not rows:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    used = [at for at, column in enumerate(columns) if any(str(row[at]) for row in rows)]
    columns, rows = _at(columns, used), [_at(row, used) for row in rows]
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
        right = column in numeric or all(isinstance(cell, (int, float)) for cell in cells)
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(cell)) for cell in row))
    Console(stderr=aside).print(table)


def print_pairs(pairs: Sequence[tuple[str, object]]) -> None:
    """Print names and values, one pair a line."""
    if not sys.stdout.isatty():
        for name, value in pairs:
            typer.echo(f"{name}\t{_one_line(value)}")
        return
    width = max(len(name) for name, _ in pairs) + 2
    for name, value in pairs:
        typer.echo(typer.style(name.ljust(width), dim=True) + _shown(value))


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[Progress], None]]:
    """Show a bar with rate and time left on stderr; nothing where it is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%  {task.fields[documents]:,} documents"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, documents=0, rate="")

        def show(progress: Progress) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            rate = f"{progress.documents / elapsed:,.0f}/s" if elapsed > 0 else ""
            bar.update(
                task,
                completed=progress.done,
                total=max(progress.total, 1),
                documents=progress.documents,
                rate=rate,
            )

        yield show


@contextmanager
def stage_line() -> Iterator[Callable[[str], None]]:
    """Show the name of the stage under way on stderr; nothing where it is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _stage: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda stage: status.update(f"{stage} …")


@contextmanager
def cell_line() -> Iterator[Callable[[str, int, int], None]]:
    """Show which part of a long run is under way on stderr; nothing where it is no terminal."""
    from rich.markup import escape

    with stage_line() as show:
        yield lambda name, done, total: show(f"{done:,} of {total:,} done: {escape(name)}")


def semantic_weight(calibration: dict[str, Any]) -> str:
    """Say how much the subspace counts beside the words."""
    if not calibration or calibration["safe"]:
        return "1, the safe value: too little to learn from"
    lengths = sorted(calibration["weights"].items(), key=lambda pair: int(pair[0]))
    shown = {length: f"{weight:.2g}" for length, weight in lengths}
    weights = [f"{weight} at {length}" for length, weight in shown.items()]
    said = f"{', '.join(weights)} words" if len({*shown.values()}) > 1 else min(shown.values())
    return f"{said}, learned from {calibration['documents']:,} documents"


def size(number: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:  # noqa: PLR2004 (the step between units)
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def _at(cells: Sequence[Cell], places: Sequence[int]) -> list[Cell]:
    return [cells[place] for place in places]


def _shown(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) else _harmless(_text(cell))


def _text(cell: object) -> str:
    return spoken(cell) if isinstance(cell, str) else str(cell)


def _one_line(cell: object) -> str:
    return " ".join(_harmless(_text(cell)).split())


# A document may hold sequences that paint the terminal or command it.
_CONTROLS = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def _harmless(text: str) -> str:
    return text.translate(_CONTROLS)
