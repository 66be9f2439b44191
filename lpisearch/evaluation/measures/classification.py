"""Agreement of predicted labels with true labels.

A prediction is one label a document. A document may have several labels: a prediction is right if
it is one of them. Documents without a label are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.evaluation.measures.labelling import Labelling, as_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.evaluation.measures.labelling import Labels


@dataclass(frozen=True, slots=True)
class Confused:
    """Documents of one label that were taken for another; `share` is of all with that label."""

    label: Any
    predicted: Any
    count: int
    share: float


def accuracy(labels: Labels, predicted: Labels) -> float:
    """Give the share of documents whose prediction is right.

    Parameters
    ----------
    labels
        One for each document, or a list of them; documents without are left out.
    predicted
        One for each document.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If no document has a label, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation import accuracy
    >>> accuracy(["a", "b", ["a", "b"], "b"], ["a", "a", "b", "b"])
    0.75
    """
    matrix, _ = confusion(labels, predicted)
    return float(matrix.trace() / matrix.sum())


def macro_f1(labels: Labels, predicted: Labels) -> float:
    """Give the mean of F1 over all labels, given or predicted; each counts alike.

    F1 of a label is 0 where it was only given or only predicted.

    Parameters
    ----------
    labels
        One for each document, or a list of them; documents without are left out.
    predicted
        One for each document.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If no document has a label, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation import macro_f1
    >>> round(macro_f1(["a", "a", "b", "b"], ["a", "b", "b", "b"]), 4)
    0.7333
    """
    matrix, _ = confusion(labels, predicted)
    there = matrix.sum(axis=0) + matrix.sum(axis=1)
    return float(np.mean((2 * matrix.diagonal() / there.clip(1))[there > 0]))


def confusion(labels: Labels, predicted: Labels) -> tuple[NDArray[np.integer[Any]], list[Any]]:
    """Count the documents of each label (rows) by their prediction (columns).

    A document with several labels is in the row of its prediction if that is one of them, else
    in the row of the first of its labels by name.

    Parameters
    ----------
    labels
        One for each document, or a list of them; documents without are left out.
    predicted
        One for each document.

    Returns
    -------
    matrix : array
        The counts.
    names : list
        The labels of rows and columns.

    Raises
    ------
    ValueError
        If no document has a label, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation import confusion
    >>> matrix, names = confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> matrix.tolist(), names
    ([[1, 1], [0, 1]], ['a', 'b'])
    """
    if len(labels) != len(predicted):
        raise ValueError(f"There are {len(labels)} labels, but {len(predicted)} predictions.")
    known, guesses = Labelling.of(labels), as_list(predicted)
    names = sorted({*known.names, *(guesses[row] for row in known.rows)}, key=_by_name)
    numbers = {name: number for number, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)), dtype=np.int64)
    for at, row in enumerate(known.rows):
        own = known.flags.indices[known.flags.indptr[at] : known.flags.indptr[at + 1]]
        given = [known.names[number] for number in sorted(own)]
        guess = guesses[row]
        matrix[numbers[guess if guess in given else given[0]], numbers[guess]] += 1
    return matrix, names


def worst_pairs(labels: Labels, predicted: Labels, number: int = 10) -> list[Confused]:
    """List which labels are taken for which others most often.

    Parameters
    ----------
    labels
        One for each document, or a list of them; documents without are left out.
    predicted
        One for each document.
    number
        The length of the list; pairs that never happen are not in it.

    Returns
    -------
    list of Confused
        Largest count first, then largest share, then by name.

    Raises
    ------
    ValueError
        If no document has a label, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation import worst_pairs
    >>> worst_pairs(["a", "a", "b", "b"], ["b", "b", "a", "b"], number=1)
    [Confused(label='a', predicted='b', count=2, share=1.0)]
    """
    matrix, names = confusion(labels, predicted)
    sizes = matrix.sum(axis=1)
    wrong = matrix - np.diag(matrix.diagonal())
    pairs = [
        Confused(names[row], names[column], int(wrong[row, column]),
                 float(wrong[row, column] / sizes[row]))
        for row, column in np.argwhere(wrong)
    ]  # fmt: skip
    return sorted(pairs, key=lambda pair: (-pair.count, -pair.share))[:number]


def _by_name(label: Any) -> tuple[str, Any]:
    """Order labels of one type by their value, as `memberships` does."""
    return str(type(label)), label
