"""All that is printed: text, JSON, CSV, tables, notes, links, progress.

Results go to stdout, as tables on a terminal and as tab-separated lines in a pipe; all else goes
to stderr. Only this module prints, so that `printable` makes every text harmless. Rich is imported
where something is drawn. Progress (a bar, the current stage, a forecast) is for a terminal alone.

Errors of the library name fields ("dims") and calls (`library.index(dims=5)`) as data
(`lpisearch.messages`); here they become flags and commands.
"""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
import time
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from lpisearch.messages import Call, Message, Option, as_options, lasting, pace, printable
from lpisearch.model.codec import json_text, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from lpisearch.model.documents import PredictedLabel, Progress


Cell = TypeVar("Cell")
_NARROWEST = 20
OUTPUT = "Output"
"""The heading of the options of output."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON only.", rich_help_panel=OUTPUT)]


def print_json(value: Any) -> None:
    """Print one JSON value on stdout."""
    typer.echo(json_text(render_messages(to_json(value)), indent=2))


def say(text: str = "", *, aside: bool = False, bold: bool = False, dim: bool = False) -> None:
    """Print a text with its lines; with `aside` on stderr."""
    if aside:
        sys.stdout.flush()  # notes about a result follow it
    shown = printable(render_message(text), lines=True)
    typer.echo(typer.style(shown, bold=bold, dim=dim) if bold or dim else shown, err=aside)


def pass_on(recorded: str) -> None:
    """Print text that functions of this module printed into a buffer."""
    sys.stdout.write(recorded)
    sys.stdout.flush()


def confirm(question: str, *, default: bool) -> bool:
    """Ask a question on the terminal; Enter alone means the default."""
    return typer.confirm(_wrapped(printable(question)), default=default, err=True)


def note(message: str) -> None:
    """Print a note on stderr; on a terminal lines are broken between words."""
    say(_wrapped(render_message(message)) if sys.stderr.isatty() else message, aside=True)


def print_prose(text: str) -> None:
    """Print the text of a document; on a terminal lines are broken between words."""
    say(_wrapped(text) if sys.stdout.isatty() else text)


def _wrapped(text: str, indent: int = 0) -> str:
    """Break long lines between words at the width of the terminal; keep indents."""
    width = max(get_terminal_size().columns - 1, _NARROWEST + indent)
    lines = []
    for line in text.splitlines():
        begins = " " * max(indent, len(line) - len(line.lstrip()))
        broken = textwrap.wrap(
            line,
            width,
            subsequent_indent=begins,
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        lines += broken if len(line) > width else [line]
    return "\n".join(lines)


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print CSV without cells that a spreadsheet would take for formulas."""
    from lpisearch.model.report_text import csv_line

    for row in (columns, *rows):
        typer.echo(csv_line(row), nl=False)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str = "",
    aside: bool = False,
    numeric: Collection[str] = (),
) -> None:
    """Print rows: a table on a terminal, tab-separated lines with a header in a pipe.

    Columns of numbers, and those named `numeric`, are aligned to the right.
    """
    stream = sys.stderr if aside else sys.stdout
    if not stream.isatty():
        for row in (columns, *rows):
            say("\t".join(_one_line(cell) for cell in row), aside=aside)
        return
    if not rows:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    used = [at for at, column in enumerate(columns) if any(str(row[at]) for row in rows)]
    columns, rows = _at(columns, used), [_at(row, used) for row in rows]
    console = Console(stderr=aside)
    if _fewest_columns(columns, rows) > console.width:
        _print_records(columns, rows, title, aside=aside)
        return
    table = Table(
        title=Text(printable(title)) if title else None,
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
        right = column in numeric or all(isinstance(cell, (int, float)) for cell in cells)
        table.add_column(
            Text(printable(column, lines=True)),
            justify="right" if right else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(_shown(cell, lines=True)) for cell in row))
    console.print(table)


_WORD = 20  # longer words, such as paths, may be broken in a table


