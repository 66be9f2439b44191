"""Ingest compared with a bare FTS5 insert, a second run over 20,000 files, memory for 1 GB.

Run `python benchmarks/ingest.py`; `--quick` leaves out the 1 GB stream. Times of one run are
compared with each other: only ratios are meaningful.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IngestOptions

if TYPE_CHECKING:
    from collections.abc import Callable

COLLECTION = Path(__file__).parents[2] / "shared/data/20newsgroups/docs.jsonl.gz"
ROUNDS = 3
FILES = 20_000
LARGE_BYTES = 1_000_000_000


def main() -> None:
    """Measure and print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the 1 GB stream")
    arguments = parser.parse_args()
    if not COLLECTION.exists():
        sys.exit(f"This benchmark needs {COLLECTION}.")
    with tempfile.TemporaryDirectory() as folder:
        beside_fts5(Path(folder))
        second_run(Path(folder))
        if not arguments.quick:
            large_stream(Path(folder))


def beside_fts5(folder: Path) -> None:
    """Compare with `executemany` of the same texts into an FTS5 table with the porter tokenizer."""
    with gzip.open(COLLECTION, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    texts = [(record["title"], record["text"]) for record in records]
    bare, ours = [], []
    for number in range(ROUNDS):
        bare.append(seconds(insert_bare, folder / f"bare{number}.db", texts))
        ours.append(seconds(ingest, folder / f"ours{number}.db", COLLECTION))
    ratio = min(ours) / min(bare)
    print(f"20 Newsgroups, {len(texts):,} documents, 36 MB, best of {ROUNDS} alternating runs")
    print(f"  bare FTS5 insert, porter   {min(bare):6.2f} s    1.00")
    print(f"  lpisearch ingest           {min(ours):6.2f} s  {ratio:6.2f}")
    again = seconds(ingest, folder / "ours0.db", COLLECTION)
    print(f"  lpisearch ingest again     {again:6.2f} s  {again / min(bare):6.2f}")


def insert_bare(path: Path, texts: list[tuple[str, str]]) -> None:
    """Insert texts as simply as SQLite allows."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(title, text, tokenize='porter')")
        connection.executemany("INSERT INTO t VALUES (?, ?)", texts)
        connection.commit()


def second_run(folder: Path) -> None:
    """Ingest many small files twice, compared with a bare walk over them."""
    files = folder / "files"
    for number in range(FILES):
        path = files / f"{number // 1000:02}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Note {number}\n\nA short note about the matter of number {number}.\n")
    library = folder / "files.db"
    first = seconds(ingest, library, files)
    again = min(seconds(ingest, library, files) for _ in range(ROUNDS))
    walk = min(seconds(bare_walk, files) for _ in range(ROUNDS))
    print(f"{FILES:,} small files")
    print(f"  bare walk with stat        {walk:6.2f} s    1.00")
    print(f"  lpisearch ingest           {first:6.2f} s  {first / walk:6.2f}")
    print(f"  lpisearch ingest again     {again:6.2f} s  {again / walk:6.2f}")


def bare_walk(folder: Path) -> int:
    """Look at the size of every file."""
    return sum(
        os.stat(os.path.join(root, name)).st_size  # noqa: PTH116, PTH118 (the barest way)
        for root, _, names in os.walk(folder)
        for name in names
    )


def large_stream(folder: Path) -> None:
    """Ingest a JSON Lines file of 1 GB in a process of its own, and print its peak memory."""
    large = folder / "large.jsonl"
    write_large(large)
    begun = time.perf_counter()
    command = [sys.executable, "-m", "lpisearch", "--db", str(folder / "large.db"), "ingest"]
    subprocess.run([*command, str(large), "--json"], check=True, stdout=subprocess.DEVNULL)
    elapsed = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    rate = large.stat().st_size / 1e6 / elapsed
    print(f"One JSON Lines file of {large.stat().st_size / 1e9:.2f} GB")
    print(f"  {elapsed:.0f} s, {rate:.1f} MB/s, peak RSS {peak:.0f} MB")


def write_large(path: Path) -> None:
    """Repeat the collection under new ids until the file is large enough."""
    with gzip.open(COLLECTION, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    written, round_number = 0, 0
    with path.open("w", encoding="utf-8") as stream:
        while written < LARGE_BYTES:
            for record in records:
                renamed = record | {"id": f"{round_number}/{record['id']}"}
                written += stream.write(json.dumps(renamed) + "\n")
            round_number += 1


def ingest(library: Path, source: Path) -> None:
    """Ingest one path, and insist that nothing failed."""
    report = run_ingest(library, [str(source)], IngestOptions())
    if report.failed:
        sys.exit(f"Could not ingest: {report.failures[:3]}")


def seconds(action: Callable[..., object], *values: object) -> float:
    """Return how long an action takes."""
    begun = time.perf_counter()
    action(*values)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
