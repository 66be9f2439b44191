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
    with one_blas_thread():
        began = time.perf_counter()
        scorer = _LEARNERS[by](points, classes, len(names), seed)
        learned = time.perf_counter()
        best = scorer(others).argmax(axis=1)
        done = time.perf_counter()
    return Judged(names[best], learned - began, done - learned)


def _centroid(points: Any, classes: Any, n_classes: int, _seed: int) -> Scorer:
    """Compare with the direction of the mean of each class."""
    belongs = np.zeros((n_classes, len(classes)), np.float32)
    belongs[classes, np.arange(len(classes))] = 1
    centres = divided_by_lengths(np.asarray(belongs @ points, np.float64)).astype(np.float32)
    return lambda others: np.asarray(others @ centres.T)


def _knn(points: Any, classes: Any, n_classes: int, _seed: int) -> Scorer:
    """Let the nearest training documents vote, each by its cosine."""
    members = Members(np.arange(len(classes) + 1), classes)
    return lambda others: neighbour_votes(others, points, members, n_classes)


def _svm(points: Any, classes: Any, _n_classes: int, seed: int) -> Scorer:
    """Learn a linear support vector machine for each class against the others."""
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one that stops early is good enough
        machine = LinearSVC(tol=_SVM_TOLERANCE, random_state=seed).fit(points, classes)

    def scores(others: Any) -> Any:
        found = machine.decision_function(others)
        return found if found.ndim > 1 else np.stack([-found, found], axis=1)

    return scores


_LEARNERS: dict[str, Callable[[Any, Any, int, int], Scorer]] = {
    "centroid": _centroid,
    "knn": _knn,
    "svm": _svm,
}
CLASSIFIERS = tuple(_LEARNERS)
