"""Text categorisation experiment, classifiers compared.

The shape of tables 4 and 5 of rlpi-2007. For each split, everything (which terms are kept, their
idf, the map, the classifier) is learned from the training documents alone; the others are only
placed and judged.

The labels of a document are decided as `lpisearch classify` decides them: scores become shares,
and beside the best label every other one with a share above a border is given. The weight of the
scores and the border are learned from a fifth of the training documents, by what the others teach;
then all training documents teach.
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
from lpisearch.evaluation.collection import has_several, labelled, single_labelled
from lpisearch.evaluation.figures import as_report, compared_by, curves, mean_and_spread
from lpisearch.evaluation.representations import (
    PAPERS,
    TermWeights,
    check_options,
    chosen_methods,
    class_dimensions,
    represent,
    takes_labels,
)
from lpisearch.evaluation.significance import Measured, with_differences
from lpisearch.evaluation.splits import AUTO, FIELD, described, make_splits, percent, split_notes
from lpisearch.messages import Message, Option, have, quoted
from lpisearch.model.reports import Table
from lpisearch.numeric.rows import divided_by_lengths
from lpisearch.numeric.threads import one_blas_thread
from lpisearch.text.vocabulary import VocabularyLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.evaluation.cache import Cells
    from lpisearch.evaluation.collection import Collection, EvaluationInput
    from lpisearch.evaluation.label_measures import Confused
    from lpisearch.evaluation.representations import Represented
    from lpisearch.evaluation.splits import Split
    from lpisearch.model.reports import Cell, Report
    from lpisearch.options import CategoriesOptions, EvaluateOptions

    Names = NDArray[np.str_]
    Scorer = Callable[[Any], NDArray[np.floating[Any]]]
    Labels = Sequence[tuple[str, ...]]


# Labels are learned from every word. Among documents that were all for training (five draws of
# 80 %, 20 Newsgroups and Reuters), leaving out rare words only cost accuracy.
EVERY_WORD = VocabularyLimits(min_df=1)
_PAIRS = 10
MEASURES = ("accuracy", "P@1", "micro_f1", "macro_f1")
"""Accuracy where each document has one label, precision at 1 and micro F1 where some have more."""
SHARE = "share of documents used for training"


def evaluate_classify(
    source: EvaluationInput, options: EvaluateOptions, wanted: CategoriesOptions, cells: Cells
) -> Report:
    """Measure classifiers on representations.

    Raises
    ------
    BadOption, LibraryError
    """
    names = chosen_methods(options, PAPERS)
    check_options(options, names, has_labels=True)
    _check(wanted)
    collection = replace(_wanted_documents(source.collection, options, wanted), limits=EVERY_WORD)
    splits = list(make_splits(collection, wanted, options.seed))
    cells.total += len(splits) * len(names)
    experiment = _Experiment(collection, options, wanted)
    found = [
        row for split in splits for name in names for row in experiment.rows(split, name, cells)
    ]
    rows = _summarised(found)
    title = f"Classification: {described(splits)}"
    notes = (*collection.notes, *split_notes(collection, splits), *cells.notes)
    measures = _measures(rows)
    measured = Measured(measures[0], "document", _right_by_document(found, splits))
    table, *pairs = with_differences(
        Table("classify", title, tuple(rows), notes),
        measured,
        lambda row: f"{row['representation']} {row['classifier']}",
        options.seed,
        lambda row: row.get("train"),
    )
    tables = [table, _pairs_table(found, rows), *pairs]
    if len(wanted.train) > 1:
        figures = [curves(table, "train", each, SHARE) for each in measures]
    else:
        figures = [compared_by(table, "classifier", each) for each in measures]
    return as_report("Classification", collection, (options, wanted), tables, figures)


def _wanted_documents(
    collection: Collection, options: EvaluateOptions, wanted: CategoriesOptions
) -> Collection:
    """Return the documents with labels; those with just one, as the papers do, where asked."""
    if wanted.single or options.largest is not None:
        return single_labelled(collection, options.largest)
    known = labelled(collection)
    if not has_several(known):
        return single_labelled(collection)
    several = sum(len(own) > 1 for own in known.labels)
    said = f"{have(several, 'document')} more than one label. P@1 is the share whose top label is "
    notes = (*known.notes, f"{said}correct; F1 counts all labels of all documents.")
    return replace(known, notes=notes)


def _measures(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name in MEASURES if name in rows[0]]


class _Row(NamedTuple):
    """One classifier on one representation of one draw; `right` has a 1 or a 0 for each judged."""

    split: str | float
    draw: int
    right: str
    representation: str
    classifier: str
    cells: dict[str, Any]
    pairs: list[Any]


@dataclass(frozen=True, eq=False, slots=True)
class _Experiment:
    """Classifiers on representations of one collection."""

    collection: Collection
    options: EvaluateOptions
    wanted: CategoriesOptions

    def rows(self, split: Split, name: str, cells: Cells) -> list[_Row]:
        """Judge the unseen documents of a split by all classifiers on one representation."""
        drawn = f", draw {split.draw + 1}" if split.train != FIELD else ""
        named = percent(split.train) + drawn
        varied = (split.train, *self.options.of_methods)
        said = f"classes, {name}, {named}"
        values = cells.value(said, partial(self._measure, split, name), *varied)
        return [
            _Row(split.train, split.draw, own["right"], name, by, own["cells"], own["pairs"])
            for by, own in values.items()
        ]

    def _measure(self, split: Split, name: str) -> dict[str, Any]:
        seen, unseen = self.collection.of(split.seen), self.collection.of(split.unseen)
        if has_several(self.collection):
            decided = decide(name, seen, unseen, self.options, self.wanted.classifiers)
            return {by: _scored_sets(each, unseen) for by, each in decided.items()}
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


def _scored(judged: Judged, unseen: Collection, learned: Any) -> dict[str, Any]:
    from lpisearch.evaluation.label_measures import accuracy, macro_f1, worst_pairs

    truth, said = unseen.single_labels, judged.labels.tolist()
    cells = {
        "accuracy": accuracy(truth, said),
        "macro_f1": macro_f1(truth, said),
        "fit_s": judged.fit_seconds + learned.seconds,
        "predict_s": judged.predict_seconds,
        "dims": learned.dims,
        "alpha": learned.alpha,
    }
    right = "".join(str(int(one == own)) for one, own in zip(said, truth, strict=True))
    pairs = worst_pairs(truth, said, _PAIRS)
    return {"cells": cells, "right": right, "pairs": [[*_confused(one)] for one in pairs]}


def _scored_sets(decided: Decided, unseen: Collection) -> dict[str, Any]:
    from lpisearch.evaluation.label_measures import accuracy, set_f1, worst_pairs

    truth = [list(own) for own in unseen.labels]
    best = [labels[0] for labels in decided.labels]
    f1 = set_f1(truth, decided.labels)
    cells = {
        "P@1": accuracy(truth, best),
        "micro_f1": f1.micro,
        "macro_f1": f1.macro,
        "fit_s": decided.fit_seconds + decided.learned.seconds,
        "predict_s": decided.predict_seconds,
        "dims": decided.learned.dims,
        "alpha": decided.learned.alpha,
    }
    right = "".join(str(int(one in own)) for one, own in zip(best, truth, strict=True))
    pairs = worst_pairs(truth, best, _PAIRS)
    return {"cells": cells, "right": right, "pairs": [[*_confused(one)] for one in pairs]}


def _confused(one: Confused) -> tuple[str, str, int]:
    return one.label, one.predicted, one.count


def _right_by_document(found: Sequence[_Row], splits: Sequence[Split]) -> list[dict[int, float]]:
    """Return, for each row of the table, in which share of its draws each document is right."""
    unseen = {(split.train, split.draw): split.unseen.tolist() for split in splits}
    draws: dict[tuple[str | float, str, str], dict[int, list[bool]]] = {}
    for row in found:
        own = draws.setdefault((row.split, row.representation, row.classifier), {})
        for document, right in zip(unseen[row.split, row.draw], row.right, strict=True):
            own.setdefault(document, []).append(right == "1")
    return [{document: fmean(right) for document, right in own.items()} for own in draws.values()]


def _summarised(found: Sequence[_Row]) -> list[dict[str, Cell]]:
    rows = []
    for key in dict.fromkeys((row.split, row.representation, row.classifier) for row in found):
        own = [row.cells for row in found if (row.split, row.representation, row.classifier) == key]
        row: dict[str, Cell] = {} if key[0] == FIELD else {"train": key[0]}
        row |= {"representation": key[1], "classifier": key[2]}
        for what in (name for name in MEASURES if name in own[0]):
            row[what], spread = mean_and_spread([each[what] for each in own])
            if spread is not None:
                row[f"{what}_sd"] = spread
        row |= {what: fmean(each[what] for each in own) for what in ("fit_s", "predict_s")}
        row["dims"] = own[0]["dims"]
        alphas = [each["alpha"] for each in own if each["alpha"] is not None]
        row["alpha"] = fmean(alphas) if alphas else None
        if len(own) > 1:
            row["repeats"] = len(own)
        rows.append(row)
    return rows


def _pairs_table(found: Sequence[_Row], rows: Sequence[dict[str, Cell]]) -> Table:
    """Show what the best row confuses, over all its draws."""
    first = _measures(rows)[0]
    best = max(rows, key=lambda row: float(row[first] or 0))
    split = best.get("train", FIELD)
    own = [
        row
        for row in found
        if (row.split, row.representation, row.classifier)
        == (split, best["representation"], best["classifier"])
    ]
    counts: Counter[tuple[str, str]] = Counter()
    for row in own:
        for label, taken, count in row.pairs:
            counts[label, taken] += count
    title = f"Most frequent confusions of {best['representation']} with {best['classifier']}"
    pairs: list[dict[str, Cell]] = [
        {"label": label, "taken_for": taken, "documents": count}
        for (label, taken), count in counts.most_common(_PAIRS)
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


# Accuracy was measured to be the same at a tenth of it.
_SVM_TOLERANCE = 0.01


class Judged(NamedTuple):
    """Labels for documents, and what finding them took."""

    labels: Names
    fit_seconds: float
    predict_seconds: float


def judge(by: str, points: Any, labels: Sequence[str], others: Any, seed: int) -> Judged:
    """Learn from labelled documents, and label others.

    Parameters
    ----------
    by
        "centroid", "knn" or "svm".
    points, others
        Documents as rows at unit length, dense or sparse.
    """
    names, classes = np.unique(np.array(labels), return_inverse=True)
    members = Members(np.arange(len(classes) + 1), classes)
    with one_blas_thread():
        began = time.perf_counter()
        scorer = learn(by, points, members, len(names), seed)
        learned = time.perf_counter()
        best = scorer(others).argmax(axis=1)
        done = time.perf_counter()
    return Judged(names[best], learned - began, done - learned)


def learn(by: str, points: Any, members: Members, n_classes: int, seed: int) -> Scorer:
    """Learn a classifier, and return what scores documents by each class.

    A document with m labels counts for each by 1 / m where documents are added up.
    """
    return _LEARNERS[by](points, members, n_classes, seed)


def _centroid(points: Any, members: Members, n_classes: int, _seed: int) -> Scorer:
    """Compare with the direction of the mean of each class."""
    belongs = np.ascontiguousarray(members.shares(n_classes).T)
    centres = divided_by_lengths(np.asarray(belongs @ points, np.float64)).astype(np.float32)
    return lambda others: np.asarray(others @ centres.T)


def _knn(points: Any, members: Members, n_classes: int, _seed: int) -> Scorer:
    """Let the nearest training documents vote, each by its cosine."""
    return lambda others: neighbour_votes(others, points, members, n_classes)


def _svm(points: Any, members: Members, n_classes: int, seed: int) -> Scorer:
    """Learn a linear support vector machine for each class against the others."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    machine: Any = LinearSVC(tol=_SVM_TOLERANCE, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one that stops early is good enough
        if (members.sizes == 1).all():
            machine.fit(points, members.classes)
        else:
            flags = (members.shares(n_classes) > 0).astype(np.int8)
            machine = OneVsRestClassifier(machine).fit(points, flags)

    def scores(others: Any) -> Any:
        found = machine.decision_function(others)
        return found if found.ndim > 1 else np.stack([-found, found], axis=1)

    return scores


