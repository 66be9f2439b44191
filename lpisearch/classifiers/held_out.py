"""Training documents to fitted classifiers, each with the temperature of its shares.

Every classifier is fitted to all training documents. Its temperature comes from documents that it
had not seen: it is fitted again without a fifth of them, and judges that fifth. Up to 2,000
training documents, each fifth is held out in turn; beyond that, at most 2,000 are, once.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.classifiers.classifier import (
    Classifier,
    LabelledSubspace,
    Machines,
    Members,
    best_temperature,
    class_centres,
    neighbour_votes,
    unit,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Floats = NDArray[np.floating[Any]]
    Rows = NDArray[np.integer[Any]]

MOST_SVM_WEIGHTS = 10_000_000
MOST_SVM_CELLS = 25_000_000
"""Terms times classes. Where either is passed, no SVM is learned."""
FOLDS = 5
ALL_FOLDS_UP_TO = 2000
MOST_HELD_OUT = 2000
# Accuracy was measured to be the same at a tenth of it; no figure changed below this.
_SVM_TOLERANCE = 0.01


def fit_classifiers(
    X: csr_array, members: Members, labels: Sequence[str], seed: int
) -> tuple[Classifier, float]:
    """Fit and calibrate centroid, knn and, unless it would take long, the SVM.

    Parameters
    ----------
    X
        Weighted training documents as rows, each with a known term.
    members
        Their classes, numbered from 0 without a gap.
    labels
        The names of the classes.
    seed
        Of every random choice.

    Returns
    -------
    tuple
        The classifiers, and the alpha of their subspace.

    Raises
    ------
    ValueError
        No direction tells the classes apart.
    """
    from threadpoolctl import threadpool_limits

    n_classes = int(members.classes.max()) + 1
    truth = members.shares(n_classes)
    folds = _folds(truth, seed)
    with_svm = X.nnz <= MOST_SVM_WEIGHTS and X.shape[1] * n_classes <= MOST_SVM_CELLS
    # Two lanes side by side. All fits of SVMs are in one: they share a random generator, and the
    # arrays must be the same bits each time. The limit on BLAS is here because limits that are
    # set in two threads would not be lifted in order.
    with (
        threadpool_limits(1, "blas"),
        warnings.catch_warnings(),
        ThreadPoolExecutor(1) as other_lane,
    ):
        warnings.simplefilter("ignore")  # an SVM that stops early is good enough
        machines = other_lane.submit(_svm, X, truth, folds, seed) if with_svm else None
        subspace, alpha, temperatures = _subspace(X, members, truth, folds, seed)
        learned = None
        if machines is not None:
            learned, temperatures["svm"] = machines.result()
    return Classifier(tuple(labels), subspace, members, learned, temperatures), alpha


def _subspace(
    X: csr_array, members: Members, truth: Floats, folds: list[Rows], seed: int
) -> tuple[LabelledSubspace, float, dict[str, float]]:
    """Fit supervised RLPI, and calibrate centroid and knn in it."""
    n_classes = truth.shape[1]
    subspace, alpha = _fit_subspace(X, members, n_classes, "auto", seed)
    scores: dict[str, list[Floats]] = {"centroid": [], "knn": []}
    for fold in folds:
        seen = _others(X, fold)
        own = members.of(seen)
        fitted, _ = _fit_subspace(X[seen], own, n_classes, alpha, seed)
        points = unit(X[fold] @ fitted.loadings)
        scores["centroid"].append(points @ fitted.centroids.T)
        scores["knn"].append(neighbour_votes(points, fitted.vectors, own, n_classes))
    held_out = truth[np.concatenate(folds)]
    temperatures = {
        by: best_temperature(np.concatenate(parts), held_out) for by, parts in scores.items()
    }
    return subspace, alpha, temperatures


def _fit_subspace(
    X: csr_array, members: Members, n_classes: int, alpha: float | str, seed: int
) -> tuple[LabelledSubspace, float]:
    from lpisearch.projections.rlpi import RLPI

    labels = [own.tolist() for own in np.split(members.classes, members.starts[1:-1])]
    rlpi = RLPI(n_classes, alpha=alpha, random_state=seed).fit(X, labels)
    loadings = np.ascontiguousarray(rlpi.components_.T, np.float32)
    vectors = unit(X @ loadings)
    centroids = class_centres(vectors, members, n_classes)
    return LabelledSubspace(loadings, vectors, centroids), rlpi.alpha_


def _svm(X: csr_array, truth: Floats, folds: list[Rows], seed: int) -> tuple[Machines, float]:
    weights, intercepts = fit_svm(X, truth, seed)
    scores = []
    for fold in folds:
        seen = _others(X, fold)
        part, offsets = fit_svm(X[seen], truth[seen], seed)
        scores.append(np.asarray(X[fold] @ part + offsets))
    temperature = best_temperature(np.concatenate(scores), truth[np.concatenate(folds)])
    return Machines(weights, intercepts), temperature


def fit_svm(X: csr_array, truth: Floats, seed: int) -> tuple[Floats, Floats]:
    """Fit a linear SVM for each class against the others; give weights (terms x classes)."""
    from sklearn.svm import LinearSVC

    machine = LinearSVC(tol=_SVM_TOLERANCE, random_state=seed)
    n_classes = truth.shape[1]
    weights = np.zeros((X.shape[1], n_classes), np.float32)
    intercepts = np.full(n_classes, -1, np.float32)  # of a class that has no document here
    inside = truth > 0
    if n_classes > 2 and np.all(inside.sum(axis=1) == 1):  # noqa: PLR2004 (two get one machine)
        machine.fit(X, truth.argmax(axis=1))
        weights[:, machine.classes_] = machine.coef_.T
        intercepts[machine.classes_] = machine.intercept_
        return weights, intercepts
    for number in range(n_classes):
        own = inside[:, number]
        if own.all():
            intercepts[number] = 1
        elif own.any():
            machine.fit(X, own)
            weights[:, number], intercepts[number] = machine.coef_[0], machine.intercept_[0]
    return weights, intercepts


def _others(X: csr_array, fold: Rows) -> Rows:
    return np.setdiff1d(np.arange(X.shape[0]), fold)


def _folds(truth: Floats, seed: int) -> list[Rows]:
    """Cut documents into fifths with the classes in proportion; of many, give one part."""
    order = np.random.default_rng(seed).permutation(len(truth))
    by_class = order[np.argsort(truth[order].argmax(axis=1), kind="stable")]
    if len(truth) > ALL_FOLDS_UP_TO:
        return [np.sort(by_class[:: max(FOLDS, -(-len(truth) // MOST_HELD_OUT))])]
    folds = [np.sort(by_class[start::FOLDS]) for start in range(FOLDS)]
    return [fold for fold in folds if len(fold)]
