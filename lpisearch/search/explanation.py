"""Explanation: cosines and scores as exact sums.

The map into the subspace is linear: the vector of a text is the sum over its terms of weight times
loading, each dimension scaled (texts are ROWS here; the papers write them as columns). So with the
query's terms s and the document's terms t,

    cosine(q, d) = Σₛ Σₜ w_q(s) · w_d(t) · ⟨a(s), a(t)⟩ / (|q| |d|),  a(t) = loadings[t] · scales,

and by dimensions j it is the sum of q(j) d(j) / (|q| |d|). Nothing is approximated. Counts of terms
are enough, so a document added later, or one in no library, is explained the same way.

The formula of a score is that of fusion.py. A long document has the score of its best passage, and
a tenth of its own: the last leg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import DocumentNotFound, SubspaceError
from lpisearch.index.fusion import FEEDBACK_WEIGHT
from lpisearch.messages import call
from lpisearch.model.answers import Explanation, Leg, Pair, Reason, SharedTopic
from lpisearch.search.engine import WHOLE_SHARE, Engine, UnitScores
from lpisearch.search.passages import Passages, written_forms
from lpisearch.search.ranking import by_index, by_words
from lpisearch.text.tokeniser import MOST_CHARACTERS, surface_forms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.model.documents import Details
    from lpisearch.options import SearchOptions
    from lpisearch.search.query import Query
    from lpisearch.search.snapshot import Snapshot
    from lpisearch.text.vocabulary import TermCounts

    Floats = NDArray[np.float64]


# The number of terms of either side whose contributions are in memory at a time: 8 MB.
_BLOCK = 1024


def explain(
    index: SubspaceIndex,
    query_counts: TermCounts,
    document_counts: TermCounts,
    *,
    pairs: int = 10,
    topics: int = 3,
) -> Explanation:
    """Break the cosine of a query and a document down by pairs of terms, and by dimensions.

    `pairs` and `topics` limit those that are named: all are in the sum.
    """
    check_linear(index)
    query, document = _Side(index, query_counts), _Side(index, document_counts)
    if not query.length or not document.length:
        return Explanation(0.0, 0.0)
    by_dimension = query.unit * document.unit
    total, strongest = _strongest_pairs(query, document, pairs)
    terms = index.vocabulary.terms
    by_term = query.contributions(document.unit)
    return Explanation(
        cosine=float(by_dimension.sum()),
        total=total,
        pairs=tuple(Pair(terms[s], terms[t], share) for share, s, t in strongest),
        by_query_term=tuple(
            (terms[query.columns[at]], float(by_term[at]))
            for at in np.argsort(-by_term, kind="stable")
        ),
        topics=tuple(
            SharedTopic(
                dimension,
                float(by_dimension[dimension]),
                dimension_terms(index, dimension, side=float(query.unit[dimension])),
            )
            for dimension in np.argsort(-by_dimension, kind="stable")[:topics].tolist()
            if by_dimension[dimension] > 0
        ),
    )


class HitExplainer:
    """Breaks the cosines of one query and its hits down, exactly; the map must be linear."""

    def __init__(self, snapshot: Snapshot, query: Query, passages: Passages) -> None:
        self._snapshot, self._passages = snapshot, passages
        self._index = snapshot.require_engine().index
        check_linear(self._index)
        self._query = self._index.vocabulary.count(query.counts)
        self._query_forms = surface_forms(query.text, snapshot.tokeniser)
        self._other_forms: dict[str, str] = {}

    def explain(self, number: int, details: Details, *, others: bool = True) -> Explanation:
        """Explain the cosine of a hit; `others` words terms that neither side contains, too."""
        tokens, text = self._passages.explained(number, details)
        forms = surface_forms(text, self._snapshot.tokeniser)
        why = explain(self._index, self._query, self._index.vocabulary.count(tokens))
        if others:
            named = {term for topic in why.topics for term in topic.terms}
            self._look_up(named.difference(self._query_forms, forms))
        return why.worded(self._query_forms, {**self._other_forms, **forms})

    def _look_up(self, stems: Iterable[str]) -> None:
        """Find how other documents write stems."""
        unknown = [stem for stem in sorted(stems) if stem not in self._other_forms]
        if unknown:
            forms = written_forms(self._index, self._snapshot.transaction, unknown)
            self._other_forms |= {stem: forms.get(stem, stem) for stem in unknown}


def check_linear(index: SubspaceIndex) -> None:
    """Refuse an index whose cosines are not sums over terms: `SubspaceError`."""
    if not index.is_linear:
        raise SubspaceError(
            f"{index.manifest.method} is not linear, so its cosines cannot be broken down by word.",
            call("index", method="rlpi"),
        )


def dimension_terms(
    index: SubspaceIndex, dimension: int, n: int = 8, *, side: float = 0.0
) -> tuple[str, ...]:
    """Return the terms that characterise a dimension, or the positive or negative side of it.

    They are those that move documents most: |loading| · idf · √(documents with the term), the root
    of what the term alone adds to the sum of squared coordinates over the corpus. By the loading
    alone, words of a single document would come first. `side` is positive, negative, or 0 for both.
    """
    loadings = np.asarray(index.loadings[:, dimension], np.float64)
    towards = np.abs(loadings) if side == 0 else loadings * np.sign(side)
    documents = index.vocabulary.document_frequencies
    moves = towards * index.weighting.idf * np.sqrt(documents)
    n = min(n, len(moves))
    best = np.argpartition(-moves, n - 1)[:n] if n else np.array([], int)
    best = best[np.lexsort((best, -moves[best]))]
    return tuple(index.vocabulary.terms[column] for column in best if moves[column] > 0)


class _Side:
    """The query or the document: its weighted terms and its vector."""

    def __init__(self, index: SubspaceIndex, counts: TermCounts) -> None:
        self.columns = counts.indices
        self._weights = index.weighting.weigh_query(counts.indices, counts.counts)
        self._loadings = index.loadings
        self._scales = np.asarray(index.scales, np.float64)
        vector = np.zeros(len(self._scales))
        for _, rows in self.blocks():
            vector += rows.sum(axis=0)
        self.length = float(np.linalg.norm(vector))
        self.unit: Floats = vector / (self.length or 1.0)

    def blocks(self) -> Iterator[tuple[NDArray[np.int32], Floats]]:
        """Yield columns in blocks, and the vector that each adds to that of the text."""
        for start in range(0, len(self.columns), _BLOCK):
            columns = self.columns[start : start + _BLOCK]
            weights = self._weights[start : start + _BLOCK, np.newaxis]
            yield columns, self._loadings[columns] * self._scales * weights

    def contributions(self, other: Floats) -> Floats:
        """Return what each term adds to the cosine with a unit vector."""
        return np.concatenate([rows @ other for _, rows in self.blocks()]) / self.length


def _strongest_pairs(
    query: _Side, document: _Side, number: int
) -> tuple[float, list[tuple[float, int, int]]]:
    """Return the sum over all pairs, and (contribution, columns) of those that matter most."""
    lengths = query.length * document.length
    total = 0.0
    best: list[tuple[float, int, int]] = []
    for query_columns, query_rows in query.blocks():
        for columns, rows in document.blocks():
            shares = query_rows @ rows.T / lengths
            total += float(shares.sum())
            flat = shares.ravel()
            most = min(number, flat.size)
            if not most:
                continue
            places = np.argpartition(-np.abs(flat), most - 1)[:most]
            s, t = np.unravel_index(places, shares.shape)
            best += zip(
                flat[places].tolist(), query_columns[s].tolist(), columns[t].tolist(), strict=True
            )
        best = sorted(best, key=lambda pair: (-abs(pair[0]), *pair[1:]))[:number]
    return total, best


def legs_of(engine: Engine, query: Query, units: UnitScores, number: int) -> tuple[Leg, ...]:
    """Break the score of a document down, from the scores of all units."""
    by = "lexical" if units.cosines is None else "semantic" if units.bm25 is None else "hybrid"
    scores, hybrid = engine.of_documents(units, query, by), units.hybrid
    if hybrid is None or units.moved is None or scores.bm25 is None or scores.cosines is None:
        value = float(scores.total[number])
        return (Leg("words" if scores.cosines is None else "place", value, value, 1.0, value),)
    unit = number if scores.units is None else int(scores.units[number])
    words_of = hybrid.words
    meaning_of, feedback_of = units.moved - words_of, units.total - units.moved
    words, meaning = float(words_of[unit]), float(meaning_of[unit])
    feedback, weight = float(feedback_of[unit]), float(hybrid.weight)
    share = FEEDBACK_WEIGHT * query.known
    legs = [
        Leg("words", float(scores.bm25[number]), words, 1.0, words),
        Leg(
            "place",
            float(scores.cosines[number]),
            meaning / weight if weight else 0.0,
            weight,
            meaning,
        ),
    ]
    if query.feedback:
        legs.append(Leg("feedback", None, feedback / share if share else 0.0, share, feedback))
    if unit >= engine.units.documents:
        whole = float(words_of[number] + meaning_of[number] + feedback_of[number])
        legs.append(Leg("whole", None, whole, WHOLE_SHARE, WHOLE_SHARE * whole))
    return tuple(legs)


def explain_score(query: Query, snapshot: Snapshot, name: str, options: SearchOptions) -> Reason:
    """Break the score of a document down, whether the search finds it or not."""
    documents = snapshot.transaction.documents
    row = documents.only(name)
    identity = documents.details([row], 0)[row].id
    engine = snapshot.engine
    if engine is None:
        scores = by_words(query, snapshot)
        at = np.flatnonzero(scores.rows == row)
        value = float(scores.total[at[0]]) if len(at) else 0.0
        return Reason(identity, "lexical", value, (Leg("words", value, value, 1.0, value),))
    rows = engine.index.document_rows
    number = int(np.searchsorted(rows, row))
    if number == len(rows) or rows[number] != row:
        raise DocumentNotFound(name)
    units = engine.unit_scores(query, options.by, options.semantic_weight)
    scores = by_index(units, query, engine, options.by)
    explanation = None
    if engine.index.is_linear:
        details = documents.details([row], MOST_CHARACTERS)[row]
        explainer = HitExplainer(snapshot, query, Passages(snapshot, query, scores, {}))
        explanation = explainer.explain(number, details, others=False)
    value, legs = float(scores.total[number]), legs_of(engine, query, units, number)
    return Reason(identity, options.by, value, legs, explanation)
