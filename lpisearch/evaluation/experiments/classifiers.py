"""The classifiers of `lpisearch classify` on any representation, dense or sparse."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.classifiers.classifier import Members, neighbour_votes
from lpisearch.compute.rows import divided_by_lengths
from lpisearch.compute.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Names = NDArray[np.str_]
    Scorer = Callable[[Any], NDArray[np.floating[Any]]]


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
