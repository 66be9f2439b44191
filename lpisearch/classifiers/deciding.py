"""Choose one or several labels from label probabilities.

The label with the largest share is taken, and every other one with at least a certain share. That
share is one number for all labels, learned from documents that were held out: the one under which
the labels that are taken agree best with those given, by F1 over all pairs of document and label
(micro F1). A number for each label would be learned from a handful of documents for most of them
(Yang, A study of thresholding strategies for text categorization, 2001). Where no document that was
held out has several labels, it is out of reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

NO_FURTHER = 1.0
"""A share that no second label can have."""


def further_share(shares: Floats, truth: NDArray[np.bool_]) -> float:
    """Learn from which share on a label that is not the best is taken too.

    Parameters
    ----------
    shares
        Documents that were held out x labels.
    truth
        Which of the labels each has.

    Examples
    --------
    >>> shares = np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.8, 0.1, 0.1]])
    >>> truth = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0]], bool)
    >>> round(further_share(shares, truth), 3)
    0.2
    """
    rows = np.arange(len(shares))
    best = shares.argmax(axis=1)
    others = np.ones(shares.shape, bool)
    others[rows, best] = False
    order = np.argsort(-shares[others], kind="stable")
    values, right = shares[others][order], truth[others][order]
    # Micro F1 where the first 0, 1, 2, … of the other labels are taken beside the best.
    hits = int(truth[rows, best].sum()) + np.concatenate([[0], np.cumsum(right)])
    taken = len(shares) + np.arange(len(values) + 1)
    f1 = 2 * hits / (taken + truth.sum())
    # Equal shares are taken together, so the border lies between two that differ.
    possible = np.concatenate([[True], values[:-1] > values[1:], [True]])
    number = int(np.argmax(np.where(possible, f1, -1)))
    if number == 0:
        return NO_FURTHER
    below = values[number] if number < len(values) else 0.0
    return float((values[number - 1] + below) / 2)


def decided_labels(shares: Floats, further: float) -> NDArray[np.intp]:
    """Return the labels that one document is given, best first."""
    order = np.argsort(-shares, kind="stable")
    taken = shares[order] >= further
    taken[:1] = True
    return order[taken]
