"""Measure SQLite and PostgreSQL side by side: ingest, second run, filters, phrases, 8 writers.

`python benchmarks/stores.py [--documents 4000] [--rounds 3]` starts a server of PostgreSQL from
what the machine has (`initdb`, `pg_ctl`), in a temporary folder, with its usual care for the disk.
Both stores do the same in turn, round by round, so that what else the machine does meets both; the
table has the median of each, in processor seconds of all programs that take part, the server too,
and that of their ratios.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from lpisearch.ingest.ingesting import run_ingest
from lpisearch.library import Library
from lpisearch.records import Filter
from lpisearch.settings import IngestOptions, SearchOptions
from tests.servers import Server, programs_of, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.places import Address, Place

_WRITERS = 8
_VOCABULARY = 30_000
_WORDS = 150
_QUESTIONS = 30
_WAIT = IngestOptions(wait_seconds=600.0)


def make_corpus(folder: Path, documents: int) -> list[Path]:
    """Write text files of words as frequent as in a language, in a folder for each writer."""
    chance = random.Random(7)  # noqa: S311 (texts, not secrets)
    weights = [1 / (rank + 5) for rank in range(_VOCABULARY)]
    words = [_word(number) for number in range(_VOCABULARY)]
    roots = [folder / f"writer{number}" for number in range(_WRITERS)]
    for number in range(documents):
        root = roots[number % _WRITERS] / f"topic{number % 10}"
        root.mkdir(parents=True, exist_ok=True)
        text = " ".join(chance.choices(words, weights, k=_WORDS))
        (root / f"{number}.txt").write_text(text, encoding="utf-8")
    return roots


def _word(number: int) -> str:
    parts = [number >> shift for shift in (0, 4, 8, 12)]
    return "".join("bcdfghklmnprstvz"[part & 15] + "aeiou"[part % 5] for part in parts)


@contextmanager
def timed(times: list[float], spent: Callable[[], float]) -> Iterator[None]:
    """Add the processor seconds that a block takes, of this program and of the server."""
    begun = spent()
    yield
    times.append(spent() - begun)


def processor_time(server: Server | None) -> Callable[[], float]:
    """Return a clock of the processor time of this process, its children and a server."""

    def spent() -> float:
        mine = os.times()
        total = mine.user + mine.system + mine.children_user + mine.children_system
        if server is None:
            return total
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text("ascii")
        family = (str(server.pid), *children.split())
        return total + sum(map(_ticks, family)) / os.sysconf("SC_CLK_TCK")

    return spent


def _ticks(pid: str) -> int:
    """Return the ticks of a process and of those that it has outlived."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(map(int, fields[11:15]))


def ask(library: Library, wanted: SearchOptions, text: str = "baba") -> None:
    """Ask by words alone, some times."""
    for _ in range(_QUESTIONS):
        library.search(text, options=wanted)


def write(place: Place, root: Path) -> None:
    """Ingest one folder, in a process of its own."""
    run_ingest(place, [str(root)], _WAIT)


def measure(
    new_place: Callable[[], Place],
    corpus: Path,
    found: dict[str, list[float]],
    spent: Callable[[], float],
) -> None:
    """Do everything once."""
    place = new_place()
    with Library(place) as library:
        with timed(found["ingest"], spent):
            library.ingest(corpus, labels="folder")
        with timed(found["second run, nothing changed"], spent):
            library.ingest(corpus, labels="folder")
        lexical = SearchOptions(by="lexical")
        with timed(found[f"{_QUESTIONS} questions by words"], spent):
            ask(library, lexical)
        with timed(found[f"{_QUESTIONS} with a label"], spent):
            ask(library, SearchOptions(by="lexical", where=Filter(labels=("writer3",))))
        with timed(found[f"{_QUESTIONS} below a path"], spent):
            ask(library, SearchOptions(by="lexical", where=Filter(path="writer3/*")))
        with timed(found[f"{_QUESTIONS} phrases"], spent):
            ask(library, lexical, '"baba caca"')
        with timed(found["doctor"], spent):
            assert all(finding.ok for finding in library.examine())  # noqa: S101 (of a benchmark)
    place = new_place()
    with Library(place) as library, timed(found[f"{_WRITERS} writers at once"], spent):
        context = multiprocessing.get_context("spawn")
        writers = [context.Process(target=write, args=(place, root)) for root in corpus.iterdir()]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert len(library) == sum(1 for path in corpus.rglob("*.txt"))  # noqa: S101


def addresses(server: Server) -> Iterator[Address]:
    """Yield addresses of new databases."""
    number = 0
    while True:
        number += 1
        server.run(f"CREATE DATABASE library{number}")
        yield server.address(f"library{number}")


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    both: dict[str, dict[str, list[float]]] = {"SQLite": {}, "PostgreSQL": {}}
    for found in both.values():
        found.update({name: [] for name in _names()})
    with tempfile.TemporaryDirectory() as named, running(programs_of(), durable=True) as server:
        folder = Path(named)
        corpus = folder / "corpus"
        make_corpus(corpus, asked.documents)
        files = (folder / f"{number}.db" for number in range(1000))
        places = addresses(server)
        for _ in range(asked.rounds):
            measure(lambda: next(files), corpus, both["SQLite"], processor_time(None))
            measure(lambda: next(places), corpus, both["PostgreSQL"], processor_time(server))
        version = server.run("SHOW server_version")[0][0]
    print_table(both, asked.documents, version)


def _names() -> list[str]:
    return [
        "ingest",
        "second run, nothing changed",
        f"{_QUESTIONS} questions by words",
        f"{_QUESTIONS} with a label",
        f"{_QUESTIONS} below a path",
        f"{_QUESTIONS} phrases",
        "doctor",
        f"{_WRITERS} writers at once",
    ]


def print_table(both: dict[str, dict[str, list[float]]], documents: int, version: Any) -> None:
    """Print medians in seconds, and the median of the ratios of each round."""
    print(f"{documents:,} documents of {_WORDS} words; PostgreSQL {version}\n")
    print("| | SQLite (s) | PostgreSQL (s) | ratio |\n|---|---:|---:|---:|")
    for name in _names():
        file, server = both["SQLite"][name], both["PostgreSQL"][name]
        ratio = statistics.median(b / a for a, b in zip(file, server, strict=True))
        print(
            f"| {name} | {statistics.median(file):.2f} | {statistics.median(server):.2f} "
            f"| {ratio:.1f} × |"
        )


if __name__ == "__main__":
    main()
