"""Training of classifiers: documents and classes, support vector machines, calibration.

The input is the weighted matrix of the library (documents as ROWS; the papers write columns) with
labels and splits, the output arrays for the index. Every classifier is fitted to all training
documents. Its calibration, and the choice of the best, come from held-out documents: it is fitted
again without them, on a sample of a large collection.
"""

from __future__ import annotations

import warnings
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from lpisearch.classifiers.classifier import (
    CLASSIFIERS,
    Classifier,
    LabelledSubspace,
    Machine,
    Members,
    as_shares,
    best_weights,
    class_centres,
    further_share,
    neighbour_votes,
    surprise,
    weighted,
)
from lpisearch.errors import BadOption
from lpisearch.graphs.neighbours import near_duplicate_groups
from lpisearch.methods.rlpi import RLPI, HeldOut, is_good
from lpisearch.numeric.rows import divided_by_lengths
from lpisearch.numeric.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from lpisearch.options import IndexSpec

    Arrays = dict[str, NDArray[Any]]
    Floats = NDArray[np.floating[Any]]
    Rows = NDArray[np.integer[Any]]


# Twice as fast as 0.1, with an accuracy that differs by less than a fifth of a point.
TOLERANCE = 0.3
# The score of a class without documents.
_ABSENT = -1


