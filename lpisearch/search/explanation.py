"""Cosine and score as exact sums.

The map into the subspace is linear: the vector of a text is the sum over its terms of weight times
loading, each dimension scaled (texts are ROWS here; the papers write them as columns). So with the
query's terms s and the document's terms t,

    cosine(q, d) = Σₛ Σₜ w_q(s) · w_d(t) · ⟨a(s), a(t)⟩ / (|q| |d|),  a(t) = loadings[t] · scales,

and by dimensions j it is the sum of q(j) d(j) / (|q| |d|). Nothing is approximated. In go counts of
terms, so that a document folded in later, or one that is in no library, is explained the same way.

The formula is that of fusion.py. A long document has the score of its best passage, and a tenth of
its own (units.py): the last leg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import DocumentNotFound, SubspaceError
from lpisearch.index.fusion import FEEDBACK_WEIGHT
from lpisearch.messages import call
from lpisearch.model.answers import Explanation, Leg, Pair, Reason, SharedTopic
from lpisearch.search.engine import WHOLE_SHARE
from lpisearch.search.passages import Passages
from lpisearch.search.ranking import Ranking, by_scores, by_table
from lpisearch.text.tokeniser import MOST_CHARACTERS, surface_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.options import SearchOptions
    from lpisearch.search.engine import Engine, UnitScores
    from lpisearch.search.query import Question, Request
    from lpisearch.search.searcher import View
    from lpisearch.text.vocabulary import TermCounts

    Floats = NDArray[np.float64]


# Contributions are held for so many terms of the one and the other side at a time: 8 MB.
_BLOCK = 1024


def explain(
    index: SubspaceIndex,
    query_counts: TermCounts,
    document_counts: TermCounts,
    *,
    pairs: int = 10,
    topics: int = 3,
) -> Explanation:
    """Take the cosine of a query and a document apart.

    Parameters
    ----------
    index
        The subspace.
    query_counts, document_counts
        As `index.vocabulary.count` gives them for the tokens of each.
    pairs, topics
        How many to name. All are in the sum.

    Raises
    ------
    SubspaceError
        The map is not linear, so that there is no such sum.
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
            (terms[query.columns[place]], float(by_term[place]))
            for place in np.argsort(-by_term, kind="stable")
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


class Explainer:
    """Takes the cosines of one query and any documents apart, exactly.

    Parameters
    ----------
    index
        The subspace.
    tokens
        Of the query; they may be counted already.

    Raises
    ------
    SubspaceError
        The map is not linear, so that a cosine is no sum over words.
    """

    def __init__(self, index: SubspaceIndex, tokens: Iterable[str] | Mapping[str, float]) -> None:
        check_linear(index)
        self._index = index
        self._query = index.vocabulary.count(tokens)

    def of(
        self,
        tokens: Iterable[str],
        query_forms: Mapping[str, str],
        document_forms: Mapping[str, str],
        other_forms: Callable[[Iterable[str]], Mapping[str, str]] = lambda _stems: {},
    ) -> Explanation:
        """Explain the cosine of the query and a document with these tokens.

        The forms say how the query and the document write their tokens, and how others write
        those that neither has.
        """
        counts = self._index.vocabulary.count(tokens)
        why = explain(self._index, self._query, counts)
        named = {term for topic in why.topics for term in topic.terms}
        others = other_forms(named.difference(query_forms, document_forms))
        return why.worded(query_forms, {**others, **document_forms})


def check_linear(index: SubspaceIndex) -> None:
    """Refuse an index whose cosines are no sums over terms.

    Raises
    ------
    SubspaceError
    """
    if not index.is_linear:
        raise SubspaceError(
            f"{index.manifest.method} is not linear, so its cosines cannot be broken down by word.",
            call("index", method="rlpi"),
        )


