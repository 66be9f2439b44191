"""Feedback: queries moved by documents, and documents as queries.

Rocchio's rule: q + β · mean(relevant) - γ · mean(irrelevant), in the subspace and in the words. If
no person names them, the documents that come first are the relevant ones: pseudo-relevance
feedback.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.index.postings import NO_TERM
from lpisearch.index.subspace import scaled_rows
from lpisearch.numeric.threads import largest
from lpisearch.search.notes import check_labels
from lpisearch.search.query import Query
from lpisearch.text.tokeniser import document_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.model.documents import Document, Filter
    from lpisearch.search.engine import Engine, Units
    from lpisearch.search.snapshot import Snapshot

    Floats = NDArray[np.float32]


FIRST = 10
STRENGTH = 1.0
# Of two documents a point of score apart, the better counts e^¾ = 2.1 times as much.
STEEPNESS = 0.75
FEEDBACK_WORDS = 50
_DOCUMENTS_A_FIRST = 20

RELEVANT = 0.75  # β
IRRELEVANT = 0.25  # γ
LIKE_WORDS = 50


def first_count(movers: int) -> int:
    """Return the number of documents that move a query, of all that may.

    It is below ten in a library of fewer than 200 documents, and 0 in one of fewer than 20.
    """
    return min(FIRST, movers // _DOCUMENTS_A_FIRST)


def first_units(scores: Floats, count: int, without: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the best units by a score, without long documents: their passages stand for them."""
    pool = scores.copy()
    pool[without] = -np.inf
    return largest(pool, min(count, len(scores) - len(without)))


def shares_of(scores: Floats) -> Floats:
    """Return how much each of the first documents counts: together 1."""
    shares = np.exp(STEEPNESS * (scores - scores.max(initial=-np.inf)))
    return np.asarray(shares / shares.sum(), np.float32) if len(shares) else shares


def moved_vector(vector: Floats, scores: Floats, vectors: Floats) -> Floats:
    """Return the vector of a query moved towards those of the first documents."""
    if not len(scores) or not vector.any():
        return vector
    return _unit(vector + np.float32(STRENGTH) * (shares_of(scores) @ vectors))


@dataclass(frozen=True, eq=False, slots=True)
class FeedbackWords:
    """Words by their numbers in the postings, and how much each counts."""

    words: NDArray[np.int64]
    weights: Floats

    @classmethod
    def of_first(
        cls, scores: Floats, numbers: NDArray[np.int64], worth: Floats, units: Units
    ) -> FeedbackWords:
        """Take the fifty strongest words of the first documents, from `Units.telling_words`."""
        filled = numbers != NO_TERM
        shared = (worth * shares_of(scores)[:, np.newaxis])[filled]
        words, at = np.unique(numbers[filled], return_inverse=True)
        weights = np.bincount(at, shared, minlength=len(words)).astype(np.float32)
        if len(words) > FEEDBACK_WORDS:
            strength = weights * units.idf(words)
            best = np.argpartition(strength, len(strength) - FEEDBACK_WORDS)[-FEEDBACK_WORDS:]
            best = np.sort(best)
            words, weights = words[best], weights[best]
        return cls(words, weights)


def moved(query: Query, relevant: Sequence[Query], irrelevant: Sequence[Query]) -> Query:
    """Return a query moved by documents, each given as a query."""
    vector = query.vector.copy()
    weights = dict(zip(query.words.tolist(), query.weights.tolist(), strict=True))
    for documents, sign in ((relevant, RELEVANT), (irrelevant, -IRRELEVANT)):
        for document in documents:
            part = sign / len(documents)
            vector += np.float32(part) * document.vector
            length = float(document.weights.sum()) or 1.0
            scale = part * max(float(query.weights.sum()), 1.0) / length
            own = zip(document.words.tolist(), document.weights.tolist(), strict=True)
            for word, weight in own:
                weights[word] = weights.get(word, 0.0) + scale * weight
    positive = {word: weight for word, weight in sorted(weights.items()) if weight > 0}
    return replace(
        query,
        words=np.array(list(positive), np.int64),
        weights=np.array(list(positive.values()), np.float32),
        vector=_unit(vector),
    )


def telling(query: Query, idf: Floats, most: int = LIKE_WORDS) -> Query:
    """Keep the most telling words of a document as a query, by the logarithm of their counts."""
    weights = np.log1p(query.weights)
    if len(weights) > most:
        value = weights * idf
        best = np.sort(np.argpartition(value, len(value) - most)[-most:])
        return replace(query, words=query.words[best], weights=weights[best])
    return replace(query, weights=weights)


def _unit(vector: Floats) -> Floats:
    return np.asarray(scaled_rows(vector[np.newaxis], np.ones(1, np.float32))[0])


def like_document(document: str | Document, snapshot: Snapshot, where: Filter) -> Query:
    """Return a document as a query; one of the library, named by id or path, is excluded."""
    check_labels(where, snapshot)
    allowed = snapshot.matching(where)
    excluded: frozenset[int] = frozenset()
    if isinstance(document, str):
        key = snapshot.transaction.documents.only(document)
        tokens = snapshot.transaction.documents.tokens([key])[0].split()
        excluded = frozenset({key})
    else:
        tokens = document_tokens(snapshot.tokeniser, document).split()
    query = Query() if snapshot.engine is None else _as_query(snapshot.engine, tokens)
    terms = _frequent(tokens)
    return replace(
        query,
        tokens=terms,
        fts_tokens=terms,
        allowed=allowed,
        excluded=excluded,
        feedback=False,
    )


def moved_by_documents(
    query: Query, snapshot: Snapshot, like: Sequence[str], unlike: Sequence[str]
) -> Query:
    """Move a query towards some documents and away from others, all of which are excluded.

    Without an index, words are added and none are removed.
    """
    if not like and not unlike:
        return query
    documents = snapshot.transaction.documents
    relevant, irrelevant = map(documents.only, like), map(documents.only, unlike)
    keys, other_keys = list(relevant), list(irrelevant)
    words = [tokens.split() for tokens in documents.tokens(keys)]
    other_words = [tokens.split() for tokens in documents.tokens(other_keys)]
    engine = snapshot.engine
    if engine is not None:
        query = moved(
            query,
            [_as_query(engine, tokens) for tokens in words],
            [_as_query(engine, tokens) for tokens in other_words],
        )
    added = (token for tokens in words for token in _frequent(tokens))
    terms = tuple(dict.fromkeys((*query.tokens, *added)))
    return replace(
        query,
        tokens=terms,
        fts_tokens=terms,
        excluded=frozenset({*keys, *other_keys}),
        feedback=False,
    )


def _as_query(engine: Engine, tokens: list[str]) -> Query:
    query = engine.look_up(tokens)
    return telling(query, engine.units.idf(query.words))


def _frequent(tokens: list[str]) -> tuple[str, ...]:
    return tuple(token for token, _ in Counter(tokens).most_common(LIKE_WORDS))
