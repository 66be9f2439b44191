"""Move a query towards documents: those that it finds first, and those that a person names.

Rocchio's rule: q + β · mean(wanted) - γ · mean(unwanted), in the subspace and in the words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.indexes.index import scaled_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.search.question import Question

# The documents that come first by the fused score pull the query; a better one pulls more.
FIRST = 10
PULL = 0.6
STEEPNESS = 0.5
_DOCUMENTS_A_FIRST = 20

WANTED = 0.75
UNWANTED = 0.25
LIKE_WORDS = 50


def pulled(
    vector: NDArray[np.float32], vectors: NDArray[np.float32], scores: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return a query's place moved towards the documents that it finds first.

    In a library of fewer than 200 documents fewer pull, in one of fewer than 20 none.
    """
    count = min(FIRST, len(scores) // _DOCUMENTS_A_FIRST)
    if not count or not vector.any():
        return vector
    first = np.argpartition(scores, len(scores) - count)[-count:]
    pulls = np.exp(STEEPNESS * (scores[first] - scores[first].max()))
    middle = (pulls / pulls.sum()) @ vectors[first]
    return _unit(vector + np.float32(PULL) * middle)


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
