"""Text categorisation: classifiers compared on representations.

As in tables 4 and 5 of rlpi-2007. For each split, everything (vocabulary, idf, projection,
classifier) is learned from the training documents only. With several labels per document, labels
are predicted as by `lpisearch classify`: scores become shares, and besides the best label every
label with a share above a threshold is assigned. The weight of the scores and the threshold are
tuned on a held-out fifth of the training documents; the final model is trained on all of them.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.classifiers.classifier import (
    NO_FURTHER,
    Members,
    as_shares,
    best_weights,
    decided_labels,
    further_share,
    neighbour_votes,
)
from lpisearch.errors import BadOption
from lpisearch.evaluation.cells import (
    PAPERS,
    TermWeights,
    as_report,
    check_options,
    chosen_methods,
    class_dimensions,
    compared_by,
    curves,
    mean_and_spread,
    represent,
    takes_labels,
)
from lpisearch.evaluation.collection import has_several, labelled, single_labelled
from lpisearch.evaluation.measures import (
    Measured,
    accuracy,
    macro_f1,
    set_f1,
    with_differences,
    worst_pairs,
)
from lpisearch.evaluation.splits import (
    AUTO,
    FIELD,
    described,
    make_splits,
    percent,
    split_by_share,
    split_notes,
)
from lpisearch.messages import Message, Option, have, quoted
from lpisearch.model.reports import Cell, Report, Table
from lpisearch.numeric.rows import divided_by_lengths
from lpisearch.numeric.threads import one_blas_thread
from lpisearch.text.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.evaluation.cells import Cells, Represented
    from lpisearch.evaluation.collection import Collection, EvaluationInput
    from lpisearch.evaluation.splits import Split
    from lpisearch.options import CategoriesOptions, EvaluateOptions

    Names = NDArray[np.str_]
    Scorer = Callable[[Any], NDArray[np.floating[Any]]]
    Labels = Sequence[tuple[str, ...]]


# Leaving out rare words only cost accuracy (five draws of 80 % of the training documents of
# 20 Newsgroups and Reuters).
EVERY_WORD = VocabularyLimits(min_df=1)
_PAIRS = 10
MEASURES = ("accuracy", "P@1", "micro_f1", "macro_f1")
"""Accuracy if each document has one label, otherwise P@1 and micro F1."""
SHARE = "share of documents used for training"


def evaluate_classify(
    source: EvaluationInput, options: EvaluateOptions, wanted: CategoriesOptions, cells: Cells
) -> Report:
    """Measure classifiers on representations."""
    names = chosen_methods(options, PAPERS)
    check_options(options, names, has_labels=True)
    _check(wanted)
    collection = replace(_select(source.collection, options, wanted), limits=EVERY_WORD)
    splits = list(make_splits(collection, wanted, options.seed))
    cells.total += len(splits) * len(names)
    experiment = _Experiment(collection, options, wanted)
    results = [
        row for split in splits for name in names for row in experiment.rows(split, name, cells)
    ]
    rows = _summarised(results)
    title = f"Classification: {described(splits)}"
    notes = (*collection.notes, *split_notes(collection, splits), *cells.notes)
    measures = _measures(rows)
    measured = Measured(measures[0], "document", _right_by_document(results, splits))
    table, *pairs = with_differences(
        Table("classify", title, tuple(rows), notes),
        measured,
        lambda row: f"{row['representation']} {row['classifier']}",
        options.seed,
        lambda row: row.get("train"),
    )
    tables = [table, _pairs_table(results, rows), *pairs]
    if len(wanted.train) > 1:
        figures = [curves(table, "train", measure, SHARE) for measure in measures]
    else:
        figures = [compared_by(table, "classifier", measure) for measure in measures]
    return as_report("Classification", collection, (options, wanted), tables, figures)


def _select(
    collection: Collection, options: EvaluateOptions, wanted: CategoriesOptions
) -> Collection:
    """Return the labelled documents or, with `single`, those with one label, as in the papers."""
    if wanted.single or options.largest is not None:
        return single_labelled(collection, options.largest)
    known = labelled(collection)
    if not has_several(known):
        return single_labelled(collection)
    several = sum(len(own) > 1 for own in known.labels)
    note = (
        f"{have(several, 'document')} more than one label. P@1 is the share whose top label is "
        "correct; F1 counts all labels of all documents."
    )
    return replace(known, notes=(*known.notes, note))


def _measures(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name in MEASURES if name in rows[0]]


class _Row(NamedTuple):
    """One classifier on one representation of one draw; `right` has 1 or 0 per test document."""

    split: str | float
    draw: int
    right: str
    representation: str
    classifier: str
    cells: dict[str, Any]
    pairs: list[Any]

    @property
    def setting(self) -> tuple[str | float, str, str]:
        return self.split, self.representation, self.classifier


@dataclass(frozen=True, eq=False, slots=True)
class _Experiment:
    """Classifiers on representations of one collection."""

    collection: Collection
    options: EvaluateOptions
    wanted: CategoriesOptions

    def rows(self, split: Split, name: str, cells: Cells) -> list[_Row]:
        """Test all classifiers on one representation of one split."""
        drawn = f", draw {split.draw + 1}" if split.train != FIELD else ""
        part = f"classes, {name}, {percent(split.train)}{drawn}"
        varied = (split.train, *self.options.of_methods)
        values = cells.value(part, partial(self._measure, split, name), *varied)
        return [
            _Row(split.train, split.draw, own["right"], name, by, own["cells"], own["pairs"])
            for by, own in values.items()
        ]

    def _measure(self, split: Split, name: str) -> dict[str, Any]:
        seen, unseen = self.collection.of(split.seen), self.collection.of(split.unseen)
        if has_several(self.collection):
            decided = decide(name, seen, unseen, self.options, self.wanted.classifiers)
            return {by: _scored_sets(one, unseen) for by, one in decided.items()}
        weights = TermWeights.learn(seen, self.options.weighting)
        X, labels = weights.apply(seen.counts), seen.single_labels
        classes = len(set(labels))
        dims = class_dimensions(name, classes) if takes_labels(name) else None
        learned = represent(name, X, self.options, dims=dims, labels=labels)
        points = learned.directions(X)
        others = learned.directions(weights.apply(unseen.counts))
        return {
            by: _scored(judge(by, points, labels, others, self.options.seed), unseen, learned)
            for by in self.wanted.classifiers
        }


def _scored(judged: Judged, unseen: Collection, learned: Represented) -> dict[str, Any]:
    truth, best = unseen.single_labels, judged.labels.tolist()
    measures = {"accuracy": accuracy(truth, best), "macro_f1": macro_f1(truth, best)}
    return _values([[label] for label in truth], best, measures, judged, learned)


def _scored_sets(decided: Decided, unseen: Collection) -> dict[str, Any]:
    truth = [list(own) for own in unseen.labels]
    best = [labels[0] for labels in decided.labels]
    f1 = set_f1(truth, decided.labels)
    measures = {"P@1": accuracy(truth, best), "micro_f1": f1.micro, "macro_f1": f1.macro}
    return _values(truth, best, measures, decided, decided.learned)


def _values(
    truth: Sequence[list[str]],
    best: Sequence[str],
    measures: dict[str, float],
    timed: Judged | Decided,
    learned: Represented,
) -> dict[str, Any]:
    """Return the JSON value of a part: its cells, the correct documents and the confusions."""
    cells = measures | {
        "fit_s": timed.fit_seconds + learned.seconds,
        "predict_s": timed.predict_seconds,
        "dims": learned.dims,
        "alpha": learned.alpha,
    }
    right = "".join(str(int(one in own)) for one, own in zip(best, truth, strict=True))
    pairs = [[one.label, one.predicted, one.count] for one in worst_pairs(truth, best, _PAIRS)]
    return {"cells": cells, "right": right, "pairs": pairs}


def _right_by_document(results: Sequence[_Row], splits: Sequence[Split]) -> list[dict[int, float]]:
    """Return, for each row of the table, the share of draws in which each document is correct."""
    unseen = {(split.train, split.draw): split.unseen.tolist() for split in splits}
    draws: dict[tuple[str | float, str, str], dict[int, list[bool]]] = {}
    for row in results:
        own = draws.setdefault(row.setting, {})
        for document, right in zip(unseen[row.split, row.draw], row.right, strict=True):
            own.setdefault(document, []).append(right == "1")
    return [{document: fmean(right) for document, right in own.items()} for own in draws.values()]


def _summarised(results: Sequence[_Row]) -> list[dict[str, Cell]]:
    rows = []
    for setting in dict.fromkeys(row.setting for row in results):
        train, representation, classifier = setting
        own = [row.cells for row in results if row.setting == setting]
        row: dict[str, Cell] = {} if train == FIELD else {"train": train}
        row |= {"representation": representation, "classifier": classifier}
        for what in _measures(own):
            row |= mean_and_spread(what, own)
        row |= {what: fmean(draw[what] for draw in own) for what in ("fit_s", "predict_s")}
        row["dims"] = own[0]["dims"]
        alphas = [draw["alpha"] for draw in own if draw["alpha"] is not None]
        row["alpha"] = fmean(alphas) if alphas else None
        if len(own) > 1:
            row["repeats"] = len(own)
        rows.append(row)
    return rows


def _pairs_table(results: Sequence[_Row], rows: Sequence[dict[str, Cell]]) -> Table:
    """List the confusions of the best row, over all its draws."""
    first = _measures(rows)[0]
    best = max(rows, key=lambda row: float(row[first] or 0))
    setting = (best.get("train", FIELD), best["representation"], best["classifier"])
    counts: Counter[tuple[str, str]] = Counter()
    for row in results:
        for label, predicted, count in row.pairs if row.setting == setting else ():
            counts[label, predicted] += count
    title = f"Most frequent confusions of {best['representation']} with {best['classifier']}"
    pairs: list[dict[str, Cell]] = [
        {"label": label, "taken_for": predicted, "documents": count}
        for (label, predicted), count in counts.most_common(_PAIRS)
    ]
    return Table("worst_pairs", title, tuple(pairs))


def _check(wanted: CategoriesOptions) -> None:
    unknown = [name for name in wanted.classifiers if name not in CLASSIFIERS]
    if unknown:
        raise BadOption("classifiers", f"unknown classifier {quoted(unknown)}", CLASSIFIERS)
    if not wanted.classifiers:
        raise BadOption("classifiers", "give at least one", CLASSIFIERS)
    if wanted.split not in {FIELD, AUTO}:
        raise BadOption("split", f"unknown value “{wanted.split}”", [FIELD, AUTO])
    if wanted.split == FIELD and wanted.train:
        raise BadOption(
            "train",
            Message(
                "cannot be combined with ",
                Option("split", FIELD),
                ", which fixes the training documents",
            ),
        )
    if wanted.repeats < 1:
        raise BadOption("repeats", f"must be at least 1, not {wanted.repeats}")
    for share in wanted.train:
        if not 0 < share < 1:
            raise BadOption("train", f"{share:g} is not between 0 and 1 (write 5% or .05)")


# A tenth of it gave the same accuracy.
_SVM_TOLERANCE = 0.01


class Judged(NamedTuple):
    """Predicted labels, and the time for training and prediction."""

    labels: Names
    fit_seconds: float
    predict_seconds: float


def judge(by: str, points: Any, labels: Sequence[str], others: Any, seed: int) -> Judged:
    """Train a classifier (centroid, knn or svm) on unit rows, and label other documents."""
    names, classes = np.unique(np.array(labels), return_inverse=True)
    members = Members(np.arange(len(classes) + 1), classes)
    with one_blas_thread():
        began = time.perf_counter()
        scorer = _LEARNERS[by](points, members, len(names), seed)
        learned = time.perf_counter()
        best = scorer(others).argmax(axis=1)
        done = time.perf_counter()
    return Judged(names[best], learned - began, done - learned)


# Each learner returns a function that scores documents by class. In sums, a document with m labels
# counts 1 / m for each.
def _centroid(points: Any, members: Members, n_classes: int, _seed: int) -> Scorer:
    """Score by cosine with the mean of each class."""
    belongs = np.ascontiguousarray(members.shares(n_classes).T)
    centres = divided_by_lengths(np.asarray(belongs @ points, np.float64)).astype(np.float32)
    return lambda others: np.asarray(others @ centres.T)


def _knn(points: Any, members: Members, n_classes: int, _seed: int) -> Scorer:
    """Score by the votes of the nearest training documents, weighted by cosine."""
    return lambda others: neighbour_votes(others, points, members, n_classes)


def _svm(points: Any, members: Members, n_classes: int, seed: int) -> Scorer:
    """Score by linear support vector machines, one class against the rest."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    machine: Any = LinearSVC(tol=_SVM_TOLERANCE, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopping before convergence is good enough
        if (members.sizes == 1).all():
            machine.fit(points, members.classes)
        else:
            flags = (members.shares(n_classes) > 0).astype(np.int8)
            machine = OneVsRestClassifier(machine).fit(points, flags)

    def scores(others: Any) -> Any:
        values = machine.decision_function(others)
        return values if values.ndim > 1 else np.stack([-values, values], axis=1)

    return scores


