"""The lexical leg: BM25 of every document, from the postings of an index.

With f the count of a term in a document, n the number of documents and d of those that have it:

    f (k1 + 1) / (f + k1 (1 - b + b · length / mean length)) · log(1 + (n - d + ½) / (d + ½))

summed over the words of the query. The logarithm is never below zero, unlike that of FTS5, so a
word that is in most documents cannot count against them. k1 and b are what FTS5 has, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.indexes.postings import Postings
    from lpisearch.search.question import Question

K1 = 1.2
B = 0.75


@dataclass(frozen=True, eq=False)
class Bm25:
    """BM25 over postings.

    Attributes
    ----------
    postings
        Of an index.
    k1, b
        How soon a repeated word saturates, and how much a document's length counts.
    weights
        Of every entry, without idf; worked out for each query if not given.
    """

    postings: Postings
    k1: float = K1
    b: float = B
    weights: NDArray[np.float32] | None = None

    def scores(self, question: Question) -> NDArray[np.float32]:
        """Return the score of each document; 0 where no word of the query is."""
        found = np.zeros(len(self._half), np.float32)
        factors = question.weights * self.idf(question.words)
        for number, factor in zip(question.words.tolist(), factors, strict=True):
            start, end = self.postings.posting_starts[number : number + 2].tolist()
            places = self.postings.posting_places[start:end]
            found[places] += factor * self._saturated(start, end, places)
        return found

    def most(self, question: Question) -> float:
        """Return what no document can exceed: every word of the query without end."""
        return float(np.sum(question.weights * self.idf(question.words)) * (self.k1 + 1))

    def weighed(self) -> Bm25:
        """Return the same with the weight of every entry worked out, for many queries."""
        places = self.postings.posting_places
        return replace(self, weights=self._saturated(0, len(places), places))

    def idf(self, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how rare words are."""
        starts = self.postings.posting_starts
        frequencies = starts[words + 1] - starts[words]
        others = len(self._half) - frequencies
        return np.log1p((others + 0.5) / (frequencies + 0.5)).astype(np.float32)

    def _saturated(self, start: int, end: int, places: NDArray[np.int32]) -> NDArray[np.float32]:
        if self.weights is not None:
            return self.weights[start:end]
        counts = self.postings.posting_counts[start:end].astype(np.float32)
        return counts * np.float32(self.k1 + 1) / (counts + self._half[places])

    @cached_property
    def _half(self) -> NDArray[np.float32]:
        """Of each document: the count at which a word has half of its full weight."""
        lengths = self.postings.document_lengths
        mean = float(lengths.mean()) if len(lengths) else 0.0
        relative = lengths / (mean or 1.0)
        return (self.k1 * (1 - self.b + self.b * relative)).astype(np.float32)
