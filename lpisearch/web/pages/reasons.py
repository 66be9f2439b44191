"""“Why this result?”: score components and contributing words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lpisearch.errors import LpiSearchError
from lpisearch.web.pages import pieces
from lpisearch.web.pages.choices import Choices
from lpisearch.web.pages.drawn import drawn_already
from lpisearch.web.pages.rendering import apology, is_part, render
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from lpisearch.records import Explanation, Leg, Topic
    from lpisearch.web.state import WebState

_LEGS = {
    "words": ("Words", "BM25"),
    "place": ("Meaning", "cosine"),
    "feedback": ("Words from the top results", ""),
    "whole": ("The whole document", ""),
}


def why(request: Request) -> Response:
    """Show why a document stands where it does in an answer."""
    shared, choices = state_of(request), Choices.of(request.query_params)
    name = request.query_params.get("id", "")
    try:
        reason = shared.library.reason(
            choices.q, name, options=choices.options, like=choices.like, unlike=choices.unlike
        )
        title = shared.library.document(name).title or name
    except LpiSearchError as error:
        return apology(request, error)
    template = "why_part.html" if is_part(request) else "why.html"
    return render(
        request,
        template,
        choices=choices,
        document=name,
        title=title,
        reason=reason,
        legs=_legs(reason.legs),
        topic=_topic(shared, reason.id),
        **_cosine(reason.explanation),
    )


def _legs(legs: tuple[Leg, ...]) -> list[tuple[str, str, Leg, pieces.Share]]:
    bars = pieces.shares([leg.share for leg in legs])
    named = [_LEGS[leg.name] for leg in legs]
    return [(*name, leg, bar) for name, leg, bar in zip(named, legs, bars, strict=True)]


def _cosine(explanation: Explanation | None) -> dict[str, Any]:
    pairs = () if explanation is None else explanation.pairs
    words = () if explanation is None else explanation.by_query_term
    rest = 0.0 if explanation is None else explanation.total - sum(p.contribution for p in pairs)
    values = [pair.contribution for pair in pairs]
    return {
        "pairs": list(zip(pairs, pieces.shares(values), strict=True)),
        "words": list(zip(words, pieces.shares([share for _, share in words]), strict=True)),
        "rest": rest,
    }


def _topic(shared: WebState, document: str) -> Topic | None:
    found = drawn_already(shared)
    place = None if found is None else found.topic_of(document)
    return None if found is None or place is None else found.map.report.topics[place]
