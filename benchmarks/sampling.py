"""Learning from a sample compared with learning from all documents.

Run `python -m benchmarks.sampling [--dims 300,600] [--sizes 20000,64000] [--samples all,20000]`.
Average precision: all English collections with judgements in one library, filled up to the size
with descriptions of packages. Accuracy: nearest centre in the map, 20 Newsgroups by its split and
the packages by a fifth held out. The map is learned from all documents, from all leaders, or from
a sample of these; time is CPU time of the stages of the model, relative to learning from
all documents.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from benchmarks.retrieval import ENGLISH, MIXED_DEPTH, judged_of, mean_precision, questions_of
from lpisearch.index import projection
from lpisearch.index.build import build_index
from lpisearch.index.plan import plan_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions, IngestOptions, SearchOptions
from lpisearch.search.batch import answer_batch
from lpisearch.search.session import Session
from lpisearch.storage import open_store
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[2] / "shared" / "data"
PACKAGES = "debian-packages"
NEWS = "20newsgroups"
MAP_STAGES = {"finding neighbours", "projecting"}
HELD_OUT = 5
LARGEST = 10**7


def main() -> None:
    """Print a table for each library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", default="300", type=_numbers)
    parser.add_argument("--sizes", default="20000,64000", type=_numbers)
    parser.add_argument("--samples", default="all,20000,10000,5000", help="of leaders")
    arguments = parser.parse_args()
    samples = [LARGEST if each == "all" else int(each) for each in arguments.samples.split(",")]
    with tempfile.TemporaryDirectory() as place:
        for size in arguments.sizes:
            mixed = _library(Path(place), f"mixed{size}", _mixed(size))
            table = partial(_table, dims=arguments.dims, samples=samples)
            table(f"One library of {size:,}: AP, cosine / hybrid", mixed, _ap)
            name = NEWS if size <= 20_000 else PACKAGES
            own = _library(Path(place), name, _documents(name))
            table(f"{name}: accuracy of the nearest centre", own, _accuracy)


def _table(title: str, library: Path, measure: Any, *, dims: list[int], samples: list[int]) -> None:
    print(f"\n{title}\n\n| learned from | dimensions | documents | quality | beside all | time |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: |")
    for wanted in dims:
        whole: tuple[float, ...] = ()
        usual = 1.0
        for way, most, every in _ways(samples):
            seconds, report = _build(library, wanted, most, every=every)
            found = measure(library)
            whole, usual = whole or found, usual if whole else seconds
            quality = " / ".join(f"{one:.4f}" for one in found)
            gain = " / ".join(
                f"{100 * (one / before - 1):+.1f} %"
                for one, before in zip(found, whole, strict=True)
            )
            cells = (way, report.dims, f"{report.learned_from:,}", quality, gain)
            print("|", " | ".join(map(str, cells)), f"| {seconds / usual:.2f} |", flush=True)


def _ways(samples: list[int]) -> list[tuple[str, int, bool]]:
    """Return a name, the largest sample, and whether near-duplicates are learned from too."""
    names = {LARGEST: "all leaders"}
    chosen = [(names.get(most, f"{most:,} leaders"), most, False) for most in samples]
    return [("all documents", LARGEST, True), *chosen]


def _build(library: Path, dims: int, most: int, *, every: bool) -> tuple[float, Any]:
    """Build an index; return the processor time of the stages of the map, and the report."""
    began: list[tuple[str, float]] = []

    def on_stage(name: str) -> None:
        began.append((name, time.process_time()))

    def plan(path: Path, options: IndexOptions) -> Any:
        return replace(plan_index(path, options), learned_from=most)

    least = most if every else projection.LEAST_LEADERS
    with (
        patch("lpisearch.index.build.plan_index", plan),
        patch.object(projection.documents_to_learn_from, "__defaults__", (least, most)),
    ):
        report = build_index(library, IndexOptions(dims=dims, train="none"), on_stage)
    spent = [after[1] - each[1] for each, after in pairwise(began) if each[0] in MAP_STAGES]
    return sum(spent), report


def _ap(library: Path) -> tuple[float, ...]:
    """Return the mean AP over the sets of queries, by cosine and by hybrid."""
    means = []
    with Session(library) as session:
        for by in ("semantic", "hybrid"):
            options = SearchOptions(by=by, k=MIXED_DEPTH)
            found = []
            for name in ENGLISH:
                judged = {
                    query: {f"{name}/{document}": 1 for document in told}
                    for query, told in judged_of(name).items()
                }
                queries = [pair for pair in questions_of(name) if pair[0] in judged]
                answers = dict(answer_batch(session, queries, options))
                found.append(mean_precision(answers, judged))
            means.append(fmean(found))
    return tuple(means)


def _accuracy(library: Path) -> tuple[float, ...]:
    """Return the share of held-out documents that are nearest to the centre of their class."""
    index = open_index(library)
    with open_store(library) as store, store.reading() as snapshot:
        given, splits = snapshot.corpus.labels(Filter()), snapshot.corpus.splits(Filter())
    keys = index.document_rows.tolist()
    rows = [row for row, key in enumerate(keys) if given.get(key)]
    names, classes = np.unique([given[keys[row]][0] for row in rows], return_inverse=True)
    own = np.array([splits.get(keys[row], "") for row in rows])
    held_out = own == "test"
    if not held_out.any():
        held_out = np.random.default_rng(0).permutation(len(rows)) % HELD_OUT == 0
    vectors = np.asarray(index.vectors)[rows]
    centres = np.zeros((len(names), vectors.shape[1]))
    np.add.at(centres, classes[~held_out], vectors[~held_out])
    centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)
    nearest = (vectors[held_out] @ centres.T).argmax(axis=1)
    return (float(np.mean(nearest == classes[held_out])),)


def _mixed(size: int) -> Iterator[dict[str, Any]]:
    """Return the collections with judgements, and packages up to a size."""
    judged = ((name, each) for name in ENGLISH for each in _documents(name))
    found = [each | {"id": f"{name}/{each['id']}"} for name, each in judged]
    yield from chain(found, islice(_documents(PACKAGES), max(size - len(found), 0)))


def _documents(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / name / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@contextmanager
def _written(path: Path, documents: Iterator[dict[str, Any]]) -> Iterator[Path]:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(each) + "\n" for each in documents)
    yield path
    path.unlink()


def _library(folder: Path, name: str, documents: Iterator[dict[str, Any]]) -> Path:
    library = folder / f"{name}.db"
    with _written(folder / f"{name}.jsonl", documents) as file:
        run_ingest(library, [str(file)], IngestOptions())
    return library


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
