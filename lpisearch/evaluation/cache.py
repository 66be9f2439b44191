"""Finished cells of a long evaluation.

A run can be interrupted at any moment, by Ctrl-C or by a kill: the same command goes on where it
was. The file lies in the user's cache folder and is removed when the run is complete, so that a
second run measures anew.
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


_KEPT_DAYS = 30
_FOR_ME_ALONE = 0o600  # they tell of a library, which may be


class _Part(NamedTuple):
    value: Any
    notes: list[str]


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _FOR_ME_ALONE)


def quiet(_name: str, _done: int, _total: int) -> None:
    """Say nothing of the parts."""


@dataclass(slots=True)
class Cells:
    """Values by key; each is computed once, and written down at once.

    Attributes
    ----------
    path
        Where they are kept; None keeps them in memory alone.
    on_cell
        Called with the name of a part as it begins, how many are done, and how many there are.
    total
        How many parts there will be, as far as is known.
    found
        How many were there already.
    """

    path: Path | None = None
    on_cell: OnCell = quiet
    total: int = 0
    found: int = 0
    _known: dict[str, _Part] = field(default_factory=dict)
    _done: int = 0
    _said: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None:
            self._known = _read(self.path)

    def value(self, name: str, compute: Callable[[], Any], *varied: object) -> Any:
        """Return the value of a part: from the file, or computed now and kept.

        Parameters
        ----------
        name
            Of the part, for people.
        compute
            Gives a JSON value.
        varied
            What else tells it from other parts of the run.
        """
        self.on_cell(name, self._done, max(self.total, self._done + 1))
        self._done += 1
        key = _key(name, varied)
        if key in self._known:
            self.found += 1
        else:
            self._known[key] = _computed(compute)
            if self.path is not None:
                self._append(self.path, key, self._known[key])
        part = self._known[key]
        for note in part.notes:
            self._said.setdefault(name.rpartition(", draw ")[0] or name, []).append(note)
        return part.value

    @property
    def notes(self) -> list[str]:
        """What was to be known of the parts: iterations that ended too early."""
        return [
            f"{name}: {notes[0]}" + (f" (Occurred {len(notes):,} times.)" if len(notes) > 1 else "")
            for name, notes in self._said.items()
        ]

    def has(self, name: str, *varied: object) -> bool:
        """Tell whether a part need not be computed."""
        return _key(name, varied) in self._known

    def finish(self) -> None:
        """Forget the parts: the whole is done."""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _append(self, path: Path, key: str, part: _Part) -> None:
        entry = {"key": key, "value": part.value, "notes": part.notes}
        # The line break comes first: what a kill cut short must not swallow the next entry.
        line = "\n" + json.dumps(entry, ensure_ascii=False)
        try:
            path.parent.mkdir(mode=_FOR_ME_ALONE | 0o100, parents=True, exist_ok=True)
            with os.fdopen(_opened(path), "a", encoding="utf-8") as stream:
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:  # the evaluation is worth more than its resumption
            self.path = None


@contextmanager
def kept_cells(signature: Mapping[str, Any], on_cell: OnCell = quiet) -> Iterator[Cells]:
    """Keep the parts of one run, told from others by what it depends on.

    Parameters
    ----------
    signature
        JSON values and paths; a path stands for the file as it is now.
    on_cell
        See `Cells`.

    Notes
    -----
    When the block ends without an error, the parts are forgotten.
    """
    text = json.dumps(signature, sort_keys=True, default=_file_state)
    folder = cache_folder()
    name = f"{digest_of([text.encode()])}.jsonl"
    if folder is not None:
        _forget_old(folder)
    cells = Cells(None if folder is None else folder / name, on_cell)
    yield cells
    cells.finish()


def cache_folder() -> Path | None:
    """Return where unfinished evaluations are kept; None for a user without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base:
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    return Path(base) / "lpisearch" / "evaluations"


def _computed(compute: Callable[[], Any]) -> _Part:
    from lpisearch.methods.base import NotConverged

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", NotConverged)
        value = compute()
    notes = [str(each.message) for each in said if issubclass(each.category, NotConverged)]
    return _Part(value, notes)


def _key(name: str, varied: tuple[object, ...]) -> str:
    return ", ".join(map(str, (name, *varied)))


def _forget_old(folder: Path) -> None:
    """Remove what nobody went on with: its documents or options are no more."""
    oldest = time.time() - _KEPT_DAYS * 24 * 3600
    with suppress(OSError):
        for path in folder.glob("*.jsonl"):
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)


def _file_state(value: Any) -> Any:
    """Tell a file from what it was, by size and time."""
    if not isinstance(value, Path):
        return str(value)
    found: list[object] = [str(value.resolve())]
    with suppress(OSError):
        stated = value.stat()
        found += [stated.st_size, stated.st_mtime_ns]
    return found


def _read(path: Path) -> dict[str, _Part]:
    """Read what is there; a last line that was cut short by a kill is passed over."""
    known: dict[str, _Part] = {}
    with suppress(OSError), path.open("rb") as stream:
        for line in stream:
            with suppress(ValueError, TypeError, KeyError):
                entry = json.loads(line)
                known[entry["key"]] = _Part(entry["value"], entry.get("notes", []))
    return known
