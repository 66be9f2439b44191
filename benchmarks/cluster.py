"""Compare a build by processes with one by threads: cost, and messages between processes.

`python benchmarks/cluster.py [--documents 100000] [--workers 2] [--rounds 1] [--write PAGE]` makes
a library (`benchmarks/scale_corpus.py`) and indexes it by threads and by `--workers` in turn,
each in a process of its own. Processor time is that of all processes that take part, as the system
counts it. Bytes are those that the build itself counts by step, compared with what the
network of the machine carried in all, where the build may have one of its own (`unshare -n`). Both
indexes are compared to the bit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.scale_corpus import write_corpus

_PROGRAM = [sys.executable, "-m", "lpisearch"]
_BEGIN = "<!-- cluster: written by benchmarks/cluster.py -->"
_END = "<!-- end of cluster -->"
# A network of its own, and what it carried, into the file that is named first.
_ALONE = ["sh", "-c", 'ip link set lo up && "$@" && cat /proc/net/dev > "$0"']


class Build(NamedTuple):
    """One build, as it was measured."""

    wall: float  # wall, processor: seconds: by the clock, and of all processes
    processor: float
    report: dict[str, Any]  # what `index --json` says
    # bytes that the network of the machine carried meanwhile; None if it was not counted
    carried: int | None


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--write", type=Path, help="a page whose marked part is written anew")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        library = make_library(Path(name), arguments.documents)
        threads, processes = [], []
        for _ in range(arguments.rounds):
            threads.append(build(library))
            expected = arrays_of(threads[-1])
            processes.append(build(library, arguments.workers))
            compare(arrays_of(processes[-1]), expected)
    text = table(threads, processes, arguments.workers)
    print(text)
    if arguments.write:
        command = f"python benchmarks/cluster.py --documents {arguments.documents}"
        said = f"`{command} --workers {arguments.workers}`\n\n{text}"
        write_between(arguments.write, said, _BEGIN, _END)


def make_library(folder: Path, documents: int) -> Path:
    """Ingest a corpus of so many documents."""
    corpus, library = folder / "corpus.jsonl", folder / "library.db"
    write_corpus(corpus, documents)
    words = ["--db", str(library), "ingest", str(corpus), "--json"]
    subprocess.run([*_PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)
    corpus.unlink()
    return library


def build(library: Path, workers: int = 0) -> Build:
    """Index a library, in files, by threads or by processes."""
    shutil.rmtree(library.with_suffix(".index"), ignore_errors=True)
    words = ["--db", str(library), "index", "--train", "none", "--json"]
    words += ["--workers", str(workers)] if workers else []
    carried = library.with_name("carried")
    carried.write_text("")
    alone = [*_unshare(), *_ALONE, str(carried)] if workers and _unshare() else []
    begun, before = time.monotonic(), _children()
    said = subprocess.run([*alone, *_PROGRAM, *words], check=True, capture_output=True).stdout
    wall, processor = time.monotonic() - begun, _children() - before
    return Build(wall, processor, json.loads(said), _loopback(carried.read_text()))


def _children() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def _unshare() -> list[str]:
    """Return what gives a program a network of its own; nothing where that is not allowed."""
    found = shutil.which("unshare")
    if not found or not shutil.which("ip"):
        return []
    tried = subprocess.run([found, "-n", "true"], check=False, capture_output=True)
    return [found, "-n"] if tried.returncode == 0 else []


def _loopback(table: str) -> int | None:
    """Return the bytes that the loopback device has received, as the system counts them."""
    for line in table.splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    return None


def arrays_of(build: Build) -> dict[str, str]:
    """Return a digest of each array of an index."""
    from lpisearch.index.format import file_digest

    return {path.stem: file_digest(path) for path in Path(build.report["folder"]).glob("*.npy")}


def compare(found: dict[str, str], expected: dict[str, str]) -> None:
    """End with an error where two indexes differ."""
    differ = [name for name in found.keys() | expected if found.get(name) != expected.get(name)]
    if differ:
        raise SystemExit(f"The indexes differ: {', '.join(sorted(differ))}.")


def table(threads: list[Build], processes: list[Build], workers: int) -> str:
    """Return what was measured as Markdown."""
    rows = [("wall time, s", "wall"), ("CPU time of all processes, s", "processor")]
    lines = [
        f"| {threads[0].report['documents']:,} documents | threads | {workers} processes | ratio |"
    ]
    lines.append("| :--- | ---: | ---: | ---: |")
    for title, field in rows:
        one, other = ([getattr(each, field) for each in some] for some in (threads, processes))
        ratio = statistics.median(b / a for a, b in zip(one, other, strict=True))
        middle = [statistics.median(some) for some in (one, other)]
        lines.append(f"| {title} | {middle[0]:.1f} | {middle[1]:.1f} | {ratio:.2f} |")
    peaks = [max(each.report["peak_mb"] for each in some) for some in (threads, processes)]
    lines.append(
        f"| peak memory of this process, MB | {peaks[0]:,.0f} | {peaks[1]:,.0f} | "
        f"{peaks[1] / peaks[0]:.2f} |"
    )
    lines += ["", "All arrays of both indexes are bit-identical.", ""]
    return "\n".join(lines + _wire(processes[-1], threads[-1]))


def _wire(build: Build, beside: Build) -> list[str]:
    """Return the bytes of each step."""
    columns = "parts | sent, MB | shared, MB | received, MB"
    lines = [f"| step | CPU s: threads | processes | {columns} |"]
    lines.append("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
    total = np.zeros(3)
    one, other = (each.report["processor_seconds"] for each in (beside, build))
    for name in one:
        each = build.report["wire"].get(name)
        moved = "| | | |"
        if each:
            sizes = np.array([each[kind] for kind in ("sent", "shared", "received")]) / 1e6
            total += sizes
            moved = f"{each['parts']} | " + " | ".join(f"{size:,.2f}" for size in sizes) + " |"
        lines.append(f"| {name} | {one[name]:.2f} | {other.get(name, 0):.2f} | {moved}")
    lines.append("| together | | | | " + " | ".join(f"{size:,.2f}" for size in total) + " |")
    if build.carried is not None:
        said = f"The network of the machine carried {build.carried / 1e6:,.1f} MB in all"
        lines += ["", f"{said}: messages through the scheduler pass twice, encrypted."]
    return lines


def write_between(page: Path, text: str, begin: str, end: str) -> None:
    """Put a text into a page, between two marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
