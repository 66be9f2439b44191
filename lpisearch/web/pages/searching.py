"""The search page: as you type, or without any script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lpisearch.errors import LpiSearchError
from lpisearch.records import Mark
from lpisearch.settings import RELEVANCE, SORTS
from lpisearch.web.pages import pieces
from lpisearch.web.pages.choices import HITS, LAST_PAGE, WAYS, Choices
from lpisearch.web.pages.rendering import is_part, render
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from lpisearch.library import Library
    from lpisearch.records import Answer, Entry, Facets, Hit, Passage, Suggestion
    from lpisearch.web.pages.pieces import Piece


class ShownPassage(NamedTuple):
    """A passage with its marks, and where it is."""

    pieces: list[Piece]
    passage: Passage


class ShownHit(NamedTuple):
    """A document that was found, or one of a listing, which has no passages."""

    rank: int
    document: Hit | Entry
    passages: list[ShownPassage]


@dataclass(frozen=True, slots=True)
class Shown:
    """What the page shows of an answer.

    Attributes
    ----------
    hits, facets
        What was found.
    by
        How it was ranked; "" for a listing.
    total
        How many there are on all pages.
    notes, suggestions, trouble
        What is to be known of it.
    """

    hits: Sequence[ShownHit] = ()
    facets: Facets | None = None
    by: str = ""
    total: int = 0
    notes: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    trouble: LpiSearchError | None = None

    @property
    def last_page(self) -> int:
        """The number of the last page."""
        return min(max(-(-self.total // HITS), 1), LAST_PAGE)


def search(request: Request) -> Response:
    """Show the answer to what the address asks."""
    library, choices = state_of(request).library, Choices.of(request.query_params)
    shown = answer_to(library, choices)
    template = "answer.html" if is_part(request) else "search.html"
    dates = shown.facets.dates if shown.facets else ()
    response = render(
        request,
        template,
        choices=choices,
        shown=shown,
        ways=WAYS,
        sorts=SORTS,
        bars=pieces.histogram(dates),
        pages=list(pieces.pages(choices.page, shown.last_page)),
        liked=[(name, _title(library, name)) for name in (*choices.like, *choices.unlike)],
    )
    if is_part(request):
        response.headers["HX-Push-Url"] = _as_header(choices.address())
    return response


def answer_to(library: Library, choices: Choices) -> Shown:
    """Ask the library, or list its documents where nothing is asked."""
    try:
        if not choices.asks:
            return _listing(library, choices)
        answer = library.search(
            choices.q, like=choices.like, unlike=choices.unlike, options=choices.options
        )
        return _answered(library, choices, answer)
    except LpiSearchError as error:
        return Shown(trouble=error)


def _answered(library: Library, choices: Choices, answer: Answer) -> Shown:
    first = [hit.snippet.text for hit in answer]
    marked = library.marks(choices.q, *first, options=choices.options)
    hits = [_shown_hit(hit, own) for hit, own in zip(answer, marked, strict=True)]
    total = answer.facets.total if answer.facets else len(answer)
    return Shown(hits, answer.facets, answer.by, total, answer.notes, answer.suggestions)


def _shown_hit(hit: Hit, marks: Sequence[Mark]) -> ShownHit:
    """Show the first passage with the near words too; the others, which are folded, as found."""
    near = 0.0 if hit.bm25 else 1.0
    passages = [
        ShownPassage(
            pieces.pieces(each.text, [Mark(*mark, near) for mark in each.marks] if at else marks),
            each,
        )
        for at, each in enumerate(hit.passages)
    ]
    return ShownHit(hit.rank, hit, passages)


def _listing(library: Library, choices: Choices) -> Shown:
    sort = "added" if choices.sort == RELEVANCE else choices.sort
    offset = (choices.page - 1) * HITS
    entries, total = library.listing(choices.where, limit=HITS, offset=offset, sort=sort)
    hits = [ShownHit(at, entry, []) for at, entry in enumerate(entries, offset + 1)]
    facets = library.facets(choices.where)
    return Shown(hits, facets, "", total)


def _title(library: Library, name: str) -> str:
    try:
        return library.document(name).title or name
    except LpiSearchError:
        return name


def _as_header(address: str) -> str:
    return address.encode("ascii", "replace").decode("ascii")
