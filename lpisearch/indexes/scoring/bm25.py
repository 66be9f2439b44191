"""Lexical scores: BM25 of every document from the postings.

With f the count of a term in a document, n the number of documents and d of those that have it:

    f (k1 + 1) / (f + k1 (1 - b + b · length / mean length)) · log(1 + (n - d + ½) / (d + ½))

summed over the words of the query. The logarithm is never below zero, unlike that of FTS5, so a
word that is in most documents cannot count against them. k1 and b are what FTS5 has, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lpisearch.compute.stretches import STRETCH, over_stretches, stretches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.indexes.postings import Postings

K1 = 1.2
B = 0.75


class WeightedWords(Protocol):
    """Words by their numbers in the postings, and how much each counts."""

    @property
    def words(self) -> NDArray[np.int64]:
        """Numbers of terms."""

    @property
    def weights(self) -> NDArray[np.float32]:
        """How often each is asked for."""


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
    among
        The documents that say how rare a word is and how long a text usually is: those of the
        postings if not given. The passages of documents are scored among whole documents, as
        short ones would be.
    """

    postings: Postings
    k1: float = K1
    b: float = B
    weights: NDArray[np.float32] | None = None
    among: Postings | None = None

    def scores(self, question: WeightedWords) -> NDArray[np.float32]:
        """Return the score of each document; 0 where no word of the query is."""
        scores = np.zeros(len(self._half), np.float32)
        factors = question.weights * self.idf(question.words)
        bounds = self._bounds(question.words)

        def add(at: int) -> None:
            for factor, edges in zip(factors, bounds, strict=True):
                start, end = edges[at], edges[at + 1]
                places = self.postings.posting_places[start:end]
                scores[places] += factor * self._saturated(start, end, places)

        # A stretch of the scores stays in the cache while the entries of all words are added.
        over_stretches(len(scores), lambda part: add(part.start // STRETCH))
        return scores

    def _bounds(self, words: NDArray[np.int64]) -> list[list[int]]:
        """Return for each word where its entries begin in each stretch of the documents."""
        inner = [part.start for part in stretches(len(self._half))][1:]
        bounds = []
        for number in words.tolist():
            start, end = self.postings.posting_starts[number : number + 2].tolist()
            places = self.postings.posting_places[start:end]
            between = (start + np.searchsorted(places, inner)).tolist() if inner else []
            bounds.append([start, *between, end])
        return bounds

    def weighed(self) -> Bm25:
        """Return the same with the weight of every entry worked out, for many queries."""
        return replace(self, weights=self.worth())

    def worth(self) -> NDArray[np.float32]:
        """Return the weight of every entry of the postings, without idf."""
        return self.saturated(self.postings.posting_counts, self.postings.posting_places)

    def idf(self, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return how rare words are."""
        among = self.among or self.postings
        return inverse_frequency(among.frequencies(words), among.n_documents)

    def saturated(
        self, counts: NDArray[np.integer], documents: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        """Return what counts of a word in documents are worth, without idf."""
        return saturation(counts, self._half[documents], self.k1)

    def _saturated(self, start: int, end: int, places: NDArray[np.int32]) -> NDArray[np.float32]:
        if self.weights is not None:
            return self.weights[start:end]
        return self.saturated(self.postings.posting_counts[start:end], places)

    @cached_property
    def _half(self) -> NDArray[np.float32]:
        mean = (self.among or self.postings).mean_length
        return half_saturation(self.postings.document_lengths, mean, k1=self.k1, b=self.b)


def inverse_frequency(frequencies: NDArray[np.integer], n_documents: int) -> NDArray[np.float32]:
    """Return the idf of words that are in so many of n documents."""
    others = n_documents - frequencies
    return np.log1p((others + 0.5) / (frequencies + 0.5)).astype(np.float32)


def half_saturation(
    lengths: NDArray[np.integer],
    mean_length: float | None = None,
    *,
    k1: float = K1,
    b: float = B,
) -> NDArray[np.float32]:
    """Return for documents of these lengths the count at which a word has half its full weight."""
    if mean_length is None:
        mean_length = float(lengths.mean()) if len(lengths) else 0.0
    return (k1 * (1 - b + b * (lengths / (mean_length or 1.0)))).astype(np.float32)


def saturation(
    counts: NDArray[np.generic], half: NDArray[np.float32], k1: float = K1
) -> NDArray[np.float32]:
    """Return what counts are worth: less and less for each further one, k1 + 1 at most."""
    values = counts.astype(np.float32)
    return np.asarray(values * np.float32(k1 + 1) / (values + half), np.float32)
