"""Explanation: cosines and scores as exact sums.

The map into the subspace is linear: the vector of a text is the sum over its terms of weight times
loading, each dimension scaled (texts are ROWS here; the papers write them as columns). So with the
query's terms s and the document's terms t,

    cosine(q, d) = Σₛ Σₜ w_q(s) · w_d(t) · ⟨a(s), a(t)⟩ / (|q| |d|),  a(t) = loadings[t] · scales,

and by dimensions j it is the sum of q(j) d(j) / (|q| |d|). Nothing is approximated. Counts of terms
are enough, so a document added later, or one in no library, is explained the same way.

The formula of a score is that of fusion.py. A long document has half of the score of its best
passage, and half of its own: the last leg.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import DocumentNotFound, SubspaceError
from lpisearch.index.fusion import FEEDBACK_WEIGHT, Standard
from lpisearch.messages import call
from lpisearch.model.answers import Explanation, Leg, Pair, Reason, SharedTopic
from lpisearch.numeric.rows import numbers_of
from lpisearch.numeric.threads import largest
from lpisearch.search.hybrid import UnitScores, whole_share
from lpisearch.search.passages import Passages, written_forms
from lpisearch.search.ranking import by_index, by_words, finished
from lpisearch.text.tokeniser import MOST_CHARACTERS, surface_forms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from lpisearch.index.encoded_units import Leg as EncoderLeg
    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.model.documents import Details
    from lpisearch.options import SearchOptions
    from lpisearch.search.engine import Engine, Scores
    from lpisearch.search.query import Query
    from lpisearch.search.snapshot import Snapshot
    from lpisearch.text.vocabulary import TermCounts

    Floats = NDArray[np.float64]


# The number of terms of either side whose contributions are in memory at a time: 8 MB.
_BLOCK = 1024


def explain(
    index: SubspaceIndex,
    query_counts: TermCounts | _Side,
    document_counts: TermCounts,
    *,
    pairs: int = 10,
    topics: int = 3,
) -> Explanation:
    """Break the cosine of a query and a document down by pairs of terms, and by dimensions.

    `pairs` and `topics` limit those that are named: all are in the sum.
    """
    check_linear(index)
    query = query_counts if isinstance(query_counts, _Side) else _Side(index, query_counts)
    document = _Side(index, document_counts)
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
                _terms_towards(index, dimension, is_positive=bool(query.unit[dimension] > 0)),
            )
            for dimension in np.argsort(-by_dimension, kind="stable")[:topics].tolist()
            if by_dimension[dimension] > 0
        ),
    )


class HitExplainer:
    """Breaks the cosines of one query and its hits down, exactly; the map must be linear."""

    def __init__(self, snapshot: Snapshot, query: Query, passages: Passages) -> None:
        self._snapshot, self._passages = snapshot, passages
        self._index = snapshot.require_engine().whole_index
        check_linear(self._index)
        rarity = snapshot.require_engine().rarity(query)
        self._weights = tuple(sorted(rarity.items(), key=lambda pair: (-pair[1], pair[0])))
        self._query = _Side(self._index, self._index.vocabulary.count(query.counts))
        tokeniser = snapshot.tokeniser.of_language(query.language)
        self._query_forms = surface_forms(query.text, tokeniser)
        self._other_forms: dict[str, str] = {}

    def explain(self, number: int, details: Details, *, others: bool = True) -> Explanation:
        """Explain the cosine of a hit; `others` words terms that neither side contains, too."""
        tokens, text = self._passages.explained(number, details)
        tokeniser = self._snapshot.tokeniser.of_language(details.language)
        why = explain(self._index, self._query, self._index.vocabulary.count(tokens))
        why = replace(why, weights=self._weights)
        of_topics = {term for topic in why.topics for term in topic.terms}
        named = of_topics | {pair.document_term for pair in why.pairs}
        forms = surface_forms(text, tokeniser, named)
        if others:
            self._look_up(of_topics.difference(self._query_forms, forms))
        return why.worded(self._query_forms, {**self._other_forms, **forms})

    def _look_up(self, stems: Iterable[str]) -> None:
        """Find how other documents write stems."""
        if unknown := [stem for stem in sorted(stems) if stem not in self._other_forms]:
            own = self._snapshot
            forms = written_forms(self._index, own.transaction, unknown, tokeniser=own.tokeniser)
            self._other_forms |= {stem: forms.get(stem, stem) for stem in unknown}


def check_linear(index: SubspaceIndex) -> None:
    """Refuse an index whose cosines are not sums over terms: `SubspaceError`."""
    if not index.is_linear:
        raise SubspaceError(
            f"{index.manifest.method} is not linear, so its cosines cannot be broken down by word.",
            call("index", method="rlpi"),
        )


def related_words(query: Query, snapshot: Snapshot, k: int) -> list[tuple[str, float]]:
    """Return the words that add most to the cosine of a document with a query, best first.

    By the linear map, the vector of a document is the sum of the scaled loadings of its terms times
    their weights (documents are ROWS; columns in the papers), so a term adds weight · loading · q.
    Those of the query itself are left out.
    """
    index, own = snapshot.require_engine().whole_index, frozenset(query.tokens)
    check_linear(index)
    columns = np.arange(index.n_terms, dtype=np.int32)
    once = index.weighting.weigh_query(columns, np.ones(len(columns), np.float32))
    shares = once * index.packed_loadings.times(index.scales * query.vector)
    best = np.argsort(-shares, kind="stable")[: k + len(own)].tolist()
    terms = index.vocabulary.terms
    near = {terms[at]: float(shares[at]) for at in best if shares[at] > 0 and terms[at] not in own}
    forms = written_forms(index, snapshot.transaction, list(near))
    return [(forms.get(term, term), share) for term, share in near.items()][:k]


def _terms_towards(index: SubspaceIndex, dimension: int, *, is_positive: bool) -> tuple[str, ...]:
    """Return the terms of one side of a dimension, which are found once for an open index."""
    known, side = index.terms_of_sides, (dimension, is_positive)
    if side not in known:
        known[side] = dimension_terms(index, dimension, side=1 if is_positive else -1)
    return known[side]


def dimension_terms(
    index: SubspaceIndex, dimension: int, n: int = 8, *, side: float = 0.0
) -> tuple[str, ...]:
    """Return the terms that characterise a dimension, or the positive or negative side of it.

    They are those that move documents most: |loading| · idf · √(documents with the term), the root
    of what the term alone adds to the sum of squared coordinates over the corpus. By the loading
    alone, words of a single document would come first. `side` is positive, negative, or 0 for both.
    """
    loadings = np.asarray(index.packed_loadings.column(dimension), np.float64)
    towards = np.abs(loadings) if side == 0 else loadings * np.sign(side)
    moves = towards * index.term_spreads
    best = largest(moves, n)
    best = best[np.lexsort((best, -moves[best]))]
    return tuple(index.vocabulary.terms[column] for column in best if moves[column] > 0)


class _Side:
    """The query or the document: its weighted terms and its vector."""

    def __init__(self, index: SubspaceIndex, counts: TermCounts) -> None:
        self.columns = counts.indices
        self._weights = index.weighting.weigh_query(counts.indices, counts.counts)
        self._loadings = index.packed_loadings
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
            yield columns, self._loadings.at(columns) * self._scales * weights

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
    by = "lexical" if units.cosines is None else "semantic" if units.words is None else "hybrid"
    best = engine.units.best(units.total, None if units.words is None else units.words.bm25)
    unit = int(best[number])
    legs = _legs_of_unit(query, units, unit)
    share = whole_share(by) if unit >= engine.units.documents else 0.0
    if not share:
        return tuple(legs)
    whole = float(units.total[number])
    parts = [
        replace(leg, weight=leg.weight * (1 - share), share=leg.share * (1 - share)) for leg in legs
    ]
    return (*parts, Leg("whole", None, whole, share, whole * share))


def _legs_of_unit(query: Query, units: UnitScores, unit: int) -> list[Leg]:
    """Break the score of a document or passage down."""
    hybrid, words = units.hybrid, units.words
    if words is None:
        value = float(units.total[unit])
        return [Leg("place", value, value, 1.0, value)]
    one = Standard(np.float32(0), np.float32(1)) if hybrid is None else words.standard
    legs = [_leg("words", float(one.of(words.bm25[unit])), value=float(words.bm25[unit]))]
    legs += [
        _leg(name, float(values[unit] * one.inverse))
        for name, values in words.parts.items()
        if values[unit]
    ]
    if hybrid is None or units.moved is None or units.cosines is None:
        return legs
    meaning = float(units.moved[unit] - words.standard.of(words.total[unit]))
    legs.append(_leg("place", meaning, float(hybrid.weight), float(units.cosines[unit])))
    if query.feedback:
        feedback = float(units.total[unit] - units.moved[unit])
        legs.append(_leg("feedback", feedback, FEEDBACK_WEIGHT * float(hybrid.share)))
    return legs


def encoder_leg(leg: EncoderLeg, number: int) -> Leg:
    """Return what the user's encoder adds to the score of a document: its words are not known."""
    cosine, points = float(leg.cosines[number]), float(leg.points[number])
    return Leg("encoder", cosine, points, leg.weight, leg.weight * points)


