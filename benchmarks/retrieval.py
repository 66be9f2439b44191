"""Average precision on public collections, by `lpisearch index` and `query`.

Run `python -m benchmarks.retrieval [COLLECTION …]`; no word runs all, and then all of them but the
two in other languages once more as one library. LPISEARCH_DATA names the folder of collections.

Each is ingested and indexed by default options in a folder that is thrown away. A relevant
document has a grade above 0; queries without one are left out. "gain" is that of hybrid over words,
"over 0.3" that over the words of version 0.3, which scored BM25 alone. "left out" is that gain with
those constants that are best, in the mean, for the other collections: so no collection has a say in
the constants that it is measured by.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from benchmarks import arguments
from lpisearch.evaluation.retrieval import parse_measures, score_run
from lpisearch.index import fusion
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IndexOptions, IngestOptions, SearchOptions
from lpisearch.readers.judgements import read_queries
from lpisearch.search import word_scores
from lpisearch.search.batch import answer_batch
from lpisearch.search.engine import Engine
from lpisearch.search.expansion import IndexWords, expand
from lpisearch.search.parser import parse_plain
from lpisearch.search.session import Session
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Judged = dict[str, dict[str, int]]

DATA = Path(os.environ.get("LPISEARCH_DATA", Path(__file__).parents[2] / "shared" / "data"))
ENGLISH = ("med", "cranfield", "cisi", "cacm", "npl", "scifact", "pgdocs")
COLLECTIONS = (*ENGLISH, "xquad-de", "xquad-zh")
# The two in other languages have 1,190 queries each: these are enough to choose constants by.
MOST_QUERIES = 300
MIXED_DEPTH = 1000
WAYS = ("lexical", "semantic", "hybrid")
# Average precision of the words of version 0.3 (bb9cf0e).
FIXED_WORDS = {
    "med": 0.531,
    "cranfield": 0.316,
    "cisi": 0.233,
    "cacm": 0.379,
    "npl": 0.289,
    "scifact": 0.649,
    "pgdocs": 0.192,
    "xquad-de": 0.929,
    "xquad-zh": 0.954,
}
CONSTANTS = (
    (fusion, "SUBSPACE_BOUND", (3.0, 4.0, 6.0)),
    (word_scores, "TITLE_SHARE", (0.75, 1.5, 3.0)),
    (word_scores, "PAIR_SHARE", (0.06, 0.125, 0.25)),
)
GRID = tuple(product(*(values for _, _, values in CONSTANTS)))


def main() -> None:
    """Print the tables."""
    named = arguments.names(__doc__, "COLLECTION", COLLECTIONS)
    names = named or list(COLLECTIONS)
    with tempfile.TemporaryDirectory() as folder:
        libraries = {name: build_library(name, Path(folder)) for name in names}
        variants = {name: _variants(libraries[name], name) for name in names}
        _header("", "lexical", "semantic", "hybrid", "gain", "over 0.3", "left out", "words")
        rows = {name: _row(libraries[name], name, _left_out(variants, name)) for name in names}
        for name, row in rows.items():
            _line(name, row)
        gains = [row[3:] for name, row in rows.items() if name != "xquad-zh"]
        _line(
            "mean without xquad-zh",
            [float("nan")] * 3 + [fmean(g) for g in zip(*gains, strict=True)],
        )
        if not named:
            _mixed(Path(folder))


def _row(library: Path, name: str, left_out: float) -> list[float]:
    judged, fixed = judged_of(name), FIXED_WORDS[name]
    ways = [_precision(library, name, judged, SearchOptions(by=by)) for by in WAYS]
    gains = [_gain(ways[2], ways[0]), _gain(ways[2], fixed), left_out, _gain(ways[0], fixed)]
    return [*ways, *gains]


def _precision(library: Path, name: str, judged: Judged, options: SearchOptions) -> float:
    """Return the mean average precision of the program's own run, to its end."""
    queries = [pair for pair in questions_of(name) if pair[0] in judged]
    wanted = SearchOptions(by=options.by, k=1_000_000, semantic_weight=options.semantic_weight)
    with Session(library) as session:
        return mean_precision(dict(answer_batch(session, queries, wanted)), judged)


def mean_precision(run: Mapping[str, Any], judged: Judged) -> float:
    """Return the mean average precision of a run."""
    return fmean(score_run(run, judged, parse_measures(["AP"]))["AP"].values())


