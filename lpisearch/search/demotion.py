"""Demotion: documents that count half for a query, and how rare words are in its language.

A document counts half if few look for its kind (licences, change logs, generated files) and the
query does not name it, or if the query is in one language and the document in another. So it must
be twice as good as the others to come first: a change log that alone has a rare word still does. In
last place it would not, and a fixed number of points means something else in each mode.

In a library of several languages the words of a query have the idf that they have among the
documents in its language, as in a library of these alone. Otherwise words that are common there
would look rare because the other languages lack them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.text.kinds import kinds_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lpisearch.search.engine import Engine, Scores
    from lpisearch.search.query import Query
    from lpisearch.search.snapshot import Snapshot

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]


HALF = np.float32(0.5)
LANGUAGE = "language"
"""The reason for documents in another language than the query; other reasons are kinds."""


def demote(scores: Scores, query: Query, snapshot: Snapshot) -> Scores:
    """Halve the scores of the documents that count half for a query."""
    demoted = demoted_numbers(scores.rows, query, snapshot)
    if not demoted:
        return scores
    return replace(scores, total=halved(scores.total, demoted.values()), demoted=demoted)


def halved(total: Floats, demoted: Iterable[Numbers]) -> Floats:
    """Return scores, those of some documents halved: that of a bad one is doubled."""
    some = np.unique(np.concatenate([*demoted, np.empty(0, np.int64)]))
    total = total.copy()
    total[some] *= np.where(total[some] > 0, HALF, 1 / HALF)
    return total


def demoted_numbers(rows: Numbers, query: Query, snapshot: Snapshot) -> dict[str, Numbers]:
    """Return the positions in ascending keys of the documents that count half, by the reason."""
    if not query.text or not len(rows):
        return {}
    kinds = snapshot.kinds
    unnamed = kinds.keys() - kinds_named(query.text) if kinds else ()
    demoted = {kind: _positions(kinds[kind], rows) for kind in sorted(unnamed)}
    demoted[LANGUAGE] = in_other_languages(rows, query, snapshot)
    return {reason: numbers for reason, numbers in demoted.items() if len(numbers)}


def in_other_languages(rows: Numbers, query: Query, snapshot: Snapshot) -> Numbers:
    """Return the positions of documents in another language than a query; none if it has none."""
    documents = snapshot.languages
    if query.language not in documents or len(documents) == 1:
        return np.empty(0, np.int64)
    # The fewer ones are read.
    if 2 * documents[query.language] > sum(documents.values()):
        return _positions(snapshot.in_language(query.language, other=True), rows)
    is_other = np.ones(len(rows), np.bool_)
    is_other[_positions(snapshot.in_language(query.language), rows)] = False
    return np.flatnonzero(is_other)


def weigh_in_language(query: Query, engine: Engine, snapshot: Snapshot) -> Query:
    """Weigh the words of a query by their idf among the documents in its language."""
    from lpisearch.index.postings import inverse_frequency
    from lpisearch.text.weighting import general_words

    rows = engine.index.document_rows
    others = in_other_languages(rows, query, snapshot)
    if not len(others) or not len(query.words):
        return query
    is_own = np.ones(len(rows), np.bool_)
    is_own[others] = False
    postings = engine.postings
    n_documents = len(rows) - len(others)
    found = []
    for word in query.words.tolist():
        holders, _ = postings.entries(word)
        found.append(np.count_nonzero(is_own[holders]))
    idf = inverse_frequency(np.array(found, np.int64), n_documents)
    general = general_words(query.language)
    if general is not None:
        idf += general.idf(map(postings.term, query.words.tolist()), n_documents)
    share = idf / engine.units.idf(query.words)
    return replace(query, weights=(query.weights * share).astype(np.float32))


def _positions(keys: Numbers, rows: Numbers) -> Numbers:
    """Return the positions of ascending keys in others, without those that are not there."""
    at = np.searchsorted(rows, keys)
    inside = at < len(rows)
    at, keys = at[inside], keys[inside]
    return np.asarray(at[rows[at] == keys])
