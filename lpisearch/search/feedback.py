"""Rocchio and term feedback, more like this.

Rocchio's rule: q + β · mean(wanted) - γ · mean(unwanted), in the subspace and in the words. Where
no person names them, the documents that come first are the wanted ones: pseudo-relevance feedback.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.index.postings import NO_TERM
from lpisearch.index.subspace import scaled_rows
from lpisearch.numeric.threads import largest
from lpisearch.search.query import Request
from lpisearch.text.tokeniser import document_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from lpisearch.model.documents import Document
    from lpisearch.search.engine import Engine, Units
    from lpisearch.search.query import Question
    from lpisearch.search.searcher import View


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


def like_document(
    view: View, document: str | Document, allowed: AbstractSet[int] | None
) -> Request:
    """Ask for what is like a document, which is left out if it is in the library.

    Raises
    ------
    DocumentNotFound, SeveralDocuments
    """
    left_out: frozenset[int] = frozenset()
    if isinstance(document, str):
        row = view.snapshot.documents.only(document)
        tokens = view.snapshot.corpus.tokens([row])[0].split()
        left_out = frozenset({row})
    else:
        tokens = document_tokens(view.tokeniser, document).split()
    engine = view.engine
    question = _asked(engine, tokens) if engine is not None else None
    return Request(_frequent(tokens), question, allowed, left_out, feedback=False)


def moved_by_documents(
    view: View, request: Request, like: Sequence[str], unlike: Sequence[str]
) -> Request:
    """Move a query towards some documents and away from others, all of which are left out.

    Without an index, words are added and none taken.

    Raises
    ------
    DocumentNotFound, SeveralDocuments
    """
    wanted = [view.snapshot.documents.only(name) for name in like]
    unwanted = [view.snapshot.documents.only(name) for name in unlike]
    words = [tokens.split() for tokens in view.snapshot.corpus.tokens(wanted)]
    others = [tokens.split() for tokens in view.snapshot.corpus.tokens(unwanted)]
    question, engine = request.question, view.engine
    if engine is not None and question is not None:
        question = moved(
            question,
            [_asked(engine, tokens) for tokens in words],
            [_asked(engine, tokens) for tokens in others],
        )
    every = [*request.tokens, *(token for tokens in words for token in _frequent(tokens))]
    return replace(
        request,
        tokens=tuple(dict.fromkeys(every)),
        in_table=None,
        question=question,
        left_out=frozenset({*wanted, *unwanted}),
        feedback=False,
    )


def _asked(engine: Engine, tokens: list[str]) -> Question:
    question = engine.ask(tokens)
    return telling(question, engine.idf(question.words))


def _frequent(tokens: list[str]) -> tuple[str, ...]:
    return tuple(token for token, _ in Counter(tokens).most_common(LIKE_WORDS))
