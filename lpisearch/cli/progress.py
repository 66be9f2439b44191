"""Progress on a terminal: a bar, the current stage, a forecast; nothing elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lpisearch.messages import lasting, pace, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lpisearch.model.documents import Progress


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
