"""Repeated words at the edges of documents, weighed less.

1. Documents of at least 160 tokens count, without a title stored before the text. Their edges are
   the first and last 16 tokens: a fifth of a document at most.
2. A term is boilerplate if it is in the edges of at least 50 of these documents and of 1 % of all
   documents, and at least half of its occurrences in them are there.
3. Its weight is multiplied by the share of its other occurrences.

So "prev", "next" and "home" of a manual count next to nothing for neighbours and topics, and
"background" at the beginning of abstracts little. Lexical index and texts are unaffected.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.numeric.row_blocks import RowBlocks, map_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array


EDGE_TOKENS = 16
LEAST_TOKENS = 160
LEAST_DOCUMENTS = 50
LEAST_SHARE_OF_DOCUMENTS = 0.01
LEAST_SHARE = 0.5
_LONGEST_TITLE = 24


class Edges:
    """Counts the terms at the edges of documents during the count of all terms."""

    def __init__(self) -> None:
        self._rows: array[int] = array("q")
        self._documents = 0
        self._occurrences: Counter[str] = Counter()
        self._frequencies: Counter[str] = Counter()

    def watch(self, shards: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
        """Pass shards of joined tokens on unchanged."""
        for shard in shards:
            for joined in shard:
                self._look(joined)
            yield shard

    def of_terms(self, terms: Sequence[str]) -> EdgeCounts:
        """Return the counts of these terms, once all documents have passed."""
        occurrences, frequencies = (
            np.array([counter[term] for term in terms], np.int64)
            for counter in (self._occurrences, self._frequencies)
        )
        return EdgeCounts(self._documents, np.array(self._rows, np.int64), occurrences, frequencies)

    def _look(self, joined: str) -> None:
        row = self._documents
        self._documents += 1
        if joined.count(" ") + 1 < LEAST_TOKENS:
            return
        begin = joined.split(" ", 2 * _LONGEST_TITLE + EDGE_TOKENS)[:-1]
        title = _title_tokens(begin)
        if joined.count(" ") + 1 < LEAST_TOKENS + title:
            return
        self._rows.append(row)
        edges = begin[title : title + EDGE_TOKENS] + joined.rsplit(" ", EDGE_TOKENS)[1:]
        self._occurrences.update(edges)
        self._frequencies.update(set(edges))


@dataclass(frozen=True, eq=False, slots=True)
class EdgeCounts:
    """Counts at the edges of documents.

    `looked_at` are the rows of the documents that are long enough, ascending; `occurrences` and
    `frequencies` tell of each term how often it is at their edges, and of how many.
    """

    documents: int
    looked_at: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    frequencies: NDArray[np.int64]

    def factors(self, counts: RowBlocks) -> NDArray[np.float32]:
        """Return the factor of each term (column), 1 for nearly all."""
        factors = np.ones(len(self.frequencies), np.float32)
        least = max(LEAST_DOCUMENTS, LEAST_SHARE_OF_DOCUMENTS * self.documents)
        columns = np.flatnonzero(self.frequencies >= least)
        if not len(columns):
            return factors
        every = sum(map_blocks(_Occurrences(self.looked_at, columns), counts))
        share = np.minimum(self.occurrences[columns] / np.maximum(every, 1), 1)
        factors[columns] = np.where(share >= LEAST_SHARE, 1 - share, 1)
        return factors


@dataclass(frozen=True, eq=False, slots=True)
class _Occurrences:
    """Counts some terms in the documents of a block that are long enough."""

    documents: NDArray[np.int64]
    columns: NDArray[np.int64]

    def __call__(self, block: csr_array, start: int) -> NDArray[np.float64]:
        first, last = np.searchsorted(self.documents, [start, start + block.shape[0]])
        some = block[self.documents[first:last] - start]
        sums = np.bincount(some.indices, some.data, minlength=block.shape[1])
        return np.asarray(sums[self.columns])


def _title_tokens(begin: Sequence[str]) -> int:
    """Return how many tokens are the title, which is stored twice."""
    for length in range(min(_LONGEST_TITLE, len(begin) // 2), 0, -1):
        if begin[:length] == begin[length : 2 * length]:
            return 2 * length
    return 0
