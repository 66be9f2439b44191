"""How far a long run is: stage, rate and time left, on stderr where it is a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lpisearch.wording import pace, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.records import Progress


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
def stage_line(seconds: float | None = None) -> Iterator[Callable[[str], None]]:
    """Show the stage under way, how long it has taken, and what is left of the time it needs.

    On stderr; nothing where it is not a terminal. Without `seconds` nobody knows what is left.
    """
    if not sys.stderr.isatty():
        yield lambda _stage: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    left = [] if seconds is None else [_time_left(seconds)]
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), *left)
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting …", total=None)
        yield lambda stage: bar.update(task, description=f"{_unmarked(stage)} …")


def _time_left(seconds: float) -> Any:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        """What is left of a time that was reckoned with before."""

        def render(self, task: Task) -> Text:
            left = seconds - (task.elapsed or 0.0)
            return Text(f"about {left:,.0f} s left" if left >= 1 else "soon done", style="cyan")

    return TimeLeft()


@contextmanager
def cell_line() -> Iterator[Callable[[str, int, int], None]]:
    """Show which part of a long run is under way, how many a minute, and the time left.

    On stderr; nothing where it is no terminal.
    """
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
            first = done if first < 0 else first  # what an earlier run had done took no time now
            said = pace(done - first, total - first, bar.tasks[0].elapsed or 0.0)
            bar.update(task, completed=done, total=total, description=_unmarked(name), pace=said)

        yield show


def _unmarked(text: str) -> str:
    """Return a text in which nothing is a sign of Rich's own."""
    from rich.markup import escape

    return escape(printable(text))
