"""Prepare labels for the measures: labelled documents and same-label pairs.

Labels come in any form that `lpisearch.graphs.memberships` takes: one value for each document, or
a list of values; None, -1, "", NaN and an empty list mean that a document is unlabelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from lpisearch.graphs import memberships

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Matrix

    Labels: TypeAlias = Sequence[Any] | NDArray[Any]
    Whole = NDArray[np.integer[Any]]
    Flags = NDArray[np.bool_]

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
