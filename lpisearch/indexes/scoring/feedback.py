"""Relevance feedback: move a query towards its top results or given documents.

Rocchio's rule: q + β · mean(wanted) - γ · mean(unwanted), in the subspace and in the words. Where
no person names them, the documents that come first are the wanted ones: pseudo-relevance feedback.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.compute.stretches import largest
from lpisearch.indexes.index import scaled_rows
from lpisearch.indexes.scoring.document_terms import NO_TERM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.scoring.question import Question
    from lpisearch.indexes.scoring.units import Units

FIRST = 10
STRENGTH = 1.0
# Of two documents a point of score apart, the better counts e^¾ = 2.1 times as much.
STEEPNESS = 0.75
FEEDBACK_WORDS = 50
_DOCUMENTS_A_FIRST = 20

WANTED = 0.75
UNWANTED = 0.25
LIKE_WORDS = 50


def first_count(movers: int) -> int:
    """Return how many documents, of so many, move a question.

    In a library of fewer than 200 documents they are fewer than ten, in one of fewer than 20 none.
    """
    return min(FIRST, movers // _DOCUMENTS_A_FIRST)


def first_places(
    scores: NDArray[np.float32], count: int, without: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the best by a score, but for some: of a long document its passages are taken."""
    count = min(count, len(scores) - len(without))
    if not count:
        return np.empty(0, np.int64)
    pool = scores
    if len(without):
        pool = scores.copy()
        pool[without] = -np.inf
    return largest(pool, count)


def shares_of(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how much each of the first documents counts: together 1."""
    shares = np.exp(STEEPNESS * (scores - scores.max(initial=-np.inf)))
    return np.asarray(shares / shares.sum(), np.float32) if len(shares) else shares


def moved_place(
    place: NDArray[np.float32], scores: NDArray[np.float32], vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return a query's place moved towards those of the documents that it finds first."""
    if not len(scores) or not place.any():
        return place
    return _unit(place + np.float32(STRENGTH) * (shares_of(scores) @ vectors))


@dataclass(frozen=True, eq=False, slots=True)
class FeedbackWords:
    """Words by their numbers in the postings, and how much each counts."""

    words: NDArray[np.int64]
    weights: NDArray[np.float32]

    @classmethod
    def of_first(
        cls,
        scores: NDArray[np.float32],
        numbers: NDArray[np.int64],
        worth: NDArray[np.float32],
        units: Units,
    ) -> FeedbackWords:
        """Take the fifty words that the first documents say most.

        Parameters
        ----------
        scores
            Of those documents.
        numbers, worth
            Their telling words: `Units.telling_words`.
        units
            Whose words they are.
        """
        filled = numbers != NO_TERM
        said_by = (worth * shares_of(scores)[:, np.newaxis])[filled]
        words, at = np.unique(numbers[filled], return_inverse=True)
        weights = np.bincount(at, said_by, minlength=len(words)).astype(np.float32)
        if len(words) > FEEDBACK_WORDS:
            said = weights * units.idf(words)
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
