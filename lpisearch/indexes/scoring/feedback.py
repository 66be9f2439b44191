"""Move a query towards documents: those that it finds first, and those that a person names.

Rocchio's rule: q + β · mean(wanted) - γ · mean(unwanted), in the subspace and in the words. Where
no person names them, the documents that come first are the wanted ones: pseudo-relevance feedback.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.indexes.index import scaled_rows
from lpisearch.indexes.scoring.document_terms import NO_TERM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.scoring.bm25 import Bm25
    from lpisearch.indexes.scoring.document_terms import DocumentTerms
    from lpisearch.indexes.scoring.question import Question

FIRST = 10
STRENGTH = 1.0
# Of two documents a point of score apart, the better counts e^¾ = 2.1 times as much.
STEEPNESS = 0.75
FEEDBACK_WORDS = 50
_DOCUMENTS_A_FIRST = 20

WANTED = 0.75
UNWANTED = 0.25
LIKE_WORDS = 50


@dataclass(frozen=True, eq=False, slots=True)
class FirstDocuments:
    """The documents that come first, and how much each counts: the counts add up to 1.

    In a library of fewer than 200 documents they are fewer than ten, in one of fewer than 20 none.
    """

    places: NDArray[np.int64]
    shares: NDArray[np.float32]

    @classmethod
    def of_scores(cls, scores: NDArray[np.float32]) -> FirstDocuments:
        """Take the best by a score."""
        count = min(FIRST, len(scores) // _DOCUMENTS_A_FIRST)
        if not count:
            return cls(np.empty(0, np.int64), np.empty(0, np.float32))
        first = np.argpartition(scores, len(scores) - count)[-count:]
        shares = np.exp(STEEPNESS * (scores[first] - scores[first].max()))
        return cls(first, shares / shares.sum())


def moved_place(
    place: NDArray[np.float32], vectors: NDArray[np.float32], first: FirstDocuments
) -> NDArray[np.float32]:
    """Return a query's place moved towards the documents that it finds first."""
    if not len(first.places) or not place.any():
        return place
    return _unit(place + np.float32(STRENGTH) * (first.shares @ vectors[first.places]))


@dataclass(frozen=True, eq=False, slots=True)
class FeedbackWords:
    """Words by their numbers in the postings, and how much each counts."""

    words: NDArray[np.int64]
    weights: NDArray[np.float32]

    @classmethod
    def of_documents(cls, first: FirstDocuments, terms: DocumentTerms, bm25: Bm25) -> FeedbackWords:
        """Take the fifty words that the first documents say most."""
        numbers = terms.strongest_terms[first.places]
        filled = numbers != NO_TERM
        rows = np.broadcast_to(np.arange(len(first.places))[:, np.newaxis], numbers.shape)[filled]
        counts = terms.strongest_counts[first.places][filled]
        worth = bm25.saturated(counts, first.places[rows]) * first.shares[rows]
        words, at = np.unique(numbers[filled].astype(np.int64), return_inverse=True)
        weights = np.bincount(at, worth, minlength=len(words)).astype(np.float32)
        if len(words) > FEEDBACK_WORDS:
            said = weights * bm25.idf(words)
            best = np.sort(np.argpartition(said, len(said) - FEEDBACK_WORDS)[-FEEDBACK_WORDS:])
            words, weights = words[best], weights[best]
        return cls(words, weights)


def moved(question: Question, wanted: Sequence[Question], unwanted: Sequence[Question]) -> Question:
    """Return a query moved by documents, each given as the question that it would be."""
    vector = question.vector.copy()
    weights = dict(zip(question.words.tolist(), question.weights.tolist(), strict=True))
    for documents, sign in ((wanted, WANTED), (unwanted, -UNWANTED)):
        for document in documents:
            part = sign / len(documents)
            vector += np.float32(part) * document.vector
            length = float(document.weights.sum()) or 1.0
            scale = part * max(float(question.weights.sum()), 1.0) / length
            for word, weight in zip(
                document.words.tolist(), document.weights.tolist(), strict=True
            ):
                weights[word] = weights.get(word, 0.0) + scale * weight
    kept = {word: weight for word, weight in sorted(weights.items()) if weight > 0}
    return replace(
        question,
        words=np.array(list(kept), np.int64),
        weights=np.array(list(kept.values()), np.float32),
        vector=_unit(vector),
    )


def telling(question: Question, idf: NDArray[np.float32], most: int = LIKE_WORDS) -> Question:
    """Return a document as a query: its most telling words, each by the logarithm of its count."""
    weights = np.log1p(question.weights)
    if len(weights) > most:
        value = weights * idf
        best = np.sort(np.argpartition(value, len(value) - most)[-most:])
        return replace(question, words=question.words[best], weights=weights[best])
    return replace(question, weights=weights)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(scaled_rows(vector[np.newaxis], np.ones(1, np.float32))[0])
