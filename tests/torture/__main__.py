"""`make torture`: faults of every kind, in numbers; the table says how often and what came of it.

`python -m tests.torture --tries 100 --minutes 30 --seed 7 --part kills` bounds it. A part that
this system does not allow (no strace, no right to mount) is named and left out.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.torture import (
    beside,
    database,
    faults,
    fuzz,
    hostile,
    index_flips,
    kills,
    server,
    shared,
    structures,
)
from tests.torture.scene import FAILURES

Run = Callable[[int, int, float], dict[str, Counter[str]]]

_AT_ONCE = 5


def damaged_databases(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Damage databases, a few at a time, so that the time can be kept."""
    counts: dict[str, Counter[str]] = {}
    for start in range(0, tries, _AT_ONCE):
        if time.monotonic() > until:
            break
        some = database.run(min(_AT_ONCE, tries - start), seed + start)
        for kind, found in some.items():
            counts.setdefault(kind, Counter()).update(found)
    return counts


PARTS: dict[str, Run] = {
    "kills": kills.at_random,
    "kills at writes": kills.at_writes,
    "I/O errors": faults.io_errors,
    "full disks": faults.full_disks,
    "read-only disks": faults.read_only_disks,
    "no locks": faults.no_locks,
    "clocks": faults.clocks,
    "index": index_flips.run,
    "database": damaged_databases,
    "readers": fuzz.run,
    "structures": structures.run,
    "beside a writer": beside.run,
    "a server of a stranger": hostile.server,
    "a library of a stranger": hostile.library,
    "a database of a stranger": shared.strangers,
    "writers in a database": shared.writers,
    "server": server.run,
}


def missing(part: str) -> str:
    """Say what this system lacks for a part, or ""."""
    if part in {"kills at writes", "I/O errors", "no locks"} and not kills.can_trace():
        return "strace may not look into processes here"
    if part in {"full disks", "read-only disks"}:
        with tempfile.TemporaryDirectory() as folder:
            return "" if faults.can_mount(Path(folder) / "disk") else "only root may mount a disk"
    if part.endswith("a database") or part.startswith("a database"):
        return "" if shared.has_server() else "there is no PostgreSQL (initdb)"
    return ""


def main() -> None:
    """Run the parts that were asked for, and print a line for each kind of fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=100, help="of each part (of each reader)")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each part at most")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 16))
    parser.add_argument("--part", action="append", choices=list(PARTS), default=[])
    asked = parser.parse_args()
    sys.stdout.write(f"seed {asked.seed}\n")
    failed = 0
    for part in asked.part or PARTS:
        if reason := missing(part):
            sys.stdout.write(f"{part}\tleft out: {reason}\n")
            continue
        until = time.monotonic() + asked.minutes * 60
        for kind, found in PARTS[part](asked.tries, asked.seed, until).items():
            wrong = sum(found[name] for name in FAILURES)
            failed += wrong
            told = json.dumps(dict(sorted(found.items())))
            sys.stdout.write(f"{part}\t{kind}\t{found.total()} tries\t{wrong} failures\t{told}\n")
            sys.stdout.flush()
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
