"""Ingest with one and two processes that read, next to a bare insert into FTS5, in one run.

Run `python benchmarks/ingest.py [COLLECTION|FOLDER]`: the folder of a collection (20 Newsgroups, if
none is given), or any with files of yours. FTS5 gets titles and texts as JSON Lines, those of files
as our readers extract them. All run in turn, `ROUNDS` times; printed are the least CPU time of all
processes of each and its least time of the clock. The libraries are compared row by row.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import arguments
from benchmarks.beside import DATA, environment
from benchmarks.peers import peer_command, process

if TYPE_CHECKING:
    from benchmarks.peers import Taken

ROUNDS = 2
WORKERS = (1, 2)
ROWS = (
    "SELECT id, external_id, source_id, position, content_hash, path, metadata FROM documents",
    "SELECT * FROM document_tokens ORDER BY document_id",
    "SELECT * FROM document_traits ORDER BY document_id",
)


def main() -> None:
    """Measure, and print a table."""
    typed = arguments.paths(__doc__, "COLLECTION|FOLDER")
    with tempfile.TemporaryDirectory() as folder:
        print_table(Path(folder), typed[0].resolve() if typed else DATA / "20newsgroups")


def print_table(folder: Path, source: Path) -> None:
    """Ingest a source into new libraries, and insert its documents into FTS5."""
    corpus, packed = folder / "corpus.jsonl", source / "docs.jsonl.gz"
    if packed.exists():
        with gzip.open(packed) as texts, corpus.open("wb") as target:
            shutil.copyfileobj(texts, target)
        source = corpus
    taken: dict[str, list[Taken]] = {}
    digests = set()
    for _ in range(ROUNDS):
        for workers in WORKERS:
            library = folder / f"{workers}.db"
            library.unlink(missing_ok=True)
            command = [*program(library), "ingest", str(source), "--no-index", "--json"]
            done = process([*command, "--workers", str(workers)], environment())
            taken.setdefault(f"{workers} reading", []).append(done)
            digests.add(digest(library))
        if not corpus.exists():
            write_corpus(library, corpus)
        bare = folder / "bare"
        shutil.rmtree(bare, ignore_errors=True)
        bare.mkdir()
        done = process([*peer_command("fts5"), str(corpus), str(bare)], environment())
        taken.setdefault("bare FTS5, porter", []).append(done)
    least = {
        name: (min(one.cpu for one in all_), min(one.seconds for one in all_))
        for name, all_ in taken.items()
    }
    (fts5, _), (_, alone) = least["bare FTS5, porter"], least["1 reading"]
    print("libraries are alike" if len(digests) == 1 else "LIBRARIES DIFFER")
    print("| | CPU s | × FTS5 | s | × as fast as one |\n|---|---:|---:|---:|---:|")
    for name, (cpu, seconds) in least.items():
        print(f"| {name} | {cpu:.2f} | {cpu / fts5:.2f} | {seconds:.2f} | {alone / seconds:.2f} |")


def program(library: Path) -> list[str]:
    """Return the command of the program with a library."""
    return [str(Path(sys.executable).with_name("lpisearch")), "--db", str(library)]


def digest(library: Path) -> bytes:
    """Return a digest of the rows that an ingest writes."""
    found = blake2b()
    with closing(sqlite3.connect(library)) as connection:
        for statement in ROWS:
            for row in connection.execute(statement):
                found.update(repr(row).encode())
    return found.digest()


def write_corpus(library: Path, corpus: Path) -> None:
    """Write the documents of a library as JSON Lines."""
    with closing(sqlite3.connect(library)) as connection, corpus.open("w") as target:
        for title, text in connection.execute("SELECT title, text FROM documents ORDER BY id"):
            target.write(json.dumps({"title": title, "text": text}) + "\n")


if __name__ == "__main__":
    main()
