"""Errors of the system at every call that writes, and disks that are full: stated, nothing lost."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Self

import lpisearch
from tests.torture.kills import injected, over, scene
from tests.torture.scene import forked, judged, shuffled, state, tried

_DISK = "8m"
_PIECE = 4096


def io_errors(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Let one call that writes fail with an input or output error."""
    return injected("error=EIO", tries, seed, until)


def no_locks(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Let one call that locks fail, as on a file system of another machine."""
    return injected("error=ENOLCK", tries, seed, until, "fcntl,flock")


def clocks(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Run each verb with another time, on files of other times; what comes of it is the same."""
    chance = random.Random(seed)  # noqa: S311 (times, not secrets)
    now = time.time()
    shifts = (1.0, -1.0, 3600.0, -3600.0, -86400.0 * 400, 86400.0 * 400, -now, -now - 1e9, 5e9)

    def shifted(_name: str, work: Callable[[], object]) -> int:
        shift = chance.choice(shifts)
        at = max(0.0, now + chance.choice(shifts))
        return os.waitpid(forked(partial(_at_another_time, shift, at, work)), 0)[1]

    with scene() as made:
        return over(made, tries, chance, until, shifted)


def _at_another_time(shift: float, of_files: float, work: Callable[[], object]) -> object:
    """Do some work in this process, whose clock is set."""
    true_time, true_ns = time.time, time.time_ns

    class Moment(datetime):
        """The time as it is here."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(0, tz) + timedelta(seconds=true_time() + shift)

    for module in [each for name, each in sys.modules.items() if name.startswith("lpisearch")]:
        if getattr(module, "datetime", None) is datetime:
            module.datetime = Moment  # type: ignore[attr-defined]
    time.time = lambda: true_time() + shift
    time.time_ns = lambda: true_ns() + int(shift * 1e9)
    library = work.args[1] if isinstance(work, partial) else None
    for path in library.parent.rglob("*") if isinstance(library, Path) else ():
        os.utime(path, (of_files, of_files))
    return work()


def read_only_disks(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Run each verb on a disk that takes nothing: stated, all is there, and it is found."""
    chance = random.Random(seed)  # noqa: S311 (verbs, not secrets)
    with scene() as made:
        counts: dict[str, Counter[str]] = {name: Counter() for name in made.verbs}
        before = state(made.folder / "library.db")
        for _ in range(tries):
            if time.monotonic() > until:
                break
            name = shuffled(made.verbs, chance)[0]
            with _disk(made.folder / "tried") as place:  # a new one: nobody has a file of it open
                library = _copied(made.folder, place)
                subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
                status = os.WEXITSTATUS(os.waitpid(forked(tried(made.verbs[name], library)), 0)[1])
                outcome = {0: "done", 3: "stated"}.get(status, "unstated")
                if state(library) != before:
                    outcome = "lost"
                with lpisearch.open(library) as opened:
                    if not opened.search("ship").hits:
                        outcome = "wrong"
            counts[name][outcome] += 1
    return counts


def full_disks(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Run each verb on a small disk that has a chance number of bytes left."""
    chance = random.Random(seed)  # noqa: S311 (sizes, not secrets)
    with scene() as made, _disk(made.folder / "tried") as place:
        counts: dict[str, Counter[str]] = {name: Counter() for name in made.verbs}
        afters = {name: made.after(name) for name in made.verbs}
        before = state(made.folder / "library.db")
        for _ in range(tries):
            if time.monotonic() > until:
                break
            name = shuffled(made.verbs, chance)[0]
            library = _copied(made.folder, place)
            filler = library.with_name("filler")
            left = chance.choice([0, chance.randrange(1 << 14), chance.randrange(1 << 20)])
            _fill(filler, left)
            status = os.waitpid(forked(tried(made.verbs[name], library)), 0)[1]
            filler.unlink()
            outcome = judged(library, before, afters[name], made.verbs[name])
            if outcome == "kept":
                outcome = {0: "done", 3: "stated"}.get(os.WEXITSTATUS(status), "unstated")
            counts[name][outcome.split(":")[0]] += 1
            if ":" in outcome:
                print(f"{name}: {outcome}")  # noqa: T201 (a person watches)
    return counts


def can_mount(folder: Path) -> bool:
    """Tell whether this user may mount a disk."""
    try:
        with _disk(folder):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextmanager
def _disk(place: Path) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(place)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def _copied(source: Path, place: Path) -> Path:
    for path in place.iterdir():
        subprocess.run(["rm", "-rf", str(path)], check=True)
    for name in ("library.db", "library.index"):
        subprocess.run(["cp", "-r", str(source / name), str(place)], check=True)
    return place / "library.db"


def _fill(filler: Path, leave: int) -> None:
    with suppress(OSError), filler.open("wb", buffering=0) as stream:
        while stream.write(bytes(_PIECE)):
            pass
    with filler.open("r+b") as stream:
        stream.truncate(max(filler.stat().st_size - leave, 0))