def _fewest_columns(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> int:
    """Return the width of a table in which no short word is broken."""
    cells = [
        [_shown(row[at], lines=True) for row in (columns, *rows)] for at in range(len(columns))
    ]
    words = [
        [min(len(word), _WORD) for cell in column for word in cell.split()] for column in cells
    ]
    return sum(max(lengths, default=0) for lengths in words) + 2 * (len(columns) - 1)


def _print_records(
    columns: Sequence[str], rows: Sequence[Sequence[object]], title: str, *, aside: bool
) -> None:
    """Print rows one below the other: a table would be wider than the terminal."""
    names = [_one_line(column) for column in columns]
    width = max(map(len, names)) + 2
    if title:
        say(title, aside=aside)
    for row in rows:
        for name, cell in zip(names, row, strict=True):
            if str(cell):
                say(_wrapped(f"{name.ljust(width)}{_shown(cell)}", width), aside=aside)
        if row is not rows[-1]:
            say(aside=aside)


def print_pairs(pairs: Sequence[tuple[str, object]]) -> None:
    """Print names and values, one pair per line."""
    if not sys.stdout.isatty():
        for name, value in pairs:
            say(f"{_one_line(name)}\t{_one_line(value)}")
        return
    named = [(printable(name), value) for name, value in pairs]
    width = max(len(name) for name, _ in named) + 2
    for name, value in named:
        lines = _wrapped(f"{name.ljust(width)}{_shown(value)}", width)
        typer.echo(typer.style(lines[:width], dim=True) + lines[width:])


def weight_text(calibration: dict[str, Any]) -> str:
    """Describe the weight of meaning against words."""
    if not calibration or calibration["safe"]:
        return "1 (default: too few documents to learn it)"
    lengths = sorted(calibration["weights"].items(), key=lambda pair: int(pair[0]))
    shown = {length: f"{weight:.2g}" for length, weight in lengths}
    weights = [f"{weight} at {length}" for length, weight in shown.items()]
    text = f"{', '.join(weights)} words" if len({*shown.values()}) > 1 else min(shown.values())
    return f"{text}, learned from {calibration['documents']:,} documents"


def predicted_labels(predicted: Sequence[PredictedLabel]) -> str:
    """Return predicted labels with a question mark: "sailing? 83%"."""
    return ", ".join(f"{one.label}? {one.confidence:.0%}" for one in predicted)


def size(number: float) -> str:
    """Return a number of bytes with its unit."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:  # noqa: PLR2004 (the step between units)
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def _at(cells: Sequence[Cell], columns: Sequence[int]) -> list[Cell]:
    return [cells[column] for column in columns]


def _shown(cell: object, *, lines: bool = False) -> str:
    return f"{cell:,}" if isinstance(cell, int) else printable(_text(cell), lines=lines)


def _text(cell: object) -> str:
    return render_message(cell) if isinstance(cell, str) else str(cell)


def _one_line(cell: object) -> str:
    return " ".join(printable(_text(cell)).split())


# Fields that are arguments.
_ARGUMENTS = {"measure": "MEASURE", "target": "FILE", "key": "KEY", "value": "VALUE"}
_VERBS = {
    "entries": "docs list",
    "delete": "docs delete",
    "examine": "doctor",
    "back_up": "db backup",
    "retokenise": "db retokenise",
    "vector": "db vector",
}


def render_message(text: str) -> str:
    """Return a text in the words of the command line."""
    return text.render(_word) if isinstance(text, Message) else text


def render_messages(value: Any) -> Any:
    """Return a JSON value with every text in the words of the command line."""
    if isinstance(value, str):
        return render_message(value)
    if isinstance(value, dict):
        return {name: render_messages(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [render_messages(one) for one in value]
    return value


def flag(field: str) -> str:
    """Return what is typed for a field: "wait_seconds" is --wait."""
    if field in _ARGUMENTS:
        return _ARGUMENTS[field]
    return _flags().get(field, f"--{field.replace('_', '-')}")


@cache
def _flags() -> dict[str, str]:
    from lpisearch.model.documents import Filter
    from lpisearch.model.fields import fields_of
    from lpisearch.options import OPTION_CLASSES

    options = [one for kind in OPTION_CLASSES for one in fields_of(kind)]
    return {one.name: one.flags[0] for one in options if one.owner is not Filter}


def _word(part: Option | Call) -> str:
    return shlex.join(_option(part)) if isinstance(part, Option) else _command(part)


def _command(call: Call) -> str:
    if call.verb == "open":
        return f"lpisearch --db {' '.join(call.arguments)} …"
    if call.verb == "settings":
        return f"lpisearch config set {' '.join(call.arguments)}"
    if call.verb == "help":
        return " ".join(["lpisearch", *call.arguments, "--help"])
    options = [word for option in call.options for word in _option(option)]
    verb = _VERBS.get(call.verb, call.verb).split()
    return shlex.join(["lpisearch", *verb, *call.arguments, *options])


def _option(option: Option) -> list[str]:
    from lpisearch.model.documents import Filter, as_conditions

    name, value = flag(option.name), option.value
    if isinstance(value, Filter):
        return [word for condition in as_conditions(value) for word in (name, condition)]
    if isinstance(value, dict):
        return [word for key, one in value.items() for word in (name, f"{key}={_plain(one)}")]
    if is_dataclass(value):
        return [word for one in as_options(value) for word in _option(one)]
    if isinstance(value, tuple):
        value = (".." if option.name == "subset_size" else ",").join(map(str, value))
    return [name] if value is None or value is True else [name, str(value)]


def _plain(value: Any) -> str:
    """Write a setting as it is typed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


_WITHOUT = ("dumb", "linux", "vt", "eterm", "emacs")
_FIRST_VTE = 5000  # GNOME's terminals before 0.50 showed such links as rubbish


def can_link() -> bool:
    """Tell whether the terminal shows links; nearly all do, or ignore them.

    `FORCE_HYPERLINK` set to 1 or 0 decides, as in other programs.
    """
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced != "0"
    terminal = os.environ.get("TERM", "dumb").lower()
    if not sys.stdout.isatty() or terminal.startswith(_WITHOUT):
        return False
    version = os.environ.get("VTE_VERSION", "")
    return not version.isdecimal() or int(version) >= _FIRST_VTE


def link_to(path: str, page: str = "") -> str:
    """Return the URL of a file, and of a page in it; "" if it cannot be followed."""
    file = Path(path) if path else None
    if file is None or not file.is_absolute() or not can_link():
        return ""
    address = file.as_uri()
    is_pdf = file.suffix.lower() == ".pdf" and page.isdecimal()
    return f"{address}#page={page}" if is_pdf else address


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[Progress], None]]:
    """Show a bar with rate and time left on stderr."""
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


