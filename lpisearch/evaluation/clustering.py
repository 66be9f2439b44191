"""Clustering experiment and measures.

The shape of tables 2 and 3 of rlpi-2007: k-means with ten starts on each representation, of which
the best by its own objective is kept; its clusters are compared with the classes by accuracy under
the best assignment (AC) and by normalised mutual information (NMI).

Documents come in as rows (the papers write columns). Each needs at most one label, as in the
papers; documents without a label are left out of the measures.
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
from lpisearch.evaluation.collection import single_labelled
from lpisearch.evaluation.figures import as_report, compared, curves, mean_and_spread
from lpisearch.evaluation.label_measures import Labelling, as_list, as_matrix
from lpisearch.evaluation.representations import (
    PAPERS,
    TermWeights,
    check_options,
    chosen_methods,
    class_dimensions,
    represent,
)
from lpisearch.evaluation.significance import Measured, with_differences
from lpisearch.methods.base import check_count
from lpisearch.model.reports import Table
from lpisearch.numeric.kmeans import normalised_information
from lpisearch.numeric.threads import one_thread_if_small

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lpisearch.evaluation.cache import Cells
    from lpisearch.evaluation.collection import Collection, EvaluationInput
    from lpisearch.evaluation.label_measures import Labels
    from lpisearch.model.reports import Cell, Report
    from lpisearch.options import ClusterOptions, EvaluateOptions

    Whole = NDArray[np.integer[Any]]
    Floats = NDArray[np.floating[Any]]


ALL = 0
"""In place of a number of classes: all at once."""
_MEASURES = ("AC", "NMI")


def evaluate_cluster(
    source: EvaluationInput, options: EvaluateOptions, wanted: ClusterOptions, cells: Cells
) -> Report:
    """Measure how well clusters agree with classes.

    Raises
    ------
    BadOption, NothingToEvaluate, LibraryError
    """
    names = chosen_methods(options, PAPERS)
    check_options(options, names)
    collection = single_labelled(source.collection, options.largest)
    n_classes = len(set(collection.single_labels))
    _check(wanted, n_classes)
    draws = sum(_number_of_draws(number, n_classes, wanted.draws) for number in wanted.classes)
    cells.total += draws * len(names)
    rows: list[dict[str, Cell]] = []
    values: list[dict[int, float]] = []
    for number in wanted.classes:
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for draw, drawn in enumerate(_drawn(collection, number, wanted.draws, options.seed)):
            for name in names:
                key = f"{name}, {number or n_classes} classes, draw {draw + 1}"
                found[name].append(_cell(key, name, drawn, options, cells))
        rows += [_summarised(name, number or n_classes, own) for name, own in found.items()]
        values += map(_by_unit, found.values())
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
        figures = [curves(table, "classes", each, "classes") for each in _MEASURES]
    else:
        figures = [compared(table, _MEASURES)]
    return as_report("Clustering", collection, (options, wanted), [table, *pairs], figures)


def measure_clusters(name: str, collection: Collection, options: EvaluateOptions) -> dict[str, Any]:
    """Cluster documents in a representation, into as many clusters as they have classes."""
    labels = collection.single_labels
    number = len(set(labels))
    X = TermWeights.learn(collection, options.weighting).apply(collection.counts)
    learned = represent(name, X, options, dims=class_dimensions(name, number))
    began = time.perf_counter()
    with one_thread_if_small(len(labels)):
        own: Any = None if learned.estimator is None else learned.estimator.clusters_
        if own is None:
            places = learned.places(X)
            own = cluster_documents(places, number, random_state=options.seed).assignments
    return {
        "AC": clustering_accuracy(labels, own.tolist()),
        "NMI": mutual_information(labels, own.tolist()),
        "right": "".join(str(int(hit)) for hit in clustering_hits(labels, own.tolist())),
        "dims": learned.dims,
        "fit_s": learned.seconds,
        "cluster_s": time.perf_counter() - began,
    }


def _by_unit(own: Sequence[dict[str, Any]]) -> dict[int, float]:
    """Return AC by draw; of a single one, whether each document is in the right cluster."""
    if len(own) > 1:
        return dict(enumerate(each["AC"] for each in own))
    return dict(enumerate(float(right) for right in map(int, own[0]["right"])))


def _cell(
    key: str, name: str, drawn: Collection, options: EvaluateOptions, cells: Cells
) -> dict[str, Any]:
    measure = partial(measure_clusters, name, drawn, options)
    found: dict[str, Any] = cells.value(f"clusters, {key}", measure, *options.of_methods)
    return found


def _number_of_draws(number: int, n_classes: int, draws: int) -> int:
    """Count the sets: where there are fewer different ones than draws, each comes once."""
    return 1 if number == ALL else min(draws, math.comb(n_classes, number))


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
        row[what], spread = mean_and_spread([each[what] for each in own])
        if spread is not None:
            row[f"{what}_sd"] = spread
    row["dims"] = own[0]["dims"]
    row["seconds"] = fmean(each["fit_s"] + each["cluster_s"] for each in own)
    row |= {what: fmean(each[what] for each in own) for what in ("fit_s", "cluster_s")}
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
    """What k-means found.

    Attributes
    ----------
    assignments
        The number of each document's cluster, from 0.
    objective
        The sum of squared distances of the documents from the centres of their clusters.
    seconds
        How long all starts took together.
    """

    assignments: Whole
    objective: float
    seconds: float


def clustering_accuracy(labels: Labels, clusters: Labels) -> float:
    """Give AC: the share of documents in the right class when clusters are matched to classes.

    The matching is the best there is, one class to a cluster. With more clusters than classes
    some clusters have no class, and their documents count as wrong; likewise the other way round.

    Parameters
    ----------
    labels
        One for each document; documents without are left out.
    clusters
        The name of each document's cluster.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a document has several labels, none has one, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation.clustering import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    table = _table(labels, clusters)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / table.sum())


