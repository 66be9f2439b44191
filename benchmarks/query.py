"""The time of a query compared with its unavoidable parts, in one run.

Run `python benchmarks/query.py [cold] [warm] [batch] [million]`; no word runs all. What is
compared runs in turn.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import arguments
from lpisearch.index.build import build_index
from lpisearch.index.postings import Bm25
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.library import Library
from lpisearch.options import IndexOptions, IngestOptions, SearchOptions
from lpisearch.search.engine import Engine
from lpisearch.search.ranking import best
from lpisearch.storage.sqlite.fulltext import match_expression
from lpisearch.text.tokeniser import Tokeniser
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DATA = Path(__file__).parents[2] / "shared" / "data" / "20newsgroups" / "docs.jsonl.gz"
LEAST_IMPORTS = "import numpy, sqlalchemy.orm, typer, rich"
COLD_ROUNDS = 11


def main() -> None:
    """Run the parts that are named, or all."""
    parts: dict[str, Callable[[Path], None]] = {
        "cold": cold,
        "warm": warm,
        "batch": batch,
        "million": million,
    }
    names = arguments.names(__doc__, "PART", parts) or list(parts)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "news.db"
        if set(names) != {"million"}:
            run_ingest(library, [str(DATA)], IngestOptions())
            build_index(library, IndexOptions())
        for name in names:
            print(f"\n{name}")
            parts[name](library)


def cold(library: Path) -> None:
    """Time processes from start to last byte."""
    program = str(Path(sys.executable).with_name("lpisearch"))
    commands = {
        "least": [sys.executable, "-c", LEAST_IMPORTS],
        "query": [program, "--db", str(library), "query", "space shuttle orbit", "--json"],
    }
    first = _process(commands["query"])
    works = {name: partial(_process, command) for name, command in commands.items()}
    times = _in_turn(works, COLD_ROUNDS)
    least, query = (float(np.median(times[name])) for name in commands)
    print(f"  {LEAST_IMPORTS}: {least:.3f} s; first query, comparing checksums: {first:.3f} s")
    _report("lpisearch query / the imports", query / least)
    _report("  first query / the imports", first / least)


def warm(library: Path) -> None:
    """Time 200 queries in an open library, compared with FTS5 and a matrix-vector product."""
    queries = _queries(200)
    engine = Engine(open_index(library))
    vectors = np.array(engine.index.vectors)
    questions = [engine.look_up(Tokeniser().tokens(text)) for text in queries]
    bare = sqlite3.connect(library)
    statement = "SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? ORDER BY rank LIMIT 10"

    def fts5(at: int) -> None:
        tokens = Tokeniser().tokens(queries[at])
        bare.execute(statement, (match_expression([token] for token in tokens),)).fetchall()

    bm25 = Bm25(engine.postings)
    with Library(library) as opened:
        ways: dict[str, Callable[[int], Any]] = {
            "FTS5": fts5,
            "V @ q": lambda at: vectors @ questions[at].vector,
            "BM25 of every document": lambda at: bm25.scores(questions[at]),
        }
        for by in ("hybrid", "semantic", "lexical"):
            ways[by] = partial(_ask, opened, queries, SearchOptions(by=by))
        for way in ways.values():
            way(0)
        times = _in_turn(
            {
                (name, at): partial(_timed, partial(way, at))
                for at in range(len(queries))
                for name, way in ways.items()
            },
            1,
        )
    each = {name: [times[name, at][0] for at in range(len(queries))] for name in ways}
    for name, values in each.items():
        p50, p95 = np.percentile(values, (50, 95)) * 1e3
        print(f"  {name:24} p50 {p50:7.2f} ms   p95 {p95:7.2f} ms")
    floor = float(np.median(each["FTS5"]) + np.median(each["V @ q"]))
    _report("hybrid p50 / (FTS5 + V @ q)", float(np.median(each["hybrid"])) / floor)


def batch(library: Path) -> None:
    """Time 1,000 queries as a batch, compared with one by one."""
    queries = _queries(1000)
    pairs = [(str(at), text) for at, text in enumerate(queries)]
    for by in ("hybrid", "semantic", "lexical"):
        options = SearchOptions(by=by)
        with Library(library) as opened:
            opened.search("space", options=options)
            one_by_one = partial(_ask_all, opened, queries[:200], options)
            single = _timed(one_by_one)
            at_once = _timed(partial(deque, opened.batch(pairs, options=options), maxlen=0))
        _report(f"{by}: queries a second, batch / one by one", single * 5 / at_once)


def million(_library: Path) -> None:
    """Find the ten nearest of a million synthetic vectors."""
    rng = np.random.default_rng(0)
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        array = np.lib.format.open_memmap(
            file.name, mode="w+", dtype=np.float32, shape=(1_000_000, 150)
        )
        for start in range(0, len(array), 100_000):
            array[start : start + 100_000] = rng.standard_normal((100_000, 150), np.float32)
        vectors = np.lib.format.open_memmap(file.name, mode="r").view(np.ndarray)
        questions = rng.standard_normal((30, 150), np.float32)

        def bare(at: int) -> Any:
            return np.argpartition(vectors @ questions[at], -10)[-10:]

        def ours(at: int) -> Any:
            return best(vectors @ questions[at], 10, np.asarray)

        bare(0)
        pairs = {
            (name, at): partial(_timed, partial(way, at))
            for at in range(len(questions))
            for name, way in (("bare", bare), ("ours", ours))
        }
        times = _in_turn(pairs, 1)
    p50 = {
        name: float(np.median([times[name, at][0] for at in range(len(questions))]))
        for name in ("bare", "ours")
    }
    print(f"  V @ q and argpartition: {p50['bare'] * 1e3:.0f} ms")
    _report("semantic p50 / (V @ q and argpartition)", p50["ours"] / p50["bare"])


def _ask(opened: Library, queries: list[str], options: SearchOptions, at: int) -> None:
    opened.search(queries[at], options=options)


def _ask_all(opened: Library, queries: list[str], options: SearchOptions) -> None:
    for text in queries:
        opened.search(text, options=options)


def _queries(number: int) -> list[str]:
    """Return lines of a few words from the documents, the same in every run."""
    rng = np.random.default_rng(0)
    with gzip.open(DATA, "rt", encoding="utf-8") as stream:
        texts = [json.loads(line)["text"] for line in stream]
    queries: list[str] = []
    while len(queries) < number:
        words = texts[int(rng.integers(len(texts)))].split()
        start, length = int(rng.integers(max(len(words), 1))), int(rng.integers(3, 9))
        query = " ".join(word for word in words[start : start + length] if word.isalpha())
        if len(Tokeniser().tokens(query)) >= 2:
            queries.append(query)
    return queries


def _process(command: list[str]) -> float:
    return _timed(lambda: subprocess.run(command, check=True, capture_output=True))


def _timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _in_turn(works: Mapping[Any, Callable[[], float]], rounds: int) -> dict[Any, list[float]]:
    times: dict[Any, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(work())
    return times


def _report(what: str, value: float) -> None:
    print(f"  {what:44}{value:7.2f}", flush=True)


if __name__ == "__main__":
    main()