def dimension_terms(
    index: SubspaceIndex, dimension: int, n: int = 8, *, side: float = 0.0
) -> tuple[str, ...]:
    """Return the terms that characterise a dimension, or the positive or negative side of it.

    They are those that move the documents most: |loading| · idf · √(documents with the term),
    the root of what the term by itself adds to the sum of squared coordinates over the corpus.
    By the loading alone, words of a single document would come first.

    Parameters
    ----------
    index
        The subspace.
    dimension
        From 0.
    n
        How many; fewer, where no more terms have a loading of that sign.
    side
        Above 0, below 0, or 0 for both.
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
    """The query or the document: its weighted terms and where they lead."""

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
        """Yield some columns, and the vector that each adds to the text's."""
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


def legs_of(
    engine: Engine,
    question: Question,
    scored: UnitScores,
    place: int,
    *,
    feedback: bool = True,
) -> tuple[Leg, ...]:
    """Take the score of a document apart.

    Parameters
    ----------
    engine, question
        What ranked, and for what.
    scored
        From `engine.unit_scores` of the question.
    place
        Of the document in the index.
    feedback
        As it was given to `engine.unit_scores`.
    """
    scores, parts = scored.scores.of_documents(engine.units), scored.parts
    if parts is None or scores.bm25 is None or scores.cosines is None:
        value = float(scores.by[place])
        return (Leg("words" if scores.cosines is None else "place", value, value, 1.0, value),)
    unit = place if scores.units is None else int(scores.units[place])
    words, near = float(parts.words[unit]), float(parts.places[unit])
    said, heavy = float(parts.feedback[unit]), float(parts.weight)
    share = FEEDBACK_WEIGHT * question.known
    legs = [
        Leg("words", float(scores.bm25[place]), words, 1.0, words),
        Leg("place", float(scores.cosines[place]), near / heavy if heavy else 0.0, heavy, near),
    ]
    if feedback:
        legs.append(Leg("feedback", None, said / share if share else 0.0, share, said))
    if unit >= engine.units.documents:
        whole = float(parts.words[place] + parts.places[place] + parts.feedback[place])
        legs.append(Leg("whole", None, whole, WHOLE_SHARE, WHOLE_SHARE * whole))
    return tuple(legs)


def reason_of(
    view: View, request: Request, name: str, options: SearchOptions, text: str = ""
) -> Reason:
    """Say why a document was found, or would have been.

    Parameters
    ----------
    view
        Of the library.
    request
        What was looked for.
    name
        The id or path of the document.
    options
        As the question was answered with.
    text
        The question as it was typed.

    Raises
    ------
    DocumentNotFound, SeveralDocuments
    """
    row = view.snapshot.documents.only(name)
    engine, question = view.engine, request.question
    if engine is None or question is None:
        return _by_words(view, request, row)
    place = int(np.searchsorted(engine.rows, row))
    if place == len(engine.rows) or engine.rows[place] != row:
        raise DocumentNotFound(name)
    weight = options.semantic_weight
    scored = engine.unit_scores(question, options.by, feedback=request.feedback, weight=weight)
    ranking = by_scores(engine, scored.scores, request, options.by)
    return Reason(
        view.snapshot.documents.details([row], 0)[row].id,
        options.by,
        float(ranking.scores.by[place]),
        legs_of(engine, question, scored, place, feedback=request.feedback),
        _explanation(view, request, ranking, place, text),
    )


def _by_words(view: View, request: Request, row: int) -> Reason:
    ranking = by_table(view.snapshot, request)
    at = np.flatnonzero(ranking.rows == row)
    score = float(ranking.scores.by[at[0]]) if len(at) else 0.0
    identity = view.snapshot.documents.details([row], 0)[row].id
    return Reason(identity, "lexical", score, (Leg("words", score, score, 1.0, score),))


def _explanation(
    view: View, request: Request, ranking: Ranking, place: int, text: str
) -> Explanation | None:
    assert view.engine is not None  # noqa: S101
    if not view.engine.index.is_linear:
        return None
    row = int(ranking.rows[place])
    details = view.snapshot.documents.details([row], MOST_CHARACTERS)[row]
    passages = Passages(view, request, ranking, {})
    tokens, said = passages.explained(place, details)
    forms = surface_forms(text, view.tokeniser)
    explainer = Explainer(view.engine.index, request.counts)
    return explainer.of(tokens, forms, surface_forms(said, view.tokeniser))
