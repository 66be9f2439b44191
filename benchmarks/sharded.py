"""Shards beside the library that they were made from: whether ranks are the same, and the cost.

    python benchmarks/sharded.py --sets cranfield,cisi --shards 4

Both answer all judged queries of each set in this process. Printed are the average precision of
both, for how many queries the first 100 documents are the same ones in the same order, the largest
difference of any of their scores, and the processor time of a search by the shards by that of the
whole.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import lpisearch
from lpisearch import SearchOptions
from lpisearch.evaluation import parse_measures, score_run
from lpisearch.readers.queries import read_queries

if TYPE_CHECKING:
    from lpisearch import Library
    from lpisearch.records import Run

DATA = Path(__file__).parents[2] / "shared" / "data"
FIRST = 100
TIMED = 40


def _judged(folder: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split("\t")
        if int(grade) > 0:
            judged[query][document] = int(grade)
    return judged


def _answers(library: Library, queries: list[tuple[str, str]], by: str) -> tuple[list[Run], float]:
    """Answer all queries; return also the processor time of searching for some of them."""
    options = SearchOptions(by=by, k=1000)
    runs = list(library.batch(queries, options=options, on_note=lambda _note: None))
    library.search(queries[0][1], by=by)
    begun = time.process_time()
    for _, text in queries[:TIMED]:
        library.search(text, by=by)
    return runs, time.process_time() - begun


def _compare(name: str, shards: int) -> None:
    folder, judged = DATA / name, _judged(DATA / name)
    queries = [query for query in read_queries(folder / "queries.jsonl.gz") if query[0] in judged]
    with (
        tempfile.TemporaryDirectory() as scratch,
        lpisearch.open(Path(scratch) / "whole.db") as whole,
    ):
        whole.ingest(folder / "docs.jsonl.gz")
        whole.index()
        whole.split(Path(scratch) / "parts", shards)
        with lpisearch.open(Path(scratch) / "parts") as parts:
            for by in ("hybrid", "semantic", "lexical"):
                _print(name, by, judged, _answers(whole, queries, by), _answers(parts, queries, by))


def _print(
    name: str,
    by: str,
    judged: dict[str, dict[str, int]],
    *both: tuple[list[Run], float],
) -> None:
    (one, seconds), (other, longer) = both
    precision = [
        fmean(score_run(dict(runs), judged, parse_measures(["AP"]))["AP"].values())
        for runs in (one, other)
    ]
    pairs = [(a[1][:FIRST], b[1][:FIRST]) for a, b in zip(one, other, strict=True)]
    same = sum([x for x, _ in a] == [x for x, _ in b] for a, b in pairs)
    apart = max(abs(x[1] - y[1]) for a, b in pairs for x, y in zip(a, b, strict=True))
    print(
        f"{name:<12} {by:<9} AP {precision[0]:.6f} {precision[1]:.6f}  "
        f"same {same} of {len(pairs)}  apart {apart:.0e}  time {longer / seconds:.2f}",
        flush=True,
    )


def main() -> None:
    """Compare the sets that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="cranfield,cisi")
    parser.add_argument("--shards", type=int, default=4)
    given = parser.parse_args()
    for name in given.sets.split(","):
        _compare(name, given.shards)


if __name__ == "__main__":
    main()
