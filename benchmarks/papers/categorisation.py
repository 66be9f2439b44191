"""Table 4 of rlpi-2007: three classifiers on one representation of one split.

Distances are Euclidean in the places as they are, as the paper has them; k of the neighbours and
C of the machine are chosen later, from all that were tried here.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.datasets import load
from benchmarks.papers.methods import learn
from lpisearch.evaluation.cells import TermWeights
from lpisearch.evaluation.splits import split_by_share
from lpisearch.text.vocabulary import Weighting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Indices = NDArray[np.intp]

    from benchmarks.papers.protocol import Part
    from lpisearch.evaluation.collection import Collection

NEIGHBOURS = (1, 5, 10, 20, 40)
STRENGTHS = (0.1, 1.0, 10.0)
ORIGINAL = 0


def measure_categories(part: Part) -> dict[str, Any]:
    """Learn from the documents of a split, and judge the others."""
    (share,), (draw,) = part.options, part.subset
    collection = load(part.data)
    seen, unseen = _split(collection, share, draw)
    weights = TermWeights(np.ones(collection.counts.shape[1], bool), _tf(collection))
    X, others = weights.apply(seen.counts), weights.apply(unseen.counts)
    labels = seen.single_labels
    learned = learn(part.method, X, len(set(labels)), labels)
    points: Any = X
    asked: Any = others
    if learned.estimator is not None:
        points, asked = learned.vectors(X), learned.estimator.transform(others)
    names, classes = np.unique(labels, return_inverse=True)
    truth = np.searchsorted(names, unseen.single_labels)
    return {
        "fit_s": learned.seconds,
        "documents": X.shape[0],
        "terms": X.shape[1],
        "centroid": _centroid(points, classes, asked, truth),
        "knn": _knn(points, classes, asked, truth),
        "svm": _svm(points, classes, asked, truth),
    }


def _split(collection: Collection, share: float, draw: int) -> tuple[Collection, Collection]:
    if share == ORIGINAL:
        splits = np.array(collection.splits)
        return (
            collection.of(np.flatnonzero(splits == "train")),
            collection.of(np.flatnonzero(splits == "test")),
        )
    seen, unseen = split_by_share(collection.single_labels, share, random_state=draw)
    return collection.of(seen), collection.of(unseen)


def _tf(collection: Collection) -> Weighting:
    return Weighting.fit(collection.counts, "tf")


def _centroid(points: Any, classes: Indices, asked: Any, truth: Indices) -> dict[str, Any]:
    """Take the class with the nearest mean."""
    from sklearn.neighbors import NearestCentroid

    began = time.process_time()
    model = NearestCentroid().fit(points, classes)
    learned = time.process_time()
    right = np.mean(model.predict(asked) == truth)
    return _found({"": float(right)}, learned - began, time.process_time() - learned)


def _knn(points: Any, classes: Indices, asked: Any, truth: Indices) -> dict[str, Any]:
    """Let the k nearest vote; of equal classes take the one that is nearest."""
    from sklearn.neighbors import NearestNeighbors

    began = time.process_time()
    model = NearestNeighbors(n_neighbors=NEIGHBOURS[-1], algorithm="brute").fit(points)
    nearest = classes[model.kneighbors(asked, return_distance=False)]
    n_classes = int(classes.max()) + 1
    right = {}
    for k in NEIGHBOURS:
        votes = np.zeros((len(nearest), n_classes))
        for place in range(k):
            # A vote that is nearer counts a little more, so that ties are settled.
            votes[np.arange(len(nearest)), nearest[:, place]] += 1 + 1e-6 / (place + 1)
        right[str(k)] = float(np.mean(votes.argmax(axis=1) == truth))
    return _found(right, 0.0, time.process_time() - began)


def _svm(points: Any, classes: Indices, asked: Any, truth: Indices) -> dict[str, Any]:
    """Learn linear machines of several strengths, each class against the others."""
    from sklearn.svm import LinearSVC

    right, train, test = {}, 0.0, 0.0
    for strength in STRENGTHS:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one that stops early is good enough
            model = LinearSVC(C=strength, dual="auto", random_state=0).fit(points, classes)
        learned = time.process_time()
        right[f"{strength:g}"] = float(np.mean(model.predict(asked) == truth))
        train, test = train + learned - began, test + time.process_time() - learned
    return _found(right, train / len(STRENGTHS), test / len(STRENGTHS))


def _found(right: dict[str, float], train: float, test: float) -> dict[str, Any]:
    accuracy = {name: 100 * share for name, share in right.items()}
    return {"accuracy": accuracy, "train_s": train, "test_s": test}
