"""`lpisearch evaluate cluster`: compare clusters with the labels.

The shape of tables 2 and 3 of rlpi-2007: k-means with ten starts on each representation, of which
the best by its own objective is kept; its clusters are compared with the classes by accuracy under
the best assignment (AC) and by normalised mutual information (NMI).
"""

from __future__ import annotations

import math
import time
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.threads import one_thread_if_small
from lpisearch.errors import BadOption
from lpisearch.evaluation.experiments.collection import single_labelled
from lpisearch.evaluation.experiments.differences import Measured, with_differences
from lpisearch.evaluation.experiments.figures import compared, curves
from lpisearch.evaluation.experiments.reporting import as_report, mean_and_spread
from lpisearch.evaluation.experiments.representations import (
    PAPERS,
    TermWeights,
    check_options,
    chosen_methods,
    class_dimensions,
    represent,
)
from lpisearch.records import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lpisearch.evaluation.experiments.cells import Cells
    from lpisearch.evaluation.experiments.collection import Collection
    from lpisearch.evaluation.experiments.sources import EvaluationInput
    from lpisearch.records import Cell, Report
    from lpisearch.settings import ClusterOptions, EvaluateOptions

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
    from lpisearch.evaluation import (
        cluster_documents,
        clustering_accuracy,
        clustering_hits,
        mutual_information,
    )

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
    from lpisearch.evaluation import draw_classes

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
