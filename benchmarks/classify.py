"""Accuracy of `classify` by training share, and agreement of `topics`, on public collections.

Run `python benchmarks/classify.py [random] [topics]`; no word runs both. Random: shares of all
documents of 20 Newsgroups are learned from, in three draws each. What `classify` has right at its
defaults: `classification.py`. Only ratios of times mean anything.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import arguments
from lpisearch.classifiers.classifier import CLASSIFIERS, Classifier
from lpisearch.classifiers.trainer import learn_classifier
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.location import shipped_folder
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions, IngestOptions, ReadOptions, TopicOptions
from lpisearch.search.session import Session
from lpisearch.search.topics import find_topics
from lpisearch.storage import open_store
from lpisearch.text.vocabulary import Weighting, normalise_rows
from tests.indexing import build_counts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.model.answers import TopicReport

DATA = Path(__file__).parents[2] / "shared" / "data"
DRAWS = 3


def main() -> None:
    """Run the parts that are named, or all."""
    parts = {"random": at_random, "topics": topics}
    chosen = arguments.names(__doc__, "PART", parts) or parts
    with tempfile.TemporaryDirectory() as folder:
        library = _library(Path(folder) / "news.db", DATA / "20newsgroups" / "docs.jsonl.gz")
        for name in chosen:
            print(f"\n{name}")
            parts[name](library)


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
            classifier = Classifier.from_index(learned.arrays, facts)
            for by in CLASSIFIERS:
                judged = [_best(classifier, row, by) for row in _rows(X[~seen])]
                scores[by].append(float(np.mean(np.array(judged) == labels[~seen])))
        line = ", ".join(f"{by} {np.mean(each):.4f}" for by, each in scores.items())
        print(f"  {share:4.0%} of the documents: {line}")


def topics(library: Path) -> None:
    """Compare topics with labels."""
    build_index(library, IndexOptions())
    began = time.perf_counter()
    _agreement("20newsgroups", find_topics(Session(library)))
    print(f"    in {time.perf_counter() - began:.1f} s")
    _agreement("20newsgroups, 20 asked for", find_topics(Session(library), TopicOptions(20)))
    with tempfile.TemporaryDirectory() as folder:
        sample = _library(Path(folder) / "s.db", shipped_folder("sample_corpus") / "documents")
        for method in ("rlpi", "lpi", "olpi", "lsi"):
            build_index(sample, IndexOptions(method=method))
            _agreement(f"sample corpus, {method}", find_topics(Session(sample)))


def _agreement(what: str, report: TopicReport) -> None:
    print(
        f"  {what}: {len(report.topics)} topics, purity {report.purity:.3f}, NMI {report.nmi:.3f}"
    )


def _best(classifier: Classifier, row: tuple[Any, Any], by: str) -> str:
    (shares,) = classifier.shares([row], by)
    return "" if shares is None else classifier.labels[int(shares.argmax())]


def _rows(X: Any) -> Iterator[tuple[Any, Any]]:
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield X.indices[start:end], X.data[start:end]


def _matrix(library: Path) -> tuple[Any, Any]:
    with open_store(library) as store, store.reading() as snapshot:
        shards = list(snapshot.corpus.shards(Filter()))
        labels = snapshot.corpus.labels(Filter())
    _, counts = build_counts([shard.tokens for shard in shards])
    X = normalise_rows(Weighting.fit(counts.matrix).apply(counts.matrix))
    return X, np.array([labels[row][0] for shard in shards for row in shard.keys])


def _library(path: Path, source: Path) -> Path:
    run_ingest(path, [str(source)], IngestOptions(read=ReadOptions()))
    return path


if __name__ == "__main__":
    main()
