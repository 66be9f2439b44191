"""Linear support vector machines for many classes at once (Crammer and Singer, 2001).

One problem in which the score of a document's class must be above those of all others, in place
of one problem for each class against the rest: as accurate, and several times faster where there
are many classes (docs/classification.md).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.classifiers.classifier import Machine

if TYPE_CHECKING:
    from lpisearch.classifiers.classifier import Members

# Half the time of a third of it, at an accuracy that differs by less than a fifth of a point.
TOLERANCE = 0.3
# The score of a class that has no document.
_ABSENT = -1


def fit_machine(X: Any, members: Members, n_classes: int, seed: int) -> Machine:
    """Fit a machine; a document with m labels counts for each of them by 1 / m.

    Parameters
    ----------
    X
        Documents as rows at unit length, sparse or dense.
    members
        Their classes, of which at least two have a document.
    """
    from sklearn.svm import LinearSVC

    rows = np.repeat(np.arange(len(members.sizes)), members.sizes)
    several = len(rows) > len(members.sizes)
    machine = LinearSVC(multi_class="crammer_singer", tol=TOLERANCE, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one that stops early is good enough
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
