"""Accuracy, F1, confusion, sets of labels.

A prediction is one label a document. A document may have several labels: a prediction is right if
it is one of them. Documents without a label are left out.

Labels come in any form that `lpisearch.graphs.memberships` takes: one value for each document, or
a list of values; None, -1, "", NaN and an empty list mean that a document is unlabelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from lpisearch.graphs.supervision import memberships

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Matrix

    Labels: TypeAlias = Sequence[Any] | NDArray[Any]
    Whole = NDArray[np.integer[Any]]
    Flags = NDArray[np.bool_]


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
    >>> from lpisearch.evaluation.label_measures import accuracy
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
    >>> from lpisearch.evaluation.label_measures import macro_f1
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
    >>> from lpisearch.evaluation.label_measures import confusion
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
    >>> from lpisearch.evaluation.label_measures import worst_pairs
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


class SetF1(NamedTuple):
    """F1 of sets of labels.

    Attributes
    ----------
    micro
        Over all pairs of document and label together, so that frequent labels count most.
    macro
        The mean of F1 over all labels, given or predicted; each counts alike.
    """

    micro: float
    macro: float


def set_f1(labels: Labels, predicted: Labels) -> SetF1:
    """Give F1 of the labels that were predicted for each document.

    Parameters
    ----------
    labels
        One for each document, or a list of them; documents without are left out.
    predicted
        A list of labels for each document, or one.

    Returns
    -------
    SetF1
        Each between 0 and 1.

    Raises
    ------
    ValueError
        If no document has a label, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation.label_measures import set_f1
    >>> found = set_f1([["a", "b"], ["a"], ["b"]], [["a"], ["a"], ["a"]])
    >>> round(found.micro, 4), round(found.macro, 4)
    (0.5714, 0.4)
    """
    if len(labels) != len(predicted):
        raise ValueError(f"There are {len(labels)} labels, but {len(predicted)} predictions.")
    given, guesses = as_list(labels), as_list(predicted)
    hits: dict[object, int] = {}
    there: dict[object, int] = {}
    for row in Labelling.of(labels).rows.tolist():
        own, said = _as_set(given[row]), _as_set(guesses[row])
        for name in (*own, *said):
            there[name] = there.get(name, 0) + 1
        for name in own & said:
            hits[name] = hits.get(name, 0) + 1
    each = [2 * hits.get(name, 0) / count for name, count in there.items()]
    return SetF1(2 * sum(hits.values()) / sum(there.values()), sum(each) / len(each))


def _as_set(labels: object) -> set[object]:
    return set(labels) if isinstance(labels, (list, tuple, set, frozenset)) else {labels}


_BLOCK = 256


@dataclass(frozen=True)
class Labelling:
    """The labelled documents (rows) and the numbers of their classes.

    Attributes
    ----------
    rows
        Which documents have a label, ascending.
    names
        The classes, in the order of their names.
    numbers
        For each of `rows`, its class; None if some document has several.
    flags
        Rows x classes, 1 where the document has the label.
    """

    rows: Whole
    names: list[Any]
    numbers: Whole | None
    flags: sparse.csr_array

    @classmethod
    def of(cls, labels: Labels) -> Labelling:
        """Read labels; refuse them if no document has one."""
        shares, names = memberships(as_list(labels), len(labels))
        each = np.diff(shares.indptr)
        rows = np.flatnonzero(each)
        flags = sparse.csr_array(shares[rows])
        flags.data = np.ones(flags.nnz, dtype=np.int32)
        return cls(rows, names, flags.indices if each.max() == 1 else None, flags)

    def single(self, purpose: str) -> Whole:
        """Give the class of each labelled document; refuse documents with several labels."""
        if self.numbers is None:
            count = int(np.count_nonzero(np.diff(self.flags.indptr) > 1))
            raise ValueError(f"{purpose} needs one label a document, but {count} have several.")
        return self.numbers

    def shared(self, first: slice | Whole, second: slice | Whole) -> Flags:
        """Tell, for two lists of the labelled documents, which pairs share a label."""
        if self.numbers is not None:
            same: Flags = self.numbers[first, np.newaxis] == self.numbers[second]
            return same
        common = self.flags[first] @ self.flags[second].T
        return np.asarray(common.toarray() > 0)

    def companions(self) -> Whole:
        """Count, for each document, those it shares a label with, itself included."""
        if self.numbers is not None:
            return np.asarray(np.bincount(self.numbers)[self.numbers])
        blocks = range(0, len(self.rows), _BLOCK)
        return np.concatenate([self._shared_counts(start, start + _BLOCK) for start in blocks])

    def _shared_counts(self, start: int, stop: int) -> Whole:
        return np.asarray(np.diff(sparse.csr_array(self.flags[start:stop] @ self.flags.T).indptr))


def as_list(labels: Any) -> list[Any]:
    """Give labels as a list of plain Python values."""
    return list(labels.tolist() if isinstance(labels, np.ndarray) else labels)


def as_matrix(Y: Any) -> Matrix:
    """Give documents as an array or a csr_array."""
    return sparse.csr_array(Y) if sparse.issparse(Y) else np.asarray(Y)  # type: ignore[call-overload]  # the stubs know no matrix of unknown shape


def as_names(names: Sequence[Any]) -> NDArray[Any]:
    """Give names as an array: of their own type if all have the same, else of objects."""
    if len({type(name) for name in names}) == 1 and not isinstance(names[0], tuple):
        return np.array(names)
    mixed = np.empty(len(names), dtype=object)
    mixed[:] = names
    return mixed
