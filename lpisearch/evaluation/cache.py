"""Cells: the finished parts of a long evaluation.

An interrupted run continues where it stopped. The parts are in a file in the user's cache folder,
which is removed when the run completes, so that a second run measures again.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.evaluation.collection import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    OnCell = Callable[[str, int, int], None]


_EXPIRY_DAYS = 30
_OWNER_ONLY = 0o600  # the parts tell about a library, which may be private


class _Part(NamedTuple):
    value: Any
    notes: list[str]


def quiet(_name: str, _done: int, _total: int) -> None:
    """Report nothing."""


@dataclass(slots=True)
class Cells:
    """Values by key; each is computed once and saved at once."""

    path: Path | None = None  # None: in memory only
    on_cell: OnCell = quiet  # called as a part begins: its name, parts done, parts in total
    total: int = 0  # as far as is known
    resumed: int = 0  # parts that an earlier run had finished
    _known: dict[str, _Part] = field(default_factory=dict)
    _done: int = 0
    _warnings: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None:
            self._known = _read(self.path)

    def value(self, name: str, compute: Callable[[], Any], *varied: object) -> Any:
        """Return the JSON value of a part, computed unless known; name and `varied` are its key."""
        self.on_cell(name, self._done, max(self.total, self._done + 1))
        self._done += 1
        key = _key(name, varied)
        if key in self._known:
            self.resumed += 1
        else:
            self._known[key] = _computed(compute)
            if self.path is not None:
                self._append(self.path, key, self._known[key])
        part = self._known[key]
        for note in part.notes:
            self._warnings.setdefault(name.rpartition(", draw ")[0] or name, []).append(note)
        return part.value

    @property
    def notes(self) -> list[str]:
        """Warnings about the parts: iterations that did not converge."""
        return [
            f"{name}: {notes[0]}" + (f" (Occurred {len(notes):,} times.)" if len(notes) > 1 else "")
            for name, notes in self._warnings.items()
        ]

    def has(self, name: str, *varied: object) -> bool:
        """Return whether a part is known."""
        return _key(name, varied) in self._known

    def finish(self) -> None:
        """Remove the file: the run is complete."""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _append(self, path: Path, key: str, part: _Part) -> None:
        entry = {"key": key, "value": part.value, "notes": part.notes}
        # The line break comes first, so that a truncated entry does not swallow the next one.
        line = "\n" + json.dumps(entry, ensure_ascii=False)
        try:
            path.parent.mkdir(mode=_OWNER_ONLY | 0o100, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _OWNER_ONLY)
            with os.fdopen(descriptor, "a", encoding="utf-8") as stream:
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:  # go on without a file
            self.path = None


@contextmanager
def resumable_cells(signature: Mapping[str, Any], on_cell: OnCell = quiet) -> Iterator[Cells]:
    """Keep the parts of a run, identified by its signature, until the block ends without error.

    The signature holds JSON values and paths; a path stands for the current state of the file.
    """
    text = json.dumps(signature, sort_keys=True, default=_file_state)
    folder = cache_folder()
    name = f"{digest_of([text.encode()])}.jsonl"
    if folder is not None:
        _remove_expired(folder)
    cells = Cells(None if folder is None else folder / name, on_cell)
    yield cells
    cells.finish()


def cache_folder() -> Path | None:
    """Return the folder of unfinished evaluations; None for a user without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base:
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    return Path(base) / "lpisearch" / "evaluations"


def _computed(compute: Callable[[], Any]) -> _Part:
    from lpisearch.methods.base import NotConverged

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        value = compute()
    notes = [str(one.message) for one in caught if issubclass(one.category, NotConverged)]
    return _Part(value, notes)


def _key(name: str, varied: tuple[object, ...]) -> str:
    return ", ".join(map(str, (name, *varied)))


def _remove_expired(folder: Path) -> None:
    """Remove runs that were never resumed."""
    oldest = time.time() - _EXPIRY_DAYS * 24 * 3600
    with suppress(OSError):
        for path in folder.glob("*.jsonl"):
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)


def _file_state(value: Any) -> Any:
    """Identify the state of a file by its size and time."""
    if not isinstance(value, Path):
        return str(value)
    state: list[object] = [str(value.resolve())]
    with suppress(OSError):
        status = value.stat()
        state += [status.st_size, status.st_mtime_ns]
    return state


def _read(path: Path) -> dict[str, _Part]:
    """Read the saved parts, skipping a truncated line."""
    known: dict[str, _Part] = {}
    with suppress(OSError), path.open("rb") as stream:
        for line in stream:
            with suppress(ValueError, TypeError, KeyError):
                entry = json.loads(line)
                known[entry["key"]] = _Part(entry["value"], entry.get("notes", []))
    return known