def _leg(name: str, share: float, weight: float = 1.0, value: float | None = None) -> Leg:
    return Leg(name, value, share / weight if weight else 0.0, weight, share)


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
        words = float(scores.bm25[at[0]]) if len(at) and scores.bm25 is not None else 0.0
        legs = _with_bonus((Leg("words", words, words, 1.0, words),), scores, at)
        return Reason(identity, "lexical", value, legs)
    engine = snapshot.engine = engine.of_query(query, snapshot.transaction, options)
    number = int(numbers_of(np.array([row]), engine.index.document_rows)[0])
    if number < 0:
        if engine.has_all:
            raise DocumentNotFound(name)
        raise SubspaceError(f"“{name}” is not among the candidates that the database found.")
    units = engine.unit_scores(query, options.by, options.semantic_weight)
    scores = finished(by_index(units, query, engine, options.by), query, snapshot, options)
    explanation = None
    if engine.index.is_linear:
        details = documents.details([row], MOST_CHARACTERS)[row]
        explainer = HitExplainer(snapshot, query, Passages(snapshot, query, scores, {}, 1))
        explanation = explainer.explain(number, details, others=False)
    legs = _with_bonus(legs_of(engine, query, units, number), scores, np.array([number]))
    return Reason(identity, options.by, float(scores.total[number]), legs, explanation)


def _with_bonus(
    legs: tuple[Leg, ...], scores: Scores, number: NDArray[np.integer]
) -> tuple[Leg, ...]:
    """Add what compounds brought to a document, if it has a number, and what demotion took."""
    if not len(number):
        return legs
    if scores.compounds is not None:
        bonus = float(scores.compounds[number[0]])
        legs = (*legs, Leg("compounds", None, bonus, 1.0, bonus))
    if scores.encoder is not None:
        legs = (*legs, encoder_leg(scores.encoder, int(number[0])))
    for reason, numbers in list(scores.demoted.items()):
        if number[0] in numbers:
            less = float(scores.total[number[0]]) - sum(leg.share for leg in legs)
            return (*legs, Leg(reason, None, less, 1.0, less))
    return legs
