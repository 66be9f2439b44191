"""Long documents ranked as a whole, by their best passage, and in between: quality and cost.

Run: python -m benchmarks.passages [SET …]
where SET is books, volumes, answers, manual or mixed; no word runs all but the last.

The sets, with what is relevant in each, are those of benchmarks/passages_sets.py. Average precision
is of documents. "pages right" is how often the first of the passages shown of a relevant long
document has an answer, and how often one of the three has. "left out" is the way to score a long
document that is best, in the mean, for the other collections.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import arguments
from benchmarks.passages_sets import answers, books, manual, mixed
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IndexOptions, IngestOptions
from lpisearch.search.engine import Engine
from lpisearch.search.expansion import IndexWords, expand
from lpisearch.search.parser import parse_plain
from lpisearch.search.session import Session
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from benchmarks.passages_sets import Asked, LongSet
    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.search.query import Query

    Floats = NDArray[np.float32]
    Table = dict[str, dict[str, list[float]]]

SETS = {
    "books": lambda: books("books", 0.5, 50, 300),
    "volumes": lambda: books("volumes", 0.7, 20, 100),
    "answers": answers,
    "manual": manual,
    "mixed": mixed,
}
SHOWN = 3
WHOLE, IN_USE = "whole document", "as in use"
# From the score of the whole and those of its three best passages to that of a long document.
WAYS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "best passage": lambda _whole, best: best[:, 0],
    "best of all": lambda whole, best: np.maximum(whole, best[:, 0]),
    "passage + ⅒ whole": lambda whole, best: best[:, 0] + np.float32(0.1) * whole,
    "mean of both (in use)": lambda whole, best: 0.5 * (best[:, 0] + whole),
    "passage + ¼ whole": lambda whole, best: best[:, 0] + np.float32(0.25) * whole,
    "passage + ½ whole": lambda whole, best: best[:, 0] + np.float32(0.5) * whole,
    "passage + whole": lambda whole, best: best[:, 0] + whole,
    "¾ passage, ¼ whole": lambda whole, best: 0.75 * best[:, 0] + 0.25 * whole,
    "mean of three": lambda _whole, best: best.mean(axis=1),
    "first + ¼ two more": lambda _whole, best: best @ np.array([1, 0.25, 0.25], np.float32),
}


def main() -> None:
    """Print the tables."""
    names = arguments.names(__doc__, "SET", SETS) or list(SETS)[:-1]
    found: Table = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            measured = _measure(SETS[name](), Path(folder) / f"{name}.db")
            for way, scores in measured.items():
                found.setdefault(way, {}).update(
                    {f"{name}/{collection}": values for collection, values in scores.items()}
                )
    _print(found)


def _measure(asked: LongSet, library: Path) -> Table:
    """Build a library and measure every way to score its long documents."""
    file = library.with_suffix(".jsonl.gz")
    with gzip.open(file, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(record) + "\n" for record in asked.records)
    run_ingest(library, [str(file)], IngestOptions(language="english"))
    report = build_index(library, IndexOptions())
    index = open_index(library)
    for array, values in index.arrays.items():
        index.arrays[array] = np.array(values)
    _describe(asked, index, report.seconds)
    with Session(library) as session, session.reading() as snapshot:
        names = snapshot.documents.ids()
        tokeniser = session.tokeniser_of(index)
    engine = Engine(index)
    words = IndexWords(engine, tokeniser)
    ids = [names[row] for row in index.document_rows.tolist()]
    judge = _Judge(index, {name: at for at, name in enumerate(ids)})
    for query in asked.queries.values():
        question = expand(parse_plain(query.text, tokeniser), words).look_up(engine)
        judge.ask(query, question)
    judge.report()
    return judge.found


class _Judge:
    """Scores the queries of one library in every way."""

    def __init__(self, index: SubspaceIndex, places: dict[str, int]) -> None:
        self._engine, self._whole = Engine(index), Engine(index, whole=True)
        self._places = places
        if index.passages is None:
            raise SystemExit("no document is long")
        self._passages = index.passages
        self._long = np.unique(self._passages.owners)
        self._pages: list[tuple[bool, bool]] = []
        self._seconds = [0.0, 0.0]
        self.found: Table = {}

    def ask(self, query: Asked, question: Query) -> None:
        """Answer a query, and keep how good the answers are."""
        relevant = {self._places[name]: spans for name, spans in query.relevant.items()}
        for by in ("lexical", "semantic", "hybrid"):
            begun = time.perf_counter()
            whole = self._whole.scores(question, by).total
            middle = time.perf_counter()
            scored = self._engine.scores(question, by)
            if by == "hybrid":
                self._seconds[0] += middle - begun
                self._seconds[1] += time.perf_counter() - middle
            self._keep(f"{WHOLE}, {by}", query, whole, relevant)
            every = self._engine.unit_scores(question, by).total
            self._keep(f"{IN_USE}, {by}", query, scored.total, relevant)
        documents = len(self._places)
        best = self._best(every[documents:])
        for way, combined in WAYS.items():
            scores = every[:documents].copy()
            scores[self._long] = combined(every[self._long], best)
            self._keep(way, query, scores, relevant)
        self._point(relevant, every)

    def report(self) -> None:
        """Say how often the right page is shown, and what a query takes."""
        if self._pages:
            first, any_shown = (fmean(each) for each in zip(*self._pages, strict=True))
            print(f"  pages right: {first:.1%} the first, {any_shown:.1%} one of three")
        ratio = self._seconds[1] / self._seconds[0]
        print(f"  a hybrid query takes {ratio:.2f} times as long as over whole documents")

    def _keep(self, way: str, query: Asked, scores: Floats, relevant: Iterable[int]) -> None:
        right = np.zeros(len(scores), np.bool_)
        right[list(relevant)] = True
        ranks = np.flatnonzero(right[np.argsort(-scores, kind="stable")]) + 1
        precision = float((np.arange(1, len(ranks) + 1) / ranks).mean())
        self.found.setdefault(way, {}).setdefault(query.collection, []).append(precision)

    def _shown(self, place: int, spans: list[tuple[int, int]], units: Floats) -> list[bool]:
        """Tell of the best passages of a document which have an answer."""
        part = self._passages.of_document(place)
        own = units[len(self._places) :][part]
        first = np.argsort(-own, kind="stable")[:SHOWN]
        where = self._passages.spans[part][first].tolist()
        return [any(low < end and start < high for low, high in spans) for start, end in where]

    def _point(self, relevant: dict[int, list[tuple[int, int]]], units: Floats) -> None:
        for place, spans in relevant.items():
            if spans and place in self._long:
                shown = self._shown(place, spans, units)
                self._pages.append((shown[0], any(shown)))

    def _best(self, own: Floats) -> Floats:
        """Return the three best scores among the passages of each long document."""
        best = np.zeros((len(self._long), SHOWN), np.float32)
        for at, place in enumerate(self._long.tolist()):
            found = np.sort(own[self._passages.of_document(place)])[::-1][:SHOWN]
            best[at, : len(found)] = found
        return best


def _describe(asked: LongSet, index: SubspaceIndex, seconds: dict[str, float]) -> None:
    passages = index.passages
    count = 0 if passages is None else len(passages)
    share = seconds["embedding passages"] / sum(seconds.values())
    size = sum(a.nbytes for name, a in index.arrays.items() if name.startswith("passage_"))
    print(
        f"{asked.name}: {len(asked.records):,} documents, {len(index.long_documents):,} of them "
        f"long with {count:,} passages; {len(asked.queries):,} queries\n"
        f"  passages take {share:.0%} of the time of `index`, and "
        f"{size / max(count, 1):,.0f} bytes each",
        flush=True,
    )


def _print(found: Table) -> None:
    columns = list(found[f"{IN_USE}, hybrid"])
    print(
        f"\n{'':26}" + "".join(f"{name.split('/')[-1]:>11}" for name in columns) + f"{'mean':>11}"
    )
    for way, scores in found.items():
        means = [fmean(scores[name]) for name in columns]
        print(f"{way:26}" + "".join(f"{each:11.3f}" for each in [*means, fmean(means)]))
    before = {name: fmean(found[f"{WHOLE}, hybrid"][name]) for name in columns}
    gains = {
        way: {name: fmean(found[way][name]) / before[name] - 1 for name in columns} for way in WAYS
    }
    left_out = []
    for name in columns:
        collection = name.split("/")[-1]
        others = [other for other in columns if other.split("/")[-1] != collection]
        if others:
            best = max(WAYS, key=lambda way: fmean(gains[way][other] for other in others))
            left_out.append((gains["mean of both (in use)"][name], gains[best][name], best))
    print("\ngain over whole documents, hybrid: as in use, left out (and what was chosen)")
    for name, (own, other, way) in zip(columns, left_out, strict=False):
        print(f"{name:26}{own:+11.1%}{other:+11.1%}  {way}")


if __name__ == "__main__":
    main()
