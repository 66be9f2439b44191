"""Clustering: the experiment and its measures.

As in tables 2 and 3 of rlpi-2007: k-means with ten starts on each representation, of which the
best by its objective counts. Clusters are compared with classes by accuracy under the best
assignment (AC) and normalised mutual information (NMI). Documents are rows here (columns in the
papers). The measures skip unlabelled documents and raise ValueError if a document has several
labels, no document has one, or the lengths differ.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from lpisearch.errors import BadOption
from lpisearch.evaluation.cells import (
    PAPERS,
    TermWeights,
    as_report,
    check_options,
    chosen_methods,
    class_dimensions,
    compared,
    curves,
    mean_and_spread,
    represent,
)
from lpisearch.evaluation.collection import Collection, EvaluationInput, single_labelled
from lpisearch.evaluation.measures import Labelling, Measured, as_list, as_matrix, with_differences
from lpisearch.methods.base import check_count
from lpisearch.model.reports import Cell, Report, Table
from lpisearch.numeric.kmeans import normalised_information
from lpisearch.numeric.threads import one_thread_if_small

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lpisearch.evaluation.cells import Cells
    from lpisearch.evaluation.measures import Labels
    from lpisearch.options import ClusterOptions, EvaluateOptions

    Whole = NDArray[np.integer[Any]]
    Floats = NDArray[np.floating[Any]]


ALL = 0
"""Stands for all classes at once."""
_MEASURES = ("AC", "NMI")


def evaluate_cluster(
    source: EvaluationInput, options: EvaluateOptions, wanted: ClusterOptions, cells: Cells
) -> Report:
    """Measure how well k-means clusters agree with the classes."""
    names = chosen_methods(options, PAPERS)
    check_options(options, names)
    collection = single_labelled(source.collection, options.largest)
    n_classes = len(set(collection.single_labels))
    _check(wanted, n_classes)
    draws = sum(  # if there are fewer sets, each is drawn once
        1 if number == ALL else min(wanted.draws, math.comb(n_classes, number))
        for number in wanted.classes
    )
    cells.total += draws * len(names)
    rows: list[dict[str, Cell]] = []
    values: list[dict[int, float]] = []
    for number in wanted.classes:
        by_name: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for draw, drawn in enumerate(_drawn(collection, number, wanted.draws, options.seed)):
            for name in names:
                key = f"clusters, {name}, {number or n_classes} classes, draw {draw + 1}"
                measure = partial(measure_clusters, name, drawn, options)
                by_name[name].append(cells.value(key, measure, *options.of_methods))
        rows += [_summarised(name, number or n_classes, own) for name, own in by_name.items()]
        values += map(_by_unit, by_name.values())
    title = "Clustering: k-means (ten starts) compared with the classes"
    by_draw = any("draws" in row for row in rows)
    table, *pairs = with_differences(
        Table("cluster", title, tuple(rows), (*collection.notes, *cells.notes)),
        Measured(_MEASURES[0], "draw" if by_draw else "document", values),
        lambda row: str(row["representation"]),
        options.seed,
        (lambda row: row["classes"]) if len(wanted.classes) > 1 else (lambda _row: None),
    )
    if len(wanted.classes) > 1:
        figures = [curves(table, "classes", measure, "classes") for measure in _MEASURES]
    else:
        figures = [compared(table, _MEASURES)]
    return as_report("Clustering", collection, (options, wanted), [table, *pairs], figures)


def measure_clusters(name: str, collection: Collection, options: EvaluateOptions) -> dict[str, Any]:
    """Cluster documents in a representation, one cluster per class."""
    labels = collection.single_labels
    number = len(set(labels))
    X = TermWeights.learn(collection, options.weighting).apply(collection.counts)
    learned = represent(name, X, options, dims=class_dimensions(name, number))
    began = time.perf_counter()
    with one_thread_if_small(len(labels)):
        own: Any = None if learned.estimator is None else learned.estimator.clusters_
        if own is None:
            vectors = learned.vectors(X)
            own = cluster_documents(vectors, number, random_state=options.seed).assignments
    clusters = own.tolist()
    return {
        "AC": clustering_accuracy(labels, clusters),
        "NMI": mutual_information(labels, clusters),
        "right": "".join(str(int(hit)) for hit in clustering_hits(labels, clusters)),
        "dims": learned.dims,
        "fit_s": learned.seconds,
        "cluster_s": time.perf_counter() - began,
    }


def _by_unit(own: Sequence[dict[str, Any]]) -> dict[int, float]:
    """Return AC by draw; for a single draw, 1 or 0 for each document."""
    if len(own) > 1:
        return dict(enumerate(draw["AC"] for draw in own))
    return dict(enumerate(map(float, own[0]["right"])))


def _drawn(collection: Collection, number: int, draws: int, seed: int) -> Iterator[Collection]:
    if number == ALL:
        yield collection
        return
    from lpisearch.evaluation.splits import draw_classes

    labels = collection.single_labels
    for names in draw_classes(labels, number, draws, random_state=seed):
        yield collection.of(np.flatnonzero(np.isin(labels, names)))


def _summarised(name: str, number: int, own: Sequence[dict[str, Any]]) -> dict[str, Cell]:
    row: dict[str, Cell] = {"representation": name, "classes": number}
    for what in _MEASURES:
        row |= mean_and_spread(what, own)
    row["dims"] = own[0]["dims"]
    row["seconds"] = fmean(draw["fit_s"] + draw["cluster_s"] for draw in own)
    row |= {what: fmean(draw[what] for draw in own) for what in ("fit_s", "cluster_s")}
    if len(own) > 1:
        row["draws"] = len(own)
    return row


def _check(wanted: ClusterOptions, n_classes: int) -> None:
    if not wanted.classes:
        raise BadOption("classes", "give at least one number of classes")
    for number in wanted.classes:
        if number != ALL and not 2 <= number <= n_classes:  # noqa: PLR2004 (to tell apart takes two)
            raise BadOption(
                "classes", f"{number} is not between 2 and {n_classes}, the number of classes"
            )
    if wanted.draws < 1:
        raise BadOption("draws", f"must be at least 1, not {wanted.draws}")


@dataclass(frozen=True, slots=True)
class Clustering:
    """A result of k-means."""

    assignments: Whole  # the cluster of each document, from 0
    objective: float  # sum of squared distances of documents to the centres of their clusters
    seconds: float  # for all starts


def clustering_accuracy(labels: Labels, clusters: Labels) -> float:
    """Return AC: the share of documents in the right class under the best matching.

    Each cluster is matched to at most one class, and each class to at most one cluster; documents
    of an unmatched cluster or class count as wrong.

    Examples
    --------
    >>> from lpisearch.evaluation.clustering import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    table = _table(labels, clusters)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / table.sum())


