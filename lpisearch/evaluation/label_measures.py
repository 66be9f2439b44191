"""Accuracy, F1 and confusion of predicted labels.

A prediction is one label per document; it is correct if it is one of the document's labels.
Documents without a label are skipped. `labels` may be in any form that
`lpisearch.graphs.supervision.memberships` accepts: a value or a list of values per document, where
None, -1, "", NaN and an empty list mean unlabelled. Every measure raises ValueError if no document
has a label or the lengths differ.
"""

from __future__ import annotations

from collections import Counter
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
    """Documents of one label predicted as another; `share` is relative to all with that label."""

    label: Any
    predicted: Any
    count: int
    share: float


def accuracy(labels: Labels, predicted: Labels) -> float:
    """Return the share of correct predictions.

    Examples
    --------
    >>> from lpisearch.evaluation.label_measures import accuracy
    >>> accuracy(["a", "b", ["a", "b"], "b"], ["a", "a", "b", "b"])
    0.75
    """
    matrix, _ = confusion(labels, predicted)
    return float(matrix.trace() / matrix.sum())


def macro_f1(labels: Labels, predicted: Labels) -> float:
    """Return the unweighted mean of F1 over all labels, true or predicted.

    F1 is 0 for a label that is only true or only predicted.

    Examples
    --------
    >>> from lpisearch.evaluation.label_measures import macro_f1
    >>> round(macro_f1(["a", "a", "b", "b"], ["a", "b", "b", "b"]), 4)
    0.7333
    """
    matrix, _ = confusion(labels, predicted)
    totals = matrix.sum(axis=0) + matrix.sum(axis=1)
    return float(np.mean((2 * matrix.diagonal() / totals.clip(1))[totals > 0]))


def confusion(labels: Labels, predicted: Labels) -> tuple[NDArray[np.integer[Any]], list[Any]]:
    """Count documents by label (rows) and prediction (columns); return the names too.

    A document with several labels counts in the row of its prediction if that is one of them,
    otherwise in the row of its alphabetically first label.

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
        true = [known.names[number] for number in sorted(own)]
        guess = guesses[row]
        matrix[numbers[guess if guess in true else true[0]], numbers[guess]] += 1
    return matrix, names


def worst_pairs(labels: Labels, predicted: Labels, number: int = 10) -> list[Confused]:
    """List the most frequent confusions: by count, then by share, then by name.

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
    """F1 over all pairs of document and label (micro), and its mean over labels (macro)."""

    micro: float
    macro: float


def set_f1(labels: Labels, predicted: Labels) -> SetF1:
    """Return F1 of predicted sets of labels.

    Examples
    --------
    >>> from lpisearch.evaluation.label_measures import set_f1
    >>> f1 = set_f1([["a", "b"], ["a"], ["b"]], [["a"], ["a"], ["a"]])
    >>> round(f1.micro, 4), round(f1.macro, 4)
    (0.5714, 0.4)
    """
    if len(labels) != len(predicted):
        raise ValueError(f"There are {len(labels)} labels, but {len(predicted)} predictions.")
    true, guesses = as_list(labels), as_list(predicted)
    hits: Counter[object] = Counter()
    totals: Counter[object] = Counter()
    for row in Labelling.of(labels).rows.tolist():
        own, guess = _as_set(true[row]), _as_set(guesses[row])
        totals.update((*own, *guess))
        hits.update(own & guess)
    by_label = [2 * hits[name] / count for name, count in totals.items()]
    return SetF1(2 * hits.total() / totals.total(), sum(by_label) / len(by_label))


def _as_set(labels: object) -> set[object]:
    return set(labels) if isinstance(labels, (list, tuple, set, frozenset)) else {labels}


_BLOCK = 256


@dataclass(frozen=True)
class Labelling:
    """The labelled documents and their classes."""

    rows: Whole  # of the labelled documents, ascending
    names: list[Any]  # of the classes, sorted
    numbers: Whole | None  # the class of each of `rows`; None if a document has several
    flags: sparse.csr_array  # rows x classes, 1 where the document has the label

    @classmethod
    def of(cls, labels: Labels) -> Labelling:
        """Parse labels; raise ValueError if no document has one."""
        shares, names = memberships(
            labels, np.shape(labels)[0] if sparse.issparse(labels) else len(labels)
        )
        counts = np.diff(shares.indptr)
        rows = np.flatnonzero(counts)
        flags = sparse.csr_array(shares[rows])
        flags.data = np.ones(flags.nnz, dtype=np.int32)
        return cls(rows, names, flags.indices if counts.max() == 1 else None, flags)

    def single(self, purpose: str) -> Whole:
        """Return the class of each labelled document; raise ValueError if one has several."""
        if self.numbers is None:
            count = int(np.count_nonzero(np.diff(self.flags.indptr) > 1))
            raise ValueError(f"{purpose} needs one label a document, but {count} have several.")
        return self.numbers

    def shared(self, first: slice | Whole, second: slice | Whole) -> Flags:
        """Return which pairs of two lists of labelled documents share a label."""
        if self.numbers is not None:
            same: Flags = self.numbers[first, np.newaxis] == self.numbers[second]
            return same
        common = self.flags[first] @ self.flags[second].T
        return np.asarray(common.toarray() > 0)

    def companions(self) -> Whole:
        """Count the documents that share a label with each document, itself included."""
        if self.numbers is not None:
            return np.asarray(np.bincount(self.numbers)[self.numbers])
        blocks = range(0, len(self.rows), _BLOCK)
        return np.concatenate([self._shared_counts(start, start + _BLOCK) for start in blocks])

    def _shared_counts(self, start: int, stop: int) -> Whole:
        return np.asarray(np.diff(sparse.csr_array(self.flags[start:stop] @ self.flags.T).indptr))


def as_list(labels: Any) -> list[Any]:
    """Return labels as a list of plain Python values."""
    return list(labels.tolist() if isinstance(labels, np.ndarray) else labels)


def as_matrix(Y: Any) -> Matrix:
    """Return documents as an array or a csr_array."""
    return sparse.csr_array(Y) if sparse.issparse(Y) else np.asarray(Y)  # type: ignore[call-overload]  # the stubs know no matrix of unknown shape


def as_names(names: Sequence[Any]) -> NDArray[Any]:
    """Return names as an array of their common type, otherwise of objects."""
    if len({type(name) for name in names}) == 1 and not isinstance(names[0], tuple):
        return np.array(names)
    mixed = np.empty(len(names), dtype=object)
    mixed[:] = names
    return mixed