def _variants(library: Path, name: str) -> list[float]:
    """Return what hybrid gains over the words of version 0.3 by each choice in `GRID`."""
    index = open_index(library)
    for array, values in index.arrays.items():
        index.arrays[array] = np.array(values)
    judged = dict(list(judged_of(name).items())[:MOST_QUERIES])
    texts = dict(questions_of(name))
    engine = Engine(index)
    with Session(library) as session, session.store.reading() as snapshot:
        names = snapshot.documents.ids()
        tokeniser = session.tokeniser_of(index)
    words = IndexWords(engine, tokeniser)
    asked = [expand(parse_plain(texts[query], tokeniser), words) for query in judged]
    ids = {names[row]: at for at, row in enumerate(engine.index.document_rows.tolist())}
    questions = [each.look_up(engine) for each in asked]
    relevant = [
        np.array([ids[each] for each in told if each in ids], np.int64) for told in judged.values()
    ]

    def precision(by: str) -> float:
        scored = Engine(index).batch(questions, by)
        return fmean(map(average_precision, scored, relevant))

    found = []
    for choice in GRID:
        with _constants(choice):
            found.append(_gain(precision("hybrid"), FIXED_WORDS[name]))
    return found


def _left_out(variants: Mapping[str, list[float]], name: str) -> float:
    """Return the gain of a collection by the constants that are best for the others."""
    others = [found for other, found in variants.items() if other != name]
    if not others:
        return float("nan")
    return variants[name][int(np.argmax(np.mean(others, axis=0)))]


@contextmanager
def _constants(values: tuple[float, ...]) -> Iterator[None]:
    with ExitStack() as stack:
        for (module, name, _), value in zip(CONSTANTS, values, strict=True):
            stack.enter_context(patch.object(module, name, value))
        yield


def average_precision(scores: NDArray[np.float32], relevant: NDArray[np.int64]) -> float:
    """Return average precision, with ties at their worst rank."""
    if not len(relevant):
        return 0.0
    ranks = np.sort(len(scores) - np.searchsorted(np.sort(scores), scores[relevant], "right") + 1)
    numbers = np.arange(1, len(ranks) + 1)
    return float(np.mean(numbers / np.maximum(ranks, numbers)))


def _mixed(folder: Path) -> None:
    """Put all English collections into one library, and ask each set of queries."""
    file = folder / "mixed.jsonl.gz"
    with gzip.open(file, "wt", encoding="utf-8") as stream:
        for name in ENGLISH:
            with gzip.open(DATA / name / "docs.jsonl.gz", "rt", encoding="utf-8") as source:
                for document in map(json.loads, source):
                    document["id"] = f"{name}/{document['id']}"
                    stream.write(json.dumps(document) + "\n")
    library = folder / "mixed.db"
    run_ingest(library, [str(file)], IngestOptions())
    report = build_index(library, IndexOptions())
    built = sum(report.seconds.values())
    print(
        f"\nIn one library: {report.documents:,} documents, {report.dims} dimensions, learned "
        f"from {report.learned_from:,}, weights {report.calibration['weights']}; "
        f"built in {built:.0f} s; the first {MIXED_DEPTH:,} documents count"
    )
    _header("", "lexical", "semantic", "hybrid", "gain")
    gains = []
    for name in ENGLISH:
        judged = {query: {f"{name}/{document}": 1 for document in told}
                  for query, told in judged_of(name).items()}  # fmt: skip
        queries = [pair for pair in questions_of(name) if pair[0] in judged]
        with Session(library) as session:
            ways = [
                mean_precision(
                    dict(answer_batch(session, queries, SearchOptions(by=by, k=MIXED_DEPTH))),
                    judged,
                )
                for by in WAYS
            ]
        gains.append(_gain(ways[2], ways[0]))
        _line(name, [*ways, gains[-1]])
    _line("mean", [float("nan")] * 3 + [fmean(gains)])


def build_library(name: str, folder: Path) -> Path:
    """Ingest and index a collection in a folder."""
    library = folder / f"{name}.db"
    run_ingest(library, [str(DATA / name / "docs.jsonl.gz")], IngestOptions())
    build_index(library, IndexOptions())
    return library


def questions_of(name: str) -> list[tuple[str, str]]:
    """Return the queries of a collection."""
    return list(read_queries(DATA / name / "queries.jsonl.gz"))


def judged_of(name: str) -> Judged:
    """Return the relevant documents of each query that has any."""
    judged: Judged = {}
    for line in (DATA / name / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        if int(grade) > 0:
            judged.setdefault(query, {})[document] = 1
    return judged


def _gain(found: float, before: float) -> float:
    return 100 * (found / before - 1)


def _header(*names: object) -> None:
    print(f"{names[0]:24}" + "".join(f"{name:>10}" for name in map(str, names[1:])), flush=True)


def _line(label: str, values: list[float]) -> None:
    shown = [f"{value:10.4f}" if at < 3 else f"{value:+9.1f}%" for at, value in enumerate(values)]
    print(f"{label:24}" + "".join(shown).replace("nan", "   "), flush=True)


if __name__ == "__main__":
    main()
