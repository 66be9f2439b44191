"""Accuracy, calibration and cost of `classify`, and the agreement of `topics`, on public data.

Run `python benchmarks/classify.py [bydate] [random] [topics]`; no word runs all. By date: the
20-newsgroups library is ingested and indexed at its defaults, so that the classifier learns from
the split "train", and every document of the split "test" is judged. Random: shares of all
documents are learned from, in three draws each. Only ratios of times mean anything.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.classifiers.classifier import CLASSIFIERS, Classifier
from lpisearch.classifiers.training import learn_classifier
from lpisearch.indexes.build import build_index
from lpisearch.indexes.session import Session
from lpisearch.ingest.ingesting import run_ingest
from lpisearch.maintenance.documents import list_documents, show_document
from lpisearch.records import Filter
from lpisearch.search.classifying import Judge
from lpisearch.search.topics import find_topics
from lpisearch.settings import (
    ClassifyOptions,
    IndexOptions,
    IngestOptions,
    ReadOptions,
    TopicOptions,
    shipped_folder,
)
from lpisearch.storage import open_store
from lpisearch.terms.counts import build_counts
from lpisearch.terms.weighting import Weighting, normalise_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.records import Classification, TopicReport

DATA = Path(__file__).parents[2] / "shared" / "data"
ASKED = {"centroid": 0.865, "knn": 0.86, "svm": 0.86}
DRAWS = 3
BINS = 10


def main() -> None:
    """Run the parts that are named, or all."""
    parts = {"bydate": by_date, "random": at_random, "topics": topics}
    with tempfile.TemporaryDirectory() as folder:
        library = _library(Path(folder) / "news.db", DATA / "20newsgroups" / "docs.jsonl.gz")
        for name in sys.argv[1:] or parts:
            print(f"\n{name}")
            parts[name](library)


def by_date(library: Path) -> None:
    """Judge the later documents by the earlier ones."""
    report = build_index(library, IndexOptions())
    seconds, learning = sum(report.seconds.values()), report.seconds["learning labels"]
    print(f"  index {seconds:.1f} s, of which learning labels {learning:.1f} s")
    print(f"  share of the index {learning / seconds:.2f}; {report.classifier}")
    tests = [each for each in list_documents(library)[0] if each.split == "test"]
    texts = [show_document(library, each.id).text for each in tests]
    for by in CLASSIFIERS:
        judge = Judge(Session.open(library), ClassifyOptions(by, k=1))
        began = time.perf_counter()
        found = [judge.text(text) for text in texts]
        took = (time.perf_counter() - began) / len(texts)
        hits = np.array(
            [
                bool(each.labels) and each.labels[0].label in own.labels
                for each, own in zip(found, tests, strict=True)
            ]
        )
        verdict = "reached" if hits.mean() >= ASKED[by] else "NOT REACHED"
        print(
            f"  {by:9} accuracy {hits.mean():.4f} (asked {ASKED[by]}: {verdict}), "
            f"calibration error {_calibration(found, hits):.3f}, {1000 * took:.2f} ms a text"
        )


def at_random(library: Path) -> None:
    """Learn from a random part of all documents, and judge the rest."""
    X, labels = _matrix(library)
    for share in (0.05, 0.1, 0.5):
        scores: dict[str, list[float]] = {by: [] for by in CLASSIFIERS}
        for draw in range(DRAWS):
            seen = np.random.default_rng(draw).random(len(labels)) < share
            splits = ["train" if each else "test" for each in seen]
            learned = learn_classifier(
                X,
                [[label] for label in labels],
                splits,
                IndexOptions(),
                lambda _name: nullcontext(),
            )
            facts = learned.facts or {}
            classifier = Classifier.from_index(learned.arrays, facts["temperatures"])
            for by in CLASSIFIERS:
                judged = [_best(classifier, row, by) for row in _rows(X[~seen])]
                scores[by].append(float(np.mean(np.array(judged) == labels[~seen])))
        line = ", ".join(f"{by} {np.mean(each):.4f}" for by, each in scores.items())
        print(f"  {share:4.0%} of the documents: {line}")


def topics(library: Path) -> None:
    """Compare topics with labels."""
    build_index(library, IndexOptions())
    began = time.perf_counter()
    _agreement("20newsgroups", find_topics(Session.open(library)))
    print(f"    in {time.perf_counter() - began:.1f} s")
    _agreement("20newsgroups, 20 asked for", find_topics(Session.open(library), TopicOptions(20)))
    with tempfile.TemporaryDirectory() as folder:
        sample = _library(Path(folder) / "s.db", shipped_folder("sample_corpus") / "documents")
        for method in ("rlpi", "lpi", "olpi", "lsi"):
            build_index(sample, IndexOptions(method=method))
            _agreement(f"sample corpus, {method}", find_topics(Session.open(sample)))


def _agreement(what: str, report: TopicReport) -> None:
    print(
        f"  {what}: {len(report.topics)} topics, purity {report.purity:.3f}, NMI {report.nmi:.3f}"
    )


def _calibration(found: list[Classification], hits: Any) -> float:
    """Return by how much shares and frequencies differ, on average over ten bins of shares."""
    shares = np.array([each.labels[0].share if each.labels else 0.0 for each in found])
    bins = np.minimum((shares * BINS).astype(int), BINS - 1)
    gaps = [
        abs(shares[bins == each].mean() - hits[bins == each].mean()) * np.mean(bins == each)
        for each in np.unique(bins)
    ]
    return float(sum(gaps))


def _best(classifier: Classifier, row: tuple[Any, Any], by: str) -> str:
    shares = classifier.shares(*row, by)
    return "" if shares is None else classifier.labels[int(shares.argmax())]


def _rows(X: Any) -> Iterator[tuple[Any, Any]]:
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield X.indices[start:end], X.data[start:end]


def _matrix(library: Path) -> tuple[Any, Any]:
    with open_store(library) as store, store.reading() as snapshot:
        shards = list(snapshot.corpus.shards(Filter()))
        labels = snapshot.labels.by_key(Filter())
    _, counts = build_counts([shard.tokens for shard in shards])
    X = normalise_rows(Weighting.fit(counts.matrix).apply(counts.matrix))
    return X, np.array([labels[row][0] for shard in shards for row in shard.keys])


def _library(path: Path, source: Path) -> Path:
    run_ingest(path, [str(source)], IngestOptions(read=ReadOptions()))
    return path


if __name__ == "__main__":
    main()
