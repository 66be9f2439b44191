"""Measurements that run in a process of their own: a part in, a dictionary of numbers out."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.papers.categorisation import measure_categories
from benchmarks.papers.datasets import load
from benchmarks.papers.freshness import COMMIT, commit_of_code
from benchmarks.papers.methods import learn
from benchmarks.papers.readings import measure_grid, measure_lsi, measure_starts
from lpisearch.evaluation.cells import TermWeights
from lpisearch.evaluation.clustering import (
    cluster_documents,
    clustering_accuracy,
    mutual_information,
)
from lpisearch.evaluation.similarity import average_accuracy, pair_precision

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_array

    from benchmarks.papers.protocol import Part

STARTS = 10


class Documents(NamedTuple):
    """Weighted documents (rows at unit length), their labels, and how many classes they have."""

    X: csr_array
    labels: list[str]
    n_classes: int


class Measure(NamedTuple):
    """A measurement, and whether it takes all documents where no classes are drawn."""

    compute: Callable[[Part], dict[str, Any]]
    whole: bool = False


def measured(part: Part) -> dict[str, Any]:
    """Compute a part on one thread; say what went wrong where a method cannot."""
    with threadpool_limits(1), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = MEASURES[part.measure].compute(part) | {COMMIT: commit_of_code()}
        except ValueError as error:
            return {"error": str(error)}
    names = {warning.category.__name__ for warning in said}
    return found | ({"not_converged": True} if "NotConverged" in names else {})


def clusters(part: Part) -> dict[str, Any]:
    """Cluster documents by k-means of ten starts, or as the method does by itself."""
    X, labels, n_classes = documents_of(part)
    learned = learn(part.method, X, n_classes)
    began = time.process_time()
    own = learned.clusters()
    if own is None:
        vectors = learned.vectors(X)
        found = cluster_documents(vectors, n_classes, starts=STARTS, init=part.method.init)
        own = found.assignments
    return {
        **_agreement(labels, own),
        "fit_s": learned.seconds,
        "cluster_s": time.process_time() - began,
        "documents": X.shape[0],
        "terms": X.shape[1],
        **learned.shape_facts(X.shape[1]),
    }


def clusters_by_dimension(part: Part) -> dict[str, Any]:
    """Cluster documents in the first 1, 2, … of many dimensions, from one fit."""
    X, labels, n_classes = documents_of(part)
    vectors = np.asarray(learn(part.method, X, n_classes).vectors(X))
    found: dict[str, Any] = {}
    for dims in part.options:
        if dims <= vectors.shape[1]:
            own = cluster_documents(vectors[:, :dims], n_classes, starts=STARTS).assignments
            found[str(dims)] = _agreement(labels, own)
    return {"by_dims": found}


def similarity(part: Part) -> dict[str, Any]:
    """Rank pairs and neighbours by cosine, in shares (per mille) of all dimensions."""
    X, labels, n_classes = documents_of(part)
    shares = {rate: max(1, round(rate * X.shape[0] / 1000)) for rate in part.options}
    method = part.method
    if shares:
        most = ("n_components", max(shares.values()))
        method = replace(method, arguments=tuple(sorted((*method.arguments, most))))
    vectors = learn(method, X, n_classes).vectors(X)
    found = {}
    for rate, dims in (shares or {1000: X.shape[1]}).items():
        own = vectors[:, :dims]
        found[str(rate)] = {
            "AP": pair_precision(own, labels).precision,
            "accuracy": average_accuracy(own, labels),
        }
    return {"by_rate": found, "documents": X.shape[0], "classes": n_classes}


def eigenvalues(part: Part) -> dict[str, Any]:
    """Return the values of the locality preserving function, f of each direction."""
    X, _, n_classes = documents_of(part)
    estimator: Any = learn(part.method, X, n_classes).estimator
    return {"values": (1 - estimator.eigenvalues_).tolist(), "documents": X.shape[0]}


def convergence(part: Part) -> dict[str, Any]:
    """Return the objective and the residual of each step of alternating directions."""
    X, _, n_classes = documents_of(part)
    estimator: Any = learn(part.method, X, n_classes).estimator
    history = estimator.history_
    return {name: np.asarray(history[name]).tolist() for name in ("objective", "residual")}


MEASURES: dict[str, Measure] = {
    "clusters": Measure(clusters, whole=True),
    "clusters_by_dimension": Measure(clusters_by_dimension),
    "similarity": Measure(similarity),
    "eigenvalues": Measure(eigenvalues),
    "convergence": Measure(convergence),
    "categories": Measure(measure_categories, whole=True),
    "starts": Measure(measure_starts),
    "grid": Measure(measure_grid),
    "lsi-readings": Measure(measure_lsi),
}


def documents_of(part: Part) -> Documents:
    """Take the classes that were drawn, or the documents with a word (a column)."""
    collection = load(part.data)
    labels = np.array(collection.single_labels)
    if part.subset and isinstance(part.subset[0], int):
        holds = collection.counts[:, [part.subset[0]]].toarray().ravel() > 0
        collection = collection.of(np.flatnonzero(holds))
    elif part.subset:
        collection = collection.of(np.flatnonzero(np.isin(labels, part.subset)))
    X = TermWeights.learn(collection, "tf").apply(collection.counts)
    own = collection.single_labels
    return Documents(X, own, len(set(own)))


def _agreement(labels: list[str], own: Any) -> dict[str, float]:
    found = own.tolist()
    return {
        "AC": 100 * clustering_accuracy(labels, found),
        "NMI": 100 * mutual_information(labels, found),
    }
