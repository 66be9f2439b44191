"""Mark query words, and words close in meaning, in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.records import Mark
from lpisearch.search.snippets import semantic_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lpisearch.search.request import Request
    from lpisearch.search.view import View

MOST_NEAR = 6
"""So many different near words of a text are marked."""
_LEAST = 0.3  # of the share of the nearest


def marks(view: View, request: Request, text: str) -> tuple[Mark, ...]:
    """Return the words of a text that have to do with a query, in their order.

    Near words are told by the linear map: those that add most to the cosine of the query and the
    text. Where the map is not linear, the query's own words alone are marked.
    """
    own = frozenset(request.tokens)
    near = _near(view, request, text, own)
    quoted = (Mark(*span) for each in request.phrases if (span := each.find(text)))
    found = (
        Mark(start, end, near.get(token, 0.0))
        for start, end, token in view.tokeniser.spans(text, own | near.keys())
    )
    return tuple(_joined(sorted([*quoted, *found])))


def _near(view: View, request: Request, text: str, own: frozenset[str]) -> Mapping[str, float]:
    engine, question = view.engine, request.question
    if engine is None or question is None or not question.has_place or not engine.index.is_linear:
        return {}
    if view.tokeniser is not view.index_tokeniser:
        return {}
    shares = semantic_weights(engine.index, question.vector, view.tokeniser.tokens(text))
    others = {token: share for token, share in shares.items() if token not in own}
    best = sorted(others, key=lambda token: (-others[token], token))[:MOST_NEAR]
    least = _LEAST * max(others.values(), default=0.0)
    return {token: others[token] for token in best if others[token] >= least}


def _joined(found: Iterable[Mark]) -> list[Mark]:
    """Join marks that overlap, as pairs of characters do; a word of the query goes before."""
    joined: list[Mark] = []
    for mark in found:
        if joined and mark.start < joined[-1].end:
            last = joined[-1]
            near = last.near if last.near == 0 else mark.near
            joined[-1] = Mark(last.start, max(last.end, mark.end), near)
        else:
            joined.append(mark)
    return joined
