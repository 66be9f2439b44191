"""How fast the work of each verb grows, with one size at a time.

Run `python -m benchmarks.growth [--quick]`. A library is made for each number of documents, of
labels and of words a document; of one library, more results, a later offset, more conditions and
longer queries are requested. Each number is the exponent that fits the seconds of the processor: 1
grows as the size, 0 not at all. Corpora are those of `scale_corpus.py`; the least of three runs
counts, and a second thread is not used.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.scale_corpus import documents
from lpisearch import Library, open  # noqa: A004 (the name of the front door)
from lpisearch.model.documents import Filter
from lpisearch.numeric.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Records = list[dict[str, Any]]
    Work = Callable[[], object]
    Measure = Callable[[Work, int], float]

DOCUMENTS = 16_000
ROUNDS = 3
FIELDS = 100  # of the metadata of each document
SEED = 7


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    scale = 10 if parser.parse_args().quick else 1
    rows: dict[str, dict[str, str]] = {}
    every = list(documents(DOCUMENTS // scale, SEED))
    with tempfile.TemporaryDirectory() as folder, one_blas_thread():
        for size, verb, exponent in measured(every, Path(folder), least_seconds):
            rows.setdefault(verb, {})[size] = f"{exponent:.2f}"
            print(f"{verb} by {size}: {exponent:.2f}", flush=True)
    sizes = list(dict.fromkeys(size for row in rows.values() for size in row))
    print(f"\n| | {' | '.join(sizes)} |\n|---|{'---:|' * len(sizes)}")
    for verb, row in rows.items():
        print(f"| {verb} | {' | '.join(row.get(size, '') for size in sizes)} |")


def measured(every: Records, folder: Path, measure: Measure) -> Iterator[tuple[str, str, float]]:
    """Yield what grows, the verb, and the exponent, from libraries of some of the documents."""
    for number, record in enumerate(every):
        record["metadata"] = {f"field{at}": str(number % 2) for at in range(FIELDS)}
    base = every[: len(every) // 4]
    some = [len(every) // part for part in (16, 8, 4, 2, 1)]
    yield from built("documents", folder, {n: every[:n] for n in some}, measure)
    by_labels = {
        n: [record | {"labels": [f"label {at % n}"]} for at, record in enumerate(base)]
        for n in (4, 16, 64)
    }
    yield from built("labels", folder, by_labels, measure)
    by_length = {
        n: [record | {"text": _long(record, n)} for record in base[:400]] for n in _LENGTHS
    }
    yield from built("words a document", folder, by_length, measure)
    with _library(folder / "asked.db", every[: len(every) // 2]) as library:
        library.index()
        yield from asked(library, every[0]["text"].split(), measure)


_LENGTHS = (100, 400, 1_600)


def _long(record: dict[str, Any], words: int) -> str:
    own = record["text"].split()
    return " ".join((own * (words // len(own) + 1))[:words])


def built(
    size: str, folder: Path, corpora: dict[int, Records], measure: Measure
) -> Iterator[tuple[str, str, float]]:
    """Measure libraries of several sizes: ingest, index, and questions of each."""
    taken: dict[str, list[float]] = {}
    for n, records in corpora.items():
        path = folder / f"{size.replace(' ', '-')}{n}.db"
        taken.setdefault("ingest", []).append(measure(partial(_library, path, records), 1))
        with Library(path) as library:
            taken.setdefault("index", []).append(measure(library.index, 1))
            words = " ".join(records[0]["text"].split()[:5])
            works: dict[str, Work] = {
                "search": partial(library.search, words),
                "search --by lexical": partial(library.search, words, by="lexical"),
                "search --explain": partial(library.search, words, explain=True),
                "similar": partial(library.similar, records[0]["id"]),
                "classify": partial(library.classify, words),
                "topics": library.topics,
                "status": library.status,
            }
            for verb, work in works.items():
                work()
                taken.setdefault(verb, []).append(measure(work, ROUNDS))
    for verb, each in taken.items():
        yield size, verb, fitted(list(corpora), each)


def asked(library: Library, words: list[str], measure: Measure) -> Iterator[tuple[str, str, float]]:
    """Ask one library for more and more."""
    text = " ".join(words[:5])
    conditions = [(f"field{at}", "0") for at in range(FIELDS)]
    number = library.status()["documents"]
    offsets = [number // part for part in (27, 8, 3)]
    sizes: dict[str, dict[int, Work]] = {
        "results": {n: partial(library.search, text, k=n) for n in (10, 30, 100, 300)},
        "offset": {n: partial(library.search, text, offset=n) for n in offsets},
        "offset, --no-collapse": {
            n: partial(library.search, text, offset=n, collapse=False) for n in offsets
        },
        "conditions": {
            n: partial(_filtered, library, text, tuple(conditions[:n])) for n in (1, 10, 100)
        },
        "words of the query": {
            n: partial(library.search, " ".join((words * n)[:n])) for n in (4, 16, 64, 256)
        },
    }
    for size, works in sizes.items():
        taken = []
        for work in works.values():
            work()
            taken.append(measure(work, ROUNDS))
        yield size, "search", fitted(list(works), taken)


def _filtered(library: Library, text: str, conditions: tuple[tuple[str, str], ...]) -> object:
    with open(library.path) as fresh:  # the documents that match a filter are remembered
        return fresh.search(text, where=Filter(metadata=conditions))


def fitted(sizes: list[int], taken: list[float]) -> float:
    """Return the exponent that fits what was taken by size."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(taken, 1e-5)), 1)[0])


def _library(path: Path, records: Records) -> Library:
    corpus = path.with_suffix(".jsonl")
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    library = Library(path)
    library.ingest(corpus)
    return library


def least_seconds(work: Work, rounds: int) -> float:
    """Return the least seconds of the processor that some work takes."""
    taken = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return min(taken)


if __name__ == "__main__":
    main()