def fit_machine(X: Any, members: Members, n_classes: int, seed: int) -> Machine:
    """Fit a machine to rows of unit length, sparse or dense, of at least two classes.

    One problem, in which the score of a document's class must exceed those of all others, replaces
    one problem for each class: as accurate, and several times faster with many classes
    (docs/classification.md). A document with m labels belongs to each with weight 1 / m.
    """
    from sklearn.svm import LinearSVC

    rows = np.repeat(np.arange(len(members.sizes)), members.sizes)
    several = len(rows) > len(members.sizes)
    machine = LinearSVC(multi_class="crammer_singer", tol=TOLERANCE, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopping early is good enough
        machine.fit(
            X[rows] if several else X,
            members.classes,
            sample_weight=1 / members.sizes[rows] if several else None,
        )
    coefficients, intercepts = machine.coef_, machine.intercept_
    if len(machine.classes_) == 2:  # noqa: PLR2004 (scikit-learn gives two classes one row)
        coefficients = np.concatenate([-coefficients, coefficients]) / 2
        intercepts = np.concatenate([-intercepts, intercepts]) / 2
    weights = np.zeros((X.shape[1], n_classes), np.float32)
    weights[:, machine.classes_] = coefficients.T
    all_intercepts = np.full(n_classes, _ABSENT, np.float32)
    all_intercepts[machine.classes_] = intercepts
    return Machine(weights, all_intercepts)


@dataclass(frozen=True, slots=True)
class TrainingLimits:
    """Limits of the time and the size of classifiers."""

    classes: int = 500  # the largest ones; others are not learned
    cells: int = 40_000_000  # training documents x classes, beyond which documents are sampled
    documents: int | None = None  # the same as a number of documents, if memory sets a limit
    svm_weights: int = 10_000_000  # entries of the matrix, beyond which the SVM on terms samples
    svm_cells: int = 25_000_000  # terms x classes, beyond which there is no SVM on terms
    map_documents: int = 20_000  # sample of the SVM on the map, which has few weights
    judged: int = 4000  # sample to judge of the one part that large collections hold out
    seen: int = 16_000  # sample to learn from for that

    def n_documents(self, classes: int) -> int:
        """Return the largest number of documents to learn from."""
        by_cells = self.cells // max(min(classes, self.classes), 1)
        return by_cells if self.documents is None else min(by_cells, self.documents)


LIMITS = TrainingLimits()


ALL, NONE, AUTO = "all", "none", "auto"
LEAST_DOCUMENTS = 2
"""Smaller classes are left out: nothing could be held out to calibrate them."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The arrays of a classifier for the index, empty if none could be learned, and facts.

    Facts are None without labels, {"reason": …} if the labels do not suffice, else the numbers of
    labels, documents and classes left out (too few documents), and those of `fit_classifiers`.
    """

    arrays: Arrays
    facts: dict[str, Any] | None


def check_train(train: str, splits: Collection[str]) -> None:
    """Raise BadOption for a split without documents."""
    if train not in {AUTO, ALL, NONE, *splits}:
        known = sorted(set(splits) - {""})
        raise BadOption(
            "train", f"no document is in the split “{train}”", [AUTO, ALL, NONE, *known]
        )


def learn_classifier(
    X: csr_array,
    labels: Sequence[Sequence[str]],
    splits: Sequence[str],
    options: IndexSpec,
    stage: Callable[[str], AbstractContextManager[None]],
    *,
    limits: TrainingLimits = LIMITS,
) -> Learned:
    """Learn the labels of weighted documents (rows of unit length), calibrated on held-out ones.

    `options.train` selects the documents to learn from; `stage` times a stage of the work.
    """
    if options.train == NONE or not any(labels):
        return Learned({}, None)
    with stage("training classifiers"):
        chosen = _training_documents(X, labels, splits, options, limits)
        if isinstance(chosen, str):
            return Learned({}, {"reason": chosen})
        try:
            classifier, facts = fit_classifiers(
                X[chosen.rows], chosen.members, chosen.names, options.seed, limits
            )
        except ValueError as error:  # such as labels that always come together
            return Learned({}, {"reason": f"the labels cannot be distinguished ({error})"})
    facts |= {
        "labels": len(chosen.names),
        "documents": len(chosen.rows),
        "left_out": chosen.left_out,
    }
    return Learned(classifier.arrays(), facts)


@dataclass(frozen=True, slots=True)
class _Training:
    rows: NDArray[np.int64]
    names: list[str]
    members: Members
    left_out: int


def _training_documents(
    X: csr_array,
    labels: Sequence[Sequence[str]],
    splits: Sequence[str],
    options: IndexSpec,
    limits: TrainingLimits,
) -> _Training | str:
    """Choose documents and classes, or return the reason why there are none to learn from."""
    split = options.train
    if split == AUTO:
        has_train = any(own and name == "train" for own, name in zip(labels, splits, strict=True))
        split = "train" if has_train else ALL
    words = np.diff(X.indptr) > 0
    rows = [
        row for row, own in enumerate(labels) if own and words[row] and split in {ALL, splits[row]}
    ]
    sizes = Counter(name for row in rows for name in labels[row])
    usable = [name for name, size in sizes.items() if size >= LEAST_DOCUMENTS]
    if len(usable) < 2:  # noqa: PLR2004 (a choice needs two)
        return _too_few(sizes)
    largest = sorted(usable, key=lambda name: (-sizes[name], name))[: limits.classes]
    numbers = {name: number for number, name in enumerate(sorted(largest))}
    rows = [row for row in rows if any(map(numbers.__contains__, labels[row]))]
    most = limits.n_documents(len(numbers))
    if len(rows) > most:
        rng = np.random.default_rng(options.seed)
        rows = sorted(rng.choice(rows, most, replace=False).tolist())
    by_row = [[numbers[name] for name in labels[row] if name in numbers] for row in rows]
    starts = np.cumsum([0, *map(len, by_row)], dtype=np.int64)
    classes = np.array([number for own in by_row for number in own], np.int32)
    members = Members(starts, classes)
    return _Training(np.array(rows, np.int64), list(numbers), members, len(sizes) - len(numbers))


def _too_few(sizes: Counter[str]) -> str:
    if not sizes:
        return "that split contains no labelled document with known words"
    if len(sizes) == 1:
        return f"all labelled documents have the same label, “{next(iter(sizes))}”"
    return f"fewer than two of the {len(sizes)} labels have {LEAST_DOCUMENTS} documents or more"


def fit_classifiers(
    X: csr_array,
    members: Members,
    labels: Sequence[str],
    seed: int,
    limits: TrainingLimits = LIMITS,
) -> tuple[Classifier, dict[str, Any]]:
    """Fit the classifiers to documents with a known term, calibrate them, and choose one.

    Return them, and the facts: alpha, judged (number of held-out documents), weights, accuracy and
    further share of each classifier, chosen. ValueError if no direction distinguishes the classes.
    """
    # Machines are fitted one after the other in a thread of their own: they share a random
    # generator, and the arrays must have the same bits each time. The limit on BLAS is set here
    # because limits that are set in two threads would not be lifted in order.
    with one_blas_thread(), ThreadPoolExecutor(1) as lane:
        folds = held_out_folds(X, members, seed, limits)
        fitting = _Fitting(X, members, len(labels), seed, limits, lane)
        whole = fitting.fit("auto")
        parts = [fitting.fit(whole.alpha, fold.seen) for fold in folds]
        scores = [
            part.scores(X[fold.judged], len(labels))
            for fold, part in zip(folds, parts, strict=True)
        ]
        machines = {name: machine.result() for name, machine in whole.machines.items()}
    facts = _calibrated(scores, members, folds, len(labels))
    learned = {name: facts[name] for name in ("weights", "chosen", "further")}
    classifier = Classifier(tuple(labels), whole.subspace, members, machines, **learned)
    return classifier, {"alpha": whole.alpha, **facts}


@dataclass(frozen=True, slots=True)
class _Fitted:
    """The map of some documents, and the machines that are being fitted."""

    alpha: float
    members: Members
    subspace: LabelledSubspace
    machines: Mapping[str, Future[Machine]]

    def scores(self, X: csr_array, n_classes: int) -> dict[str, Floats]:
        """Score documents by each part."""
        points = divided_by_lengths(X @ self.subspace.loadings[:])
        scores = {
            "centroid": points @ self.subspace.centroids.T,
            "knn": neighbour_votes(points, self.subspace.vectors[:], self.members, n_classes),
        }
        for name, machine in self.machines.items():
            scores[name] = machine.result().scores(X if name == "svm" else points)
        return scores


@dataclass(frozen=True, slots=True)
class _Fitting:
    X: csr_array
    members: Members
    n_classes: int
    seed: int
    limits: TrainingLimits
    lane: ThreadPoolExecutor

    def fit(self, alpha: float | str, rows: NDArray[np.integer[Any]] | None = None) -> _Fitted:
        """Fit supervised RLPI and everything on it, to all documents or to some."""
        X = self.X if rows is None else self.X[rows]
        members = self.members if rows is None else self.members.of(rows)
        machines: dict[str, Future[Machine]] = {}
        if X.shape[1] * self.n_classes <= self.limits.svm_cells:
            most = int(self.limits.svm_weights * len(members.sizes) / max(X.nnz, 1))
            machines["svm"] = self.lane.submit(self._machine, X, members, most)
        marks = np.ones(len(members.classes)), members.classes, members.starts
        labels: Any = csr_array(marks, shape=(X.shape[0], self.n_classes))
        rlpi = RLPI(self.n_classes, alpha=alpha, random_state=self.seed).fit(X, labels)
        loadings = np.ascontiguousarray(rlpi.components_.T, np.float32)
        vectors = divided_by_lengths(X @ loadings)
        centroids = class_centres(vectors, members, self.n_classes)
        machines["map-svm"] = self.lane.submit(
            self._machine, vectors, members, self.limits.map_documents
        )
        subspace = LabelledSubspace(loadings, vectors, centroids)
        return _Fitted(rlpi.alpha_, members, subspace, machines)

    def _machine(self, X: Any, members: Members, most: int) -> Machine:
        if most < len(members.sizes):
            rng = np.random.default_rng(self.seed)
            rows = np.sort(rng.permutation(len(members.sizes))[:most])
            X, members = X[rows], members.of(rows)
        return fit_machine(X, members, self.n_classes, self.seed)


def _calibrated(
    scores: list[dict[str, Floats]], members: Members, folds: list[HeldOut], n_classes: int
) -> dict[str, Any]:
    """Return the weights and held-out accuracy of each classifier, and the best one.

    Of those that are not clearly worse than the most accurate one, the best has the largest shares
    of the true labels.
    """
    if not folds:
        weights = {by: [1.0] * len(parts) for by, parts in CLASSIFIERS.items()}
        none: dict[str, Any] = {"accuracy": {}, "further": {}}
        return {"judged": 0, "weights": weights, "chosen": "centroid", **none}
    joined = {name: np.concatenate([fold[name] for fold in scores]) for name in scores[0]}
    truth = members.of(np.concatenate([fold.judged for fold in folds])).shares(n_classes)
    weights, right, surprises, further = {}, {}, {}, {}
    for by, parts in CLASSIFIERS.items():
        if not joined.keys() >= set(parts):
            continue
        part_scores = [joined[part] for part in parts]
        weights[by] = best_weights(part_scores, truth)
        shares = as_shares(weighted(part_scores, weights[by]))
        right[by] = truth[np.arange(len(truth)), shares.argmax(axis=1)] > 0
        surprises[by] = surprise(shares, truth)
        further[by] = further_share(shares, truth > 0)
    good = compress(right, is_good(np.array([*right.values()], float)))
    return {
        "judged": len(truth),
        "weights": weights,
        "accuracy": {by: round(float(hits.mean()), 4) for by, hits in right.items()},
        "chosen": min(good, key=surprises.__getitem__),
        "further": further,
    }


FOLDS = 5
ALL_FOLDS_UP_TO = 2000


def held_out_folds(
    X: csr_array, members: Members, seed: int, limits: TrainingLimits = LIMITS
) -> list[HeldOut]:
    """Cut documents into fifths, in whole groups of near-duplicates; beyond 2,000, one part only.

    Judged by copies of what it has learned, a classifier that memorises would seem the best, and
    all would seem surer than they are. Classes are in proportion, by the first document of each
    group. A part is dropped if the rest has fewer than two classes.
    """
    rng = np.random.default_rng(seed)
    count = len(members.sizes)
    sample = np.sort(rng.permutation(count)[: limits.judged + limits.seen])
    groups = _split_single_groups(near_duplicate_groups(X[sample]), members.of(sample))
    firsts = np.unique(groups, return_index=True)[1]
    first_classes = members.classes[members.starts[sample[firsts]]]
    order = rng.permutation(len(firsts))
    by_class = order[np.argsort(first_classes[order], kind="stable")]
    parts = FOLDS
    if count > ALL_FOLDS_UP_TO:
        parts = max(FOLDS, -(-len(sample) // limits.judged))
    part_of_group = np.empty(len(firsts), np.intp)
    part_of_group[by_class] = np.arange(len(firsts)) % parts
    judged_parts = range(parts) if count <= ALL_FOLDS_UP_TO else range(1)
    part_of_row = part_of_group[groups]
    folds = [
        HeldOut(sample[part_of_row != part], sample[part_of_row == part]) for part in judged_parts
    ]
    return [
        fold
        for fold in folds
        if len(fold.judged) and len(np.unique(members.of(fold.seen).classes)) > 1
    ]


def _split_single_groups(groups: Rows, members: Members) -> Rows:
    """Split the only group of a class: held out as a whole, nothing of the class would remain."""
    rows = np.repeat(np.arange(len(groups)), members.sizes)
    pairs = np.unique(np.stack([members.classes, groups[rows]]), axis=1)
    single = np.bincount(pairs[0]) == 1
    apart = np.unique(rows[single[members.classes]])
    split = groups.copy()
    split[apart] = groups.max(initial=0) + 1 + np.arange(len(apart))
    return np.asarray(np.unique(split, return_inverse=True)[1])