def clustering_hits(labels: Labels, clusters: Labels) -> list[bool]:
    """Tell of each labelled document whether it is in the right cluster.

    Parameters
    ----------
    labels
        One for each document; documents without are left out.
    clusters
        The name of each document's cluster.

    Returns
    -------
    list of bool
        `clustering_accuracy` is the share of true ones.

    Raises
    ------
    ValueError
        If a document has several labels, none has one, or the lengths differ.

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
    """Give the mutual information of classes and clusters over the larger of their entropies.

    It is 1 where they are the same but for names (also if all documents are in one class and one
    cluster) and 0 where they are independent.

    Parameters
    ----------
    labels
        One for each document; documents without are left out.
    clusters
        The name of each document's cluster.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a document has several labels, none has one, or the lengths differ.

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
    """Cluster documents by k-means; of several starts, keep the one with the best objective.

    Distances are Euclidean and rows are taken as they are: bring them to unit length first where
    only their direction matters. With fewer distinct documents than clusters, some clusters stay
    empty.

    Parameters
    ----------
    Y
        Documents x dimensions, dense or sparse.
    n_clusters
        How many clusters there are.
    starts
        How many starts there are, from different centres.
    init
        How centres are drawn: "k-means++", or "random" as in the papers.
    random_state
        Of the starts.

    Returns
    -------
    Clustering
        The cluster of each document, the objective and the time.

    Raises
    ------
    ValueError
        If there are fewer documents than clusters.

    Examples
    --------
    >>> from lpisearch.evaluation.clustering import cluster_documents
    >>> found = cluster_documents([[0.0], [0.2], [5.0]], 2)
    >>> len(set(found.assignments[:2].tolist())), len(set(found.assignments.tolist()))
    (1, 2)
    >>> round(found.objective, 6)
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
        # Fewer distinct documents than clusters: a rule stated above, not a surprise.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(Y)
    seconds = time.perf_counter() - begin
    return Clustering(np.asarray(model.labels_), float(model.inertia_), seconds)


def _table(labels: Labels, clusters: Labels) -> Whole:
    """Count the documents of each cluster (rows) in each class (columns)."""
    return _counts(*_numbered(labels, clusters))


def _numbered(labels: Labels, clusters: Labels) -> tuple[Whole, Whole]:
    """Return the number of the cluster and of the class of each labelled document."""
    if len(labels) != len(clusters):
        raise ValueError(f"There are {len(labels)} labels, but {len(clusters)} documents.")
    known = Labelling.of(labels)
    classes = known.single("The comparison with clusters")
    found = as_list(clusters)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(found))}
    return np.array([numbers[found[row]] for row in known.rows]), classes


def _counts(groups: Whole, classes: Whole) -> Whole:
    table = np.zeros((int(groups.max()) + 1, int(classes.max()) + 1), dtype=np.int64)
    np.add.at(table, (groups, classes), 1)
    return table
