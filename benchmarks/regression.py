"""The cost of the regression's default tolerance: AP, accuracy and time.

Run: python benchmarks/regression.py [--data ../shared/data] [--tolerances .1,.03,.01,.001,.00001]

The regression is iterated beyond 2,000 documents and terms alone, so only collections of more are
here. Time is that of the regression, as a multiple of the default's; 1e-5 is what single precision
reaches.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lpisearch
from lpisearch.evaluation.categorisation import judge
from lpisearch.evaluation.cells import TermWeights
from lpisearch.evaluation.collection import library_collection, single_labelled
from lpisearch.evaluation.measures import accuracy
from lpisearch.methods.rlpi import RLPI
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

RETRIEVAL = ("cacm", "scifact", "npl")
CATEGORIES = {"20newsgroups": None, "reuters21578": 30}
USUAL = 0.03


def main() -> None:
    """Print a row for each collection and tolerance."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tolerances", default=".1,.03,.01,.001,.00001")
    options = parser.parse_args()
    tolerances = [float(each) for each in options.tolerances.split(",")]
    warnings.simplefilter("ignore")
    for name in RETRIEVAL:
        for tolerance, found in _precision(options.data / name, tolerances):
            print(f"{name:14} {tolerance:8g}  AP {found:.4f}", flush=True)
    for name, largest in CATEGORIES.items():
        rows = list(_accuracy(options.data / name, largest, tolerances))
        usual = next((seconds for tolerance, _, seconds in rows if tolerance == USUAL), rows[0][2])
        for tolerance, right, seconds in rows:
            said = ", ".join(f"{kind} {share:.4f}" for kind, share in right.items())
            print(f"{name:14} {tolerance:8g}  accuracy: {said}  time x {seconds / usual:.2f}")


def _precision(folder: Path, tolerances: list[float]) -> Iterator[tuple[float, float]]:
    """Measure average precision by cosine alone."""
    wanted = lpisearch.RetrievalOptions(
        folder / "queries.jsonl.gz", folder / "qrels.tsv", by=("semantic",), measures=("AP",)
    )
    with tempfile.TemporaryDirectory() as place, lpisearch.open(Path(place) / "l.db") as library:
        library.ingest(folder / "docs.jsonl.gz")
        for tolerance in tolerances:
            settings = {"regression_tolerance": tolerance}
            options = lpisearch.EvaluateOptions(methods=("rlpi",), settings=settings)
            report = library.evaluate("retrieval", options=options, wanted=wanted)
            yield tolerance, float(report.tables[0].rows[0]["AP"] or 0)


def _accuracy(
    folder: Path, largest: int | None, tolerances: list[float]
) -> Iterator[tuple[float, dict[str, float], float]]:
    """Measure nearest centroid by the stated split: map from labels, and map from neighbours."""
    with tempfile.TemporaryDirectory() as place, lpisearch.open(Path(place) / "l.db") as library:
        library.ingest(folder / "docs.jsonl.gz")
        documents = single_labelled(library_collection(Session(library.path)), largest)
    splits = np.array(documents.splits)
    seen = documents.of(np.flatnonzero(splits == "train"))
    unseen = documents.of(np.flatnonzero(splits == "test"))
    weights = TermWeights.learn(seen, "")
    X, others = weights.apply(seen.counts), weights.apply(unseen.counts)
    alphas = [RLPI(alpha="auto").fit(X, y).alpha_ for y in (seen.single_labels, None)]
    for tolerance in tolerances:
        found, seconds = {}, 0.0
        for kind, y, alpha in (
            ("labels", seen.single_labels, alphas[0]),
            ("none", None, alphas[1]),
        ):
            made: Any = RLPI(alpha=alpha, regression_tolerance=tolerance).fit(X, y)
            seconds += made.seconds_["regression"]
            judged = judge("centroid", made.embed(X), seen.single_labels, made.embed(others), 0)
            found[kind] = accuracy(unseen.single_labels, judged.labels)
        yield tolerance, found, seconds


if __name__ == "__main__":
    main()
