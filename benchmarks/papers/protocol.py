"""What is computed, part by part: the same draws for every method, in parallel, resumable."""

from __future__ import annotations

import signal
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.papers.datasets import load
from benchmarks.papers.draws import known_of
from benchmarks.papers.measures import MEASURES, measured
from lpisearch.evaluation.splits import draw_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from benchmarks.papers.methods import Method
    from lpisearch.evaluation.cells import Cells

    Results: TypeAlias = "Mapping[Part, dict[str, Any]]"


@dataclass(frozen=True, slots=True)
class Part:
    """One measurement, told from others by all that it depends on."""

    measure: str  # of `measures.MEASURES`
    data: str  # of `datasets.DATASETS`
    method: Method  # with its settings
    # the classes that were drawn, or what else picks out documents; () is all
    subset: tuple[Any, ...] = ()
    options: tuple[Any, ...] = ()  # of the measure

    def __str__(self) -> str:
        return f"{self.measure} {self.data} {self.method} {self.subset} {self.options}"


@lru_cache
def drawn(data: str, n_classes: int, draws: int) -> tuple[tuple[str, ...], ...]:
    """Draw sets of classes; fewer draws are the first of more."""
    labels = load(data).single_labels
    if n_classes >= len(set(labels)):
        return ((),)
    sets = draw_classes(labels, n_classes, draws, random_state=0)
    return tuple(tuple(names.tolist()) for names in sets)


class Extent(NamedTuple):
    """How much of what is wanted is measured now."""

    jobs: int = 1  # processes; 0 measures nothing
    # of which parts are measured, by name or as "name setting=value …"; () of all
    methods: Sequence[str] = ()
    until: float = inf  # on the clock of `time.monotonic`: no part begins after it


def run(
    parts: Iterable[Part],
    cells: Cells,
    extent: Extent,
    draws: Mapping[str, Any] | None = None,
    keep: Callable[[Part, dict[str, Any]], None] = lambda _part, _value: None,
) -> Results:
    """Compute the parts that are not there yet; each is written down when it is done."""
    wanted = in_order(part for part in dict.fromkeys(parts) if part.method.is_known)
    interrupted = {part: cells.value(str(part), dict) for part in wanted if cells.has(str(part))}
    for part, value in interrupted.items():
        keep(part, value)
    found = known_of(wanted, draws or {}) | interrupted
    asked = (part for part in wanted if part.method.is_one_of(extent.methods))
    missing = [part for part in asked if part not in found] if extent.jobs else []
    cells.total = len(found) + len(missing)
    for name in dict.fromkeys(part.data for part in missing):
        load(name)  # before the processes part, so that it is read once
    for part, value in _computed(missing, extent.jobs) if missing else ():
        found[part] = cells.value(str(part), value)
        keep(part, found[part])
        if time.monotonic() > extent.until:
            break
    return found


def in_order(parts: Iterable[Part]) -> list[Part]:
    """Put the first draw of everything before the second: a run cut short has fewer draws, evenly.

    Within a draw, long parts come first, so that none is left alone at the end.
    """
    seen: Counter[tuple[Any, ...]] = Counter()
    ranked = []
    for part in parts:
        kind = (part.measure, part.data, part.method, len(part.subset), part.options)
        ranked.append(((seen[kind], -_size(part)), part))
        seen[kind] += 1
    return [part for _, part in sorted(ranked, key=itemgetter(0))]


def _computed(
    parts: Sequence[Part], jobs: int
) -> Iterator[tuple[Part, Callable[[], dict[str, Any]]]]:
    """Yield each part when it is done, with what returns its value; one job needs no process."""
    if jobs == 1:
        for part in parts:
            yield part, partial(measured, part)
        return
    with ProcessPoolExecutor(jobs, initializer=_leave_interrupts_to_the_parent) as pool:
        running = {pool.submit(measured, part): part for part in parts}
        try:
            for done in as_completed(running):
                yield running[done], done.result
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _size(part: Part) -> int:
    """Put long parts first, so that none is left alone at the end."""
    whole = MEASURES[part.measure].whole and not part.subset
    return 1000 if whole else len(part.subset)