_LEARNERS: dict[str, Callable[[Any, Members, int, int], Scorer]] = {
    "centroid": _centroid,
    "knn": _knn,
    "svm": _svm,
}
CLASSIFIERS = tuple(_LEARNERS)


_TEACHING = 0.8
_LEAST = 10
"""Of fewer documents none are held out: every document gets its best label."""


class Decided(NamedTuple):
    """The labels of each judged document, best first, and what finding them took."""

    labels: list[tuple[str, ...]]
    learned: Represented
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True, eq=False, slots=True)
class _Taught:
    """A representation of some documents, and their classes in it."""

    learned: Represented
    points: Any
    members: Members
    names: list[str]
    seed: int

    @classmethod
    def by(cls, name: str, X: csr_array, labels: Labels, options: EvaluateOptions) -> _Taught:
        names = sorted({label for own in labels for label in own})
        dims = class_dimensions(name, len(names)) if takes_labels(name) else None
        learned = represent(name, X, options, dims=dims, labels=[list(own) for own in labels])
        return cls(learned, learned.directions(X), _members(labels, names), names, options.seed)

    def scorer(self, by: str) -> Scorer:
        return learn(by, self.points, self.members, len(self.names), self.seed)


def decide(
    name: str,
    seen: Collection,
    unseen: Collection,
    options: EvaluateOptions,
    classifiers: Sequence[str],
) -> dict[str, Decided]:
    """Learn from documents with labels, and give labels to others, by each classifier."""
    from lpisearch.evaluation.splits import split_by_share

    weights = TermWeights.learn(seen, options.weighting)
    X, others = weights.apply(seen.counts), weights.apply(unseen.counts)
    whole = _Taught.by(name, X, seen.labels, options)
    points = whole.learned.directions(others)
    teaching, asked = split_by_share(seen.labels, _TEACHING, random_state=options.seed)
    held_out: tuple[_Taught, Any, Labels] | None = None
    if len(seen) >= _LEAST and len(asked):
        some = [seen.labels[row] for row in teaching]
        part = _Taught.by(name, X[teaching], some, options)
        held_out = part, part.learned.directions(X[asked]), [seen.labels[row] for row in asked]
    found = {}
    for by in classifiers:
        with one_blas_thread():
            began = time.perf_counter()
            weight, further = (1.0, NO_FURTHER) if held_out is None else _border(by, *held_out)
            scorer = whole.scorer(by)
            fitted = time.perf_counter()
            shares = as_shares(weight * scorer(points))
            labels = [
                tuple(whole.names[each] for each in decided_labels(row, further)) for row in shares
            ]
            done = time.perf_counter()
        found[by] = Decided(labels, whole.learned, fitted - began, done - fitted)
    return found


def _border(by: str, taught: _Taught, points: Any, labels: Labels) -> tuple[float, float]:
    """Learn how much scores weigh, and from which share on a second label is given."""
    known = set(taught.names)
    rows = [row for row, own in enumerate(labels) if known.intersection(own)]
    if not rows:
        return 1.0, NO_FURTHER
    own = [tuple(name for name in labels[row] if name in known) for row in rows]
    truth = _members(own, taught.names).shares(len(taught.names))
    scores = taught.scorer(by)(points[rows])
    (weight,) = best_weights([scores], truth)
    return weight, further_share(as_shares(weight * scores), truth > 0)


def _members(labels: Labels, names: Sequence[str]) -> Members:
    numbers = {name: number for number, name in enumerate(names)}
    starts = np.cumsum([0, *map(len, labels)], dtype=np.int64)
    return Members(starts, np.array([numbers[name] for own in labels for name in own], np.int32))