_PRIOR = 2.0  # seconds by which a forecast trusts the plan


class StageLine:
    """The progress of a run of stages; this class shows nothing."""

    def stage(self, name: str) -> None:
        """Begin a stage."""

    def step(self, done: int, total: int) -> None:
        """Report how many documents the stage has done."""


@contextmanager
def stage_line(expected: Mapping[str, float] | None = None) -> Iterator[StageLine]:
    """Show the stage, its rate, the time elapsed and, with expected seconds, the time left."""
    if not sys.stderr.isatty():
        yield StageLine()
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    forecast = Forecast(expected or {})
    left = [_time_left(forecast)] if expected else []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), *left)
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting …", total=None)

        class Drawn(StageLine):
            """The line on the terminal."""

            def stage(self, name: str) -> None:
                forecast.begin(name)
                bar.update(task, description=f"{_unmarked(name)} …")

            def step(self, done: int, total: int) -> None:
                forecast.step(done, total)
                counts = f"{done:,} of {total:,} documents, {forecast.rate():,.0f}/s"
                bar.update(task, description=f"{_unmarked(forecast.stage)} … {counts}")

        yield Drawn()


class Forecast:
    """The time left of a run: the expected seconds of its stages, corrected by those taken.

    `clock` returns the current time in seconds.
    """

    def __init__(
        self, expected: Mapping[str, float], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.stage = ""
        self._expected, self._clock = expected, clock
        self._taken: dict[str, float] = {}
        self._begun = clock()
        self._share = 0.0
        self._rate = 0.0

    def begin(self, stage: str) -> None:
        """End the stage before, and begin another."""
        now = self._clock()
        self._taken[self.stage] = self._taken.get(self.stage, 0.0) + now - self._begun
        self.stage, self._begun, self._share, self._rate = stage, now, 0.0, 0.0

    def step(self, done: int, total: int) -> None:
        """Note how much of the stage is done."""
        self._share = done / max(total, 1)
        self._rate = done / max(self._clock() - self._begun, 1e-3)

    def rate(self) -> float:
        """Return how much of the stage is done in a second."""
        return self._rate

    def seconds_left(self) -> float:
        """Return the seconds left, if the run stays as slow as it was."""
        now = self._clock() - self._begun
        expected = self._expected.get(self.stage, 0.0)
        known = [name for name in self._taken if self._expected.get(name, 0.0) > 0]
        planned = _PRIOR + sum(self._expected[name] for name in known)
        taken = _PRIOR + sum(self._taken[name] for name in known)
        slowness = taken / planned
        whole = max(expected * slowness, now / self._share if self._share else 0.0)
        if expected and now > whole:  # it takes longer than those before it
            slowness = (taken + now) / (planned + expected)
        come = [self.stage, *self._taken]
        later = sum(one for name, one in self._expected.items() if name not in come)
        return max(whole - now, 0.0) + later * slowness


def _time_left(forecast: Forecast) -> Any:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        """The time left."""

        def render(self, task: Task) -> Text:
            del task
            left = forecast.seconds_left()
            return Text(
                f"about {lasting(round(left))} left" if left >= 1 else "almost done", style="cyan"
            )

    return TimeLeft()


@contextmanager
def cell_line() -> Iterator[Callable[[str, int, int], None]]:
    """Show the part of a long run that is being done, how many a minute, and the time left."""
    if not sys.stderr.isatty():
        yield lambda _name, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        MofNCompleteColumn(),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[pace]}"),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting …", total=None, pace="")

        first = -1

        def show(name: str, done: int, total: int) -> None:
            nonlocal first
            first = done if first < 0 else first  # an earlier run did these
            speed = pace(done - first, total - first, bar.tasks[0].elapsed or 0.0)
            bar.update(task, completed=done, total=total, description=_unmarked(name), pace=speed)

        yield show


def _unmarked(text: str) -> str:
    """Return a text without Rich's markup."""
    from rich.markup import escape

    return escape(printable(text))
