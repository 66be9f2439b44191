"""Search page, reasons."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from lpisearch.errors import LpiSearchError
from lpisearch.model.answers import Mark
from lpisearch.model.documents import Filter
from lpisearch.options import RANKING_MODES, RELEVANCE, SORTS, SearchOptions
from lpisearch.web.pages import templates
from lpisearch.web.pages.templates import apology, drawn_already, is_part, render
from lpisearch.web.state import state_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.responses import Response

    from lpisearch.library import Library
    from lpisearch.model.answers import (
        Answer,
        Explanation,
        Facets,
        Hit,
        Leg,
        Passage,
        Suggestion,
        Topic,
    )
    from lpisearch.model.documents import Entry
    from lpisearch.web.pages.templates import Piece
    from lpisearch.web.state import WebState


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
        ways=RANKING_MODES,
        sorts=SORTS,
        bars=templates.histogram(dates),
        pages=list(templates.pages(choices.page, shown.last_page)),
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
            templates.pieces(
                each.text, [Mark(*mark, near) for mark in each.marks] if at else marks
            ),
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


HITS = 10
LAST_PAGE = 500
_MOST = 100  # values of one choice
_LONGEST = 10_000  # characters of a question


@dataclass(frozen=True, slots=True)
class Choices:
    """A question, and which documents may answer it.

    Attributes
    ----------
    q
        As it was typed.
    by, sort
        How to answer.
    label, predicted
        Any of these.
    split, folder, format, since, until
        All that are given.
    like, unlike
        Ids of documents that the question moves towards, or away from.
    page
        From 1.
    """

    q: str = ""
    by: str = RANKING_MODES[0]
    sort: str = RELEVANCE
    label: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    split: str = ""
    folder: str = ""
    format: str = ""
    since: str = ""
    until: str = ""
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    page: int = 1

    @classmethod
    def of(cls, asked: QueryParams) -> Choices:
        """Read an address; what cannot be meant is as if it were not there."""
        values: dict[str, Any] = {}
        for each in fields(cls):
            given = [value.replace("\0", "") for value in asked.getlist(each.name)]
            given = [value[:_LONGEST] for value in given if value.strip()][:_MOST]
            if not given:
                continue
            if isinstance(each.default, tuple):
                values[each.name] = tuple(dict.fromkeys(given))
            elif each.name == "page":
                number = given[-1]
                digits = number.isascii() and number.isdigit() and len(number) < len("1000000")
                values["page"] = min(max(int(number), 1), LAST_PAGE) if digits else 1
            else:
                values[each.name] = given[-1]
        if values.get("by") not in RANKING_MODES:
            values.pop("by", None)
        if values.get("sort") not in SORTS:
            values.pop("sort", None)
        return cls(**values)

    @property
    def asks(self) -> bool:
        """Whether there is a question, in words or by documents."""
        return bool(self.q.strip() or self.like)

    @property
    def narrows(self) -> bool:
        """Whether not all documents may answer."""
        return self.where != Filter()

    @property
    def where(self) -> Filter:
        """Which documents may answer."""
        return Filter(
            labels=self.label,
            predicted=self.predicted,
            path=self.folder,
            split=self.split,
            since=self.since,
            until=self.until,
            media_type=self.format,
        )

    @property
    def options(self) -> SearchOptions:
        """How the library is asked."""
        offset = (self.page - 1) * HITS
        return SearchOptions(
            by=self.by, k=HITS, offset=offset, where=self.where, sort=self.sort, facets=True
        )

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield what differs from nothing asked at all, as the address has it."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value == each.default:
                continue
            for one in value if isinstance(value, tuple) else (value,):
                yield each.name, str(one)

    def address(self, path: str = "/", /, **changes: Any) -> str:
        """Return the address of this, or of this with changes, which begin at the first page."""
        changed = replace(self, **{"page": 1} | changes) if changes else self
        query = urlencode(list(changed.pairs()))
        return f"{path}?{query}" if query else path

    def without(self, name: str, value: str) -> str:
        """Return the address without one of the chosen values."""
        had = getattr(self, name)
        left = tuple(one for one in had if one != value) if isinstance(had, tuple) else ""
        return self.address(**{name: left})

    def chosen(self) -> Iterator[tuple[str, str, str]]:
        """Yield (what is chosen, its value, the address without it)."""
        for name in ("label", "predicted", "split", "folder", "format", "since", "until"):
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else (value,) * bool(value):
                yield name, one, self.without(name, one)

    def to_document(self, document: str) -> str:
        """Return the address of a document's page, where the words of the question are marked."""
        asked = {"id": document} | ({"q": self.q} if self.q.strip() else {})
        return f"/document?{urlencode(asked)}"

    def more_like(self, document: str) -> str:
        """Return the address of the question moved towards a document."""
        return self.address(like=(*self.like, document), unlike=_less(self.unlike, document))

    def less_like(self, document: str) -> str:
        """Return the address of the question moved away from a document."""
        return self.address(unlike=(*self.unlike, document), like=_less(self.like, document))

    def why(self, document: str) -> str:
        """Return the address that says why a document was found."""
        return f"{self.address('/why')}{'&' if any(self.pairs()) else '?'}" + urlencode(
            {"id": document}
        )


def _less(names: tuple[str, ...], document: str) -> tuple[str, ...]:
    return tuple(name for name in names if name != document)


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


def _legs(legs: tuple[Leg, ...]) -> list[tuple[str, str, Leg, templates.Share]]:
    bars = templates.shares([leg.share for leg in legs])
    named = [_LEGS[leg.name] for leg in legs]
    return [(*name, leg, bar) for name, leg, bar in zip(named, legs, bars, strict=True)]


def _cosine(explanation: Explanation | None) -> dict[str, Any]:
    pairs = () if explanation is None else explanation.pairs
    words = () if explanation is None else explanation.by_query_term
    rest = 0.0 if explanation is None else explanation.total - sum(p.contribution for p in pairs)
    values = [pair.contribution for pair in pairs]
    return {
        "pairs": list(zip(pairs, templates.shares(values), strict=True)),
        "words": list(zip(words, templates.shares([share for _, share in words]), strict=True)),
        "rest": rest,
    }


def _topic(shared: WebState, document: str) -> Topic | None:
    found = drawn_already(shared)
    place = None if found is None else found.topic_of(document)
    return None if found is None or place is None else found.map.report.topics[place]