def clustering_hits(labels: Labels, clusters: Labels) -> list[bool]:
    """Return whether each labelled document is in the right cluster; their share is AC.

    Examples
    --------
    >>> from lpisearch.evaluation.clustering import clustering_hits
    >>> clustering_hits(["a", "a", "b", "b"], [1, 1, 0, 1])
    [True, True, True, False]
    """
    groups, classes = _numbered(labels, clusters)
    best = linear_sum_assignment(_counts(groups, classes), maximize=True)
    right = {(int(group), int(own)) for group, own in zip(*best, strict=True)}
    return [pair in right for pair in zip(groups.tolist(), classes.tolist(), strict=True)]


def mutual_information(labels: Labels, clusters: Labels) -> float:
    """Return the mutual information of classes and clusters over the larger of their entropies.

    It is 1 if they are equal up to names (also if all documents are in one class and one cluster)
    and 0 if they are independent.

    Examples
    --------
    >>> from lpisearch.evaluation.clustering import mutual_information
    >>> mutual_information(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    >>> mutual_information(["a", "a", "b", "b"], [0, 1, 0, 1])
    0.0
    """
    return normalised_information(_table(labels, clusters))


def cluster_documents(
    Y: Any, n_clusters: int, *, starts: int = 10, init: str = "k-means++", random_state: Any = 0
) -> Clustering:
    """Cluster documents by k-means and return the start with the best objective.

    Distances are Euclidean; normalise rows first if only their direction matters. With fewer
    distinct documents than clusters, some clusters stay empty.

    Examples
    --------
    >>> from lpisearch.evaluation.clustering import cluster_documents
    >>> clusters = cluster_documents([[0.0], [0.2], [5.0]], 2)
    >>> len(set(clusters.assignments[:2].tolist())), len(set(clusters.assignments.tolist()))
    (1, 2)
    >>> round(clusters.objective, 6)
    0.02
    """
    check_count("n_clusters", n_clusters)
    check_count("starts", starts)
    Y = as_matrix(Y)
    if Y.shape[0] < n_clusters:
        raise ValueError(f"{Y.shape[0]} documents cannot form {n_clusters} clusters.")
    begin = time.perf_counter()
    model = KMeans(n_clusters, n_init=starts, init=init, random_state=random_state)
    with warnings.catch_warnings():
        # Fewer distinct documents than clusters, as described above.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(Y)
    seconds = time.perf_counter() - begin
    return Clustering(np.asarray(model.labels_), float(model.inertia_), seconds)


def _table(labels: Labels, clusters: Labels) -> Whole:
    """Count documents by cluster (rows) and class (columns)."""
    return _counts(*_numbered(labels, clusters))


def _numbered(labels: Labels, clusters: Labels) -> tuple[Whole, Whole]:
    """Return the cluster and the class of each labelled document, as numbers."""
    if len(labels) != len(clusters):
        raise ValueError(f"There are {len(labels)} labels, but {len(clusters)} documents.")
    known = Labelling.of(labels)
    classes = known.single("The comparison with clusters")
    names = as_list(clusters)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[names[row]] for row in known.rows]), classes


def _counts(groups: Whole, classes: Whole) -> Whole:
    table = np.zeros((int(groups.max()) + 1, int(classes.max()) + 1), dtype=np.int64)
    np.add.at(table, (groups, classes), 1)
    return table
