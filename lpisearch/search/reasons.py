"""Explain the rank of a document: score and cosine as exact sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import DocumentNotFound
from lpisearch.indexes.scoring.explanation import Explainer
from lpisearch.indexes.scoring.legs import legs_of
from lpisearch.records import Leg, Reason
from lpisearch.search.passages import Passages
from lpisearch.search.rankings import Ranking, by_scores, by_table
from lpisearch.terms.forms import MOST_CHARACTERS, surface_forms

if TYPE_CHECKING:
    from lpisearch.records import Explanation
    from lpisearch.search.request import Request
    from lpisearch.search.view import View
    from lpisearch.settings import SearchOptions


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
