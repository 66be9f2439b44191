"""The measurements behind the pages, kept next to them: one line for each part, packed.

A page holds means. What they are means of is kept too, so that a later run, on any machine, adds
draws to those that there are, and that a test over draws can be made again.
"""

from __future__ import annotations

import gzip
import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lpisearch.files import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from benchmarks.papers.protocol import Part, Results

FOLDER = "draws"
# Of a measurement; enough for every figure that a page shows.
_DIGITS = 7
EVERY_SECONDS = 60.0


class Keeper:
    """Writes measurements down while a run goes on.

    What is written again each time is all of the run, so that of two runs at once neither loses
    what it measured to the other.
    """

    def __init__(self, folder: Path, every: float = EVERY_SECONDS) -> None:
        self._folder, self._every = folder, every
        self._found: dict[Part, dict[str, Any]] = {}
        self._last = time.monotonic()

    def add(self, part: Part, value: dict[str, Any]) -> None:
        """Take a measurement, and write all if it is time."""
        self._found[part] = value
        if time.monotonic() - self._last >= self._every:
            self.write()

    def write(self) -> None:
        """Write down what there is."""
        write_draws(self._folder, self._found)
        self._last = time.monotonic()


@contextmanager
def kept_draws(folder: Path, every: float = EVERY_SECONDS) -> Iterator[Keeper]:
    """Keep the measurements of a run, however it ends: done, interrupted, or by an error."""
    keeper = Keeper(folder, every)
    try:
        yield keeper
    finally:
        keeper.write()


def read_draws(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return what was measured of some collections, by the name of the part."""
    found: dict[str, dict[str, Any]] = {}
    for path in (folder / FOLDER / f"{name}.jsonl.gz" for name in sorted(set(names))):
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                found |= dict(map(json.loads, lines))
    return found


def write_draws(folder: Path, results: Results) -> None:
    """Write down what was measured; measurements of other parts stay."""
    by_data: dict[str, dict[str, Mapping[str, Any]]] = {}
    for part, value in results.items():
        by_data.setdefault(part.data, {})[str(part)] = value
    for name, found in by_data.items():
        path = folder / FOLDER / f"{name}.jsonl.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = sorted((read_draws(folder, [name]) | found).items())
        text = "".join(f"{json.dumps(_rounded(line), ensure_ascii=False)}\n" for line in lines)
        # Without the time: the same measurements are the same bytes.
        with whole_file(path) as stream:
            stream.write(gzip.compress(text.encode(), mtime=0))


def known_of(parts: Iterable[Part], draws: Mapping[str, Any]) -> dict[Part, dict[str, Any]]:
    """Return what is known of some parts."""
    return {part: draws[str(part)] for part in parts if str(part) in draws}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return value
