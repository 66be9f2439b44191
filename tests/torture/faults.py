"""Errors of the system at every call that writes, and disks that are full: stated, nothing lost."""

import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.torture.kills import injected, scene
from tests.torture.scene import forked, judged, shuffled, state, tried

_DISK = "8m"
_PIECE = 4096


def io_errors(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Let one call that writes fail with an input or output error."""
    return injected("error=EIO", tries, seed, until)


def full_disks(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Run each verb on a small disk that has a chance number of bytes left."""
    chance = random.Random(seed)  # noqa: S311 (sizes, not secrets)
    with scene() as made, _disk(made.folder / "tried"):
        counts: dict[str, Counter[str]] = {name: Counter() for name in made.verbs}
        afters = {name: made.after(name) for name in made.verbs}
        before = state(made.folder / "library.db")
        for _ in range(tries):
            if time.monotonic() > until:
                break
            name = shuffled(made.verbs, chance)[0]
            library = _copied(made.folder, made.folder / "tried")
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
def _disk(place: Path) -> Iterator[None]:
    place.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(place)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield
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
