"""The basis of two defaults of supervised learning: the choice of α, and rare words.

Run: python benchmarks/supervised.py [--data ../shared/data] [--draws 3]

Only training documents take part (the split "train" of 20 Newsgroups and of Reuters-21578 with its
30 largest classes): some are learned from, others of them judged, by nearest centroid and by k
nearest neighbours in the supervised RLPI subspace.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.evaluation.categorisation import judge
from lpisearch.evaluation.cells import TermWeights, represent
from lpisearch.evaluation.collection import library_collection, single_labelled
from lpisearch.evaluation.measures import accuracy
from lpisearch.evaluation.splits import split_by_share
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import EvaluateOptions, IngestOptions
from lpisearch.search.session import Session
from lpisearch.text.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from lpisearch.evaluation.collection import Collection

COLLECTIONS = {"20newsgroups": None, "reuters21578": 30}
SHARES = (0.08, 0.2, 0.4, 0.8)
ALPHAS = (0.1, 0.5, 1.0, 2.0, 4.0)
LEAST_DOCUMENTS = (1, 2, 3, 5)


def main() -> None:
    """Print accuracies among training documents."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    for name, largest in COLLECTIONS.items():
        documents = training_documents(options.data / name / "docs.jsonl.gz", largest)
        print(f"\n{name}: {len(documents):,} training documents; centroid / kNN, α")
        for share in SHARES:
            show(f"{share:4.0%}, α auto", documents, share, options.draws)
            for alpha in ALPHAS:
                show(f"{share:4.0%}, α {alpha}", documents, share, options.draws, alpha=alpha)
        for least in LEAST_DOCUMENTS:
            text = f" 80%, words of {least} documents or more"
            show(text, documents, 0.8, options.draws, least=least)


def training_documents(path: Path, largest: int | None) -> Collection:
    """Bring a collection in, and keep what is for training."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library.db"
        run_ingest(library, [str(path)], IngestOptions())
        documents = single_labelled(library_collection(Session(library)), largest)
    return documents.of(np.flatnonzero(np.array(documents.splits) == "train"))


def show(
    text: str,
    documents: Collection,
    share: float,
    draws: int,
    *,
    alpha: float | None = None,
    least: int = 1,
) -> None:
    """Print the mean over some draws."""
    limits = VocabularyLimits(min_df=least)
    found = [
        measured(replace(documents, limits=limits), share, draw, alpha) for draw in range(draws)
    ]
    centroid, knn, used = (fmean(values) for values in zip(*found, strict=True))
    print(f"  {text:36} {centroid:.4f} / {knn:.4f}   {used:.3g}", flush=True)


def measured(
    documents: Collection, share: float, draw: int, alpha: float | None
) -> tuple[float, float, float]:
    """Learn from a share of the documents and judge the rest."""
    seen, unseen = map(documents.of, split_by_share(documents.single_labels, share, draw))
    weights = TermWeights.learn(seen, "")
    X, labels = weights.apply(seen.counts), seen.single_labels
    dims = len(set(labels)) - 1
    learned = represent("rlpi", X, EvaluateOptions(alpha=alpha), dims=dims, labels=labels)
    points = learned.directions(X)
    others = learned.directions(weights.apply(unseen.counts))
    centroid, knn = (
        accuracy(unseen.single_labels, judge(by, points, labels, others, 0).labels.tolist())
        for by in ("centroid", "knn")
    )
    return centroid, knn, learned.alpha or 0.0


if __name__ == "__main__":
    main()
