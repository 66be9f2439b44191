"""Inverted index of fitted documents, for fast cosines with new ones.

Rules that compare with fitted documents keep these as three arrays: `lists` (where the list of
each term begins, and the end), `members` (the documents of each list) and `weights` (theirs, in
documents of unit length). NumPy alone is needed: a query waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lpisearch.projections.rows import Floats, Integers, SparseRows


# So many entries of lists are added up at once; more, list by list.
MOST_ENTRIES = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class InvertedRows:
    """Documents as lists, one for each term."""

    lists: Integers
    members: Integers
    weights: Floats
    n_documents: int

    @classmethod
    def of_rows(cls, rows: SparseRows) -> InvertedRows:
        """Turn rows into lists; the documents of a list ascend."""
        order = np.argsort(rows.indices, kind="stable")
        lists = np.concatenate([[0], np.cumsum(np.bincount(rows.indices, minlength=rows.n_terms))])
        members = rows.row_numbers[order].astype(np.int32)
        return cls(lists.astype(np.int64), members, rows.data[order], len(rows))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_documents: int) -> InvertedRows:
        """Take what `arrays` gave, perhaps read from disk."""
        lists, members, weights = (np.asarray(arrays[name]) for name in _NAMES)
        return cls(lists, members, weights, n_documents)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return dict(zip(_NAMES, (self.lists, self.members, self.weights), strict=True))

    def cosines(self, terms: Integers, weights: Floats) -> NDArray[np.float64]:
        """Return the cosine of one document of unit length with each of these.

        Summed in double precision: an equal document is told from a very near one.
        """
        starts = self.lists[terms]
        sizes = self.lists[terms + 1] - starts
        if sizes.sum() <= MOST_ENTRIES:
            return self._added(starts, sizes, weights)
        found = np.zeros(self.n_documents)  # the same, a list at a time
        for start, size, weight in zip(starts.tolist(), sizes.tolist(), weights, strict=True):
            members = self.members[start : start + size]
            found[members] += np.float64(weight) * self.weights[start : start + size]
        return found

    def _added(self, starts: Integers, sizes: Integers, weights: Floats) -> NDArray[np.float64]:
        """Add up some lists, each times its weight, all at once."""
        before = np.cumsum(sizes) - sizes
        at = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
        parts = np.repeat(weights.astype(np.float64), sizes) * self.weights[at]
        found = np.bincount(self.members[at], parts, minlength=self.n_documents)
        return found.astype(np.float64, copy=False)  # of no entry at all it counts in integers


_NAMES = ("lists", "members", "weights")