_LEARNERS: dict[str, Callable[[Any, Members, int, int], Scorer]] = {
    "centroid": _centroid,
    "knn": _knn,
    "svm": _svm,
}
CLASSIFIERS = tuple(_LEARNERS)


_TRAINING_SHARE = 0.8
_LEAST = 10
"""With fewer documents none are held out, and every document gets only its best label."""


class Decided(NamedTuple):
    """The labels of each test document, best first, and the time for training and prediction."""

    labels: list[tuple[str, ...]]
    learned: Represented
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True, eq=False, slots=True)
class _TrainingSet:
    """Documents in a representation, with their classes."""

    learned: Represented
    points: Any
    members: Members
    names: list[str]
    seed: int

    @classmethod
    def by(cls, name: str, X: csr_array, labels: Labels, options: EvaluateOptions) -> _TrainingSet:
        names = sorted({label for own in labels for label in own})
        dims = class_dimensions(name, len(names)) if takes_labels(name) else None
        learned = represent(name, X, options, dims=dims, labels=[list(own) for own in labels])
        return cls(learned, learned.directions(X), _members(labels, names), names, options.seed)

    def scorer(self, by: str) -> Scorer:
        return _LEARNERS[by](self.points, self.members, len(self.names), self.seed)


def decide(
    name: str,
    seen: Collection,
    unseen: Collection,
    options: EvaluateOptions,
    classifiers: Sequence[str],
) -> dict[str, Decided]:
    """Learn from documents with several labels, and label others by each classifier."""
    weights = TermWeights.learn(seen, options.weighting)
    X, others = weights.apply(seen.counts), weights.apply(unseen.counts)
    whole = _TrainingSet.by(name, X, seen.labels, options)
    points = whole.learned.directions(others)
    train, test = split_by_share(seen.labels, _TRAINING_SHARE, random_state=options.seed)
    held_out: tuple[_TrainingSet, Any, Labels] | None = None
    if len(seen) >= _LEAST and len(test):
        part = _TrainingSet.by(name, X[train], [seen.labels[row] for row in train], options)
        held_out = part, part.learned.directions(X[test]), [seen.labels[row] for row in test]
    decided = {}
    for by in classifiers:
        with one_blas_thread():
            began = time.perf_counter()
            weight, further = (1.0, NO_FURTHER) if held_out is None else _tune(by, *held_out)
            scorer = whole.scorer(by)
            fitted = time.perf_counter()
            shares = as_shares(weight * scorer(points))
            labels = [
                tuple(whole.names[number] for number in decided_labels(row, further))
                for row in shares
            ]
            done = time.perf_counter()
        decided[by] = Decided(labels, whole.learned, fitted - began, done - fitted)
    return decided


def _tune(by: str, training: _TrainingSet, points: Any, labels: Labels) -> tuple[float, float]:
    """Learn the weight of scores, and the share above which a further label is assigned."""
    known = set(training.names)
    rows = [row for row, own in enumerate(labels) if known.intersection(own)]
    if not rows:
        return 1.0, NO_FURTHER
    own = [tuple(name for name in labels[row] if name in known) for row in rows]
    truth = _members(own, training.names).shares(len(training.names))
    scores = training.scorer(by)(points[rows])
    (weight,) = best_weights([scores], truth)
    return weight, further_share(as_shares(weight * scores), truth > 0)


def _members(labels: Labels, names: Sequence[str]) -> Members:
    numbers = {name: number for number, name in enumerate(names)}
    starts = np.cumsum([0, *map(len, labels)], dtype=np.int64)
    return Members(starts, np.array([numbers[name] for own in labels for name in own], np.int32))
