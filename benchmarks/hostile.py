"""Time and memory of `ingest` for files designed to be expensive.

Run `python benchmarks/hostile.py`; names after it measure those alone. `--write` puts the table
into docs/hostile-files.md, where rows of other names stay. Each file of `tests/hostile.py`, at its
full size, is ingested into a new library together with an honest note that comes after it.
Processor time is that of all processes together; memory is the largest sum of what they held at
one moment.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.hostile import HOSTILE, write_hostile  # noqa: E402 (the line before finds it)

PAGE = ROOT / "docs" / "hostile-files.md"
BEGIN, END = "<!-- hostile: written by benchmarks/hostile.py -->", "<!-- end of hostile -->"
MOST_SECONDS = 60.0
MOST_BYTES = 1e9
SAMPLE_SECONDS = 0.05
LONGEST_REASON = 110


@dataclass(frozen=True, slots=True)
class Measured:
    """What one file cost, and what became of it."""

    name: str
    file_bytes: int
    seconds: float
    peak_bytes: int
    outcome: str
    well: bool

    @property
    def row(self) -> str:
        """The line of a table."""
        sign = "" if self.well else " **over**"
        size = self.file_bytes / 1e6
        return (
            f"| `{self.name}` | {HOSTILE[self.name].what} | {size:.2f} | {self.seconds:.1f} "
            f"| {self.peak_bytes / 1e6:.0f}{sign} | {self.outcome} |"
        )


def main() -> None:
    """Measure each file, print a table, and fail if one is beyond what is promised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=sorted(HOSTILE), metavar="NAME")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    arguments = parser.parse_args()
    rows = ["| file | what is in it | MB | processor s | peak MB | what became of it |"]
    rows.append("|---|---|---:|---:|---:|---|")
    print("\n".join(rows), flush=True)
    all_well = True
    for name in arguments.names:
        with tempfile.TemporaryDirectory(prefix="lpisearch-hostile-") as folder:
            measured = measure(name, Path(folder))
        rows.append(measured.row)
        all_well = all_well and measured.well
        print(measured.row, flush=True)
    if arguments.write:
        write(rows)
    if not all_well:
        sys.exit("Some file costs more than is promised, or is not named.")


def measure(name: str, folder: Path) -> Measured:
    """Ingest one hostile file and an honest one, in a process of its own."""
    documents = folder / "documents"
    documents.mkdir()
    path = write_hostile(name, documents)
    (documents / "zz.txt").write_text("An honest note, read after the hostile file.\n")
    command = [sys.executable, "-m", "lpisearch", "--db", str(folder / "library.db")]
    before = processor_seconds()
    with subprocess.Popen(
        [*command, "ingest", str(documents), "--json"], stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        tree = Tree(process.pid)
        output, _ = process.communicate()
        peak = tree.stop()
    seconds = processor_seconds() - before
    report = json.loads(output) if process.returncode == 0 else {}
    named = [each for each in report.get("failures", []) if each["path"] == str(path)]
    documents_of_it = report.get("added", 0) - 1  # the honest note is one
    well = (
        process.returncode == 0
        and seconds <= MOST_SECONDS
        and peak <= MOST_BYTES
        and documents_of_it >= 0
        and (bool(named) or documents_of_it > 0)
    )
    outcome = told(documents_of_it, named, report.get("failed", 0))
    return Measured(name, path.stat().st_size, seconds, peak, outcome, well)


def told(documents: int, named: list[dict[str, str]], failed: int) -> str:
    """Say what became of a file: its documents, its failures, and the last of them."""
    parts = [f"{documents:,} documents"] if documents != 1 else ["1 document"]
    if named:
        reason = named[-1]["reason"][:LONGEST_REASON].replace("|", "\\|")
        parts.append(f"{failed:,} failed: {reason}")
    return "; ".join(parts)


def processor_seconds() -> float:
    """Return the time of all processes that have ended so far, with theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Tree:
    """Watches what a process and its children hold, until told to stop."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """Return the largest sum that was seen."""
        self._done.set()
        self._thread.join()
        return self._peak

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self._peak = max(self._peak, held_bytes(self._pid))


def held_bytes(pid: int) -> int:
    """Return the resident memory of a process and all below it."""
    page = os.sysconf("SC_PAGE_SIZE")
    try:
        own = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = {int(each) for task in tasks for each in (task / "children").read_text().split()}
    except OSError:  # it has just ended
        return 0
    return own + sum(map(held_bytes, children))


def write(table: list[str]) -> None:
    """Put the table between its marks; rows of files that were not measured now stay."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    before, _, tail = rest.partition(END)
    known = {_name(row): row for row in (*before.splitlines()[3:], *table[2:])}
    rows = "\n".join([*table[:2], *(known[name] for name in sorted(known) if name in HOSTILE)])
    PAGE.write_text(f"{head}{BEGIN}\n{rows}\n{END}{tail}", encoding="utf-8")


def _name(row: str) -> str:
    return row.split("`")[1]


if __name__ == "__main__":
    main()
