"""Classification with defaults on four public collections, compared with a linear SVM.

Run: python benchmarks/classification.py [--data ../shared/data] [COLLECTION …]

A library is made of the training documents alone, indexed at its defaults, and asked for the
label of every other document: by "auto" and by each classifier. Beside it: scikit-learn's LinearSVC
(one class against the others, at its own defaults) on log-tf·idf of every word of the training
documents, and supervised RLPI with nearest centroid at α auto and α 1. At last, how far shares
are from frequencies, and how often “none of these” is right. Only ratios of times mean anything.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.svm import LinearSVC

from lpisearch.classifiers.classifier import AUTO, CLASSIFIERS
from lpisearch.evaluation.categorisation import judge
from lpisearch.evaluation.cells import TermWeights, represent
from lpisearch.evaluation.collection import library_collection
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.model.documents import Document
from lpisearch.options import ClassifyOptions, EvaluateOptions, IndexOptions, IngestOptions
from lpisearch.search.classification import TextClassifier
from lpisearch.search.session import Session
from lpisearch.text.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

    Record = dict[str, Any]

# How many of the largest classes, for collections with documents of several labels.
COLLECTIONS = {"20newsgroups": None, "reuters21578": 30, "banking77": None, "debian-packages": None}
BINS = 10


def main() -> None:
    """Print a table for each collection."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("collections", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    for name in options.collections:
        seen, unseen = train_and_test(
            records(options.data / name / "docs.jsonl.gz", COLLECTIONS[name])
        )
        print(f"\n{name}: {len(seen):,} documents learned from, {len(unseen):,} judged", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            by_default(Path(folder), seen, unseen)
            by_terms_and_map(Path(folder), [*seen, *unseen])


def records(path: Path, largest: int | None) -> list[Record]:
    """Read documents with one label, of the largest classes."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    found = [each for each in found if len(each["labels"]) == 1]
    sizes = Counter(each["labels"][0] for each in found)
    kept = {label for label, _ in sizes.most_common(largest)}
    return [each for each in found if each["labels"][0] in kept]


def train_and_test(documents: list[Record]) -> tuple[list[Record], list[Record]]:
    """Part by the field of the split, or hold out every fifth."""
    if not any(each.get("split") for each in documents):
        splits = ("test" if number % 5 == 0 else "train" for number in range(len(documents)))
        documents = [each | {"split": split} for each, split in zip(documents, splits, strict=True)]
    seen = [each for each in documents if each["split"] == "train"]
    return seen, [each for each in documents if each["split"] == "test"]


def by_default(folder: Path, seen: list[Record], unseen: list[Record]) -> None:
    """Index the documents that are seen, and ask for the labels of the others."""
    library = made(folder / "seen.db", seen)
    report = build_index(library, IndexOptions())
    learning = report.seconds["training classifiers"]
    rest = sum(report.seconds.values()) - learning
    facts = report.classifier or {}
    print(f"  learning labels {learning:.1f} s, the rest of the build {rest:.1f} s")
    print(f"  chosen: {facts['chosen']}, held out: {facts['accuracy']}")
    documents = [Document(each.get("title", ""), each["text"]) for each in unseen]
    truth = np.array([each["labels"][0] for each in unseen])
    session = Session(library)
    for by in (AUTO, *CLASSIFIERS):
        asked = TextClassifier(session, ClassifyOptions(by, k=1))
        began = time.perf_counter()
        found = [asked.document("", each) for each in documents]
        took = 1000 * (time.perf_counter() - began) / len(found)
        said = np.array([each.labels[0].label if each.labels else "" for each in found])
        right = said == truth
        line = f"  {by:13} {right.mean():.4f}  {took:.2f} ms a text"
        if by == AUTO:
            shares = np.array([each.labels[0].share if each.labels else 0.0 for each in found])
            none = shares < ClassifyOptions().confidence
            line += f", calibration error {calibration_error(shares, right):.3f}; none of these "
            line += f"{none.mean():.3f}, of which {right[none].mean():.3f} would have been right"
        print(line, flush=True)
    session.close()


def by_terms_and_map(folder: Path, documents: list[Record]) -> None:
    """Judge by scikit-learn on terms, and by nearest centroid in the supervised subspace."""
    collection = library_collection(Session(made(folder / "all.db", documents)))
    collection = replace(collection, limits=VocabularyLimits(min_df=1))
    splits = np.array(collection.splits)
    seen, unseen = (collection.of(np.flatnonzero(splits == each)) for each in ("train", "test"))
    weights = TermWeights.learn(seen, "")
    X, others = weights.apply(seen.counts), weights.apply(unseen.counts)
    labels, truth = seen.single_labels, np.array(unseen.single_labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's limit of steps
        machine = LinearSVC(random_state=0).fit(X, labels)
    print(f"  {'LinearSVC':13} {np.mean(machine.predict(others) == truth):.4f}", flush=True)
    for alpha in (None, 1.0):
        options = EvaluateOptions(alpha=alpha)
        learned = represent("rlpi", X, options, dims=len(set(labels)) - 1, labels=labels)
        points = (learned.directions(X), labels, learned.directions(others))
        right = [judge(by, *points, 0).labels == truth for by in ("centroid", "knn")]
        said = "α auto" if alpha is None else "α 1"
        centroid, knn = (each.mean() for each in right)
        print(f"  RLPI {said:8} {centroid:.4f} centroid, {knn:.4f} kNN (α {learned.alpha:.3g})")


def calibration_error(shares: Any, right: Any) -> float:
    """Return by how much shares and frequencies differ, on average over ten bins of shares."""
    bins = np.minimum((shares * BINS).astype(int), BINS - 1)
    gaps = [
        abs(shares[bins == each].mean() - right[bins == each].mean()) * np.mean(bins == each)
        for each in np.unique(bins)
    ]
    return float(sum(gaps))


def made(path: Path, documents: Sequence[Record]) -> Path:
    """Make a library of documents."""
    source = path.with_suffix(".jsonl")
    source.write_text("".join(json.dumps(each) + "\n" for each in documents), encoding="utf-8")
    run_ingest(path, [str(source)], IngestOptions())
    return path


if __name__ == "__main__":
    main()
