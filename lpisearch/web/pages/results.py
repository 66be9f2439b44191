"""The search page, and the page that explains a result."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, fields, replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from lpisearch.errors import LibraryNotFound, LpiSearchError
from lpisearch.messages import counted
from lpisearch.model.answers import Answer, Explanation, Facets, Hit, Leg, Mark, Passage, Suggestion
from lpisearch.model.documents import Document, Entry, Filter
from lpisearch.options import RANKING_MODES, RELEVANCE, SORTS, SearchOptions
from lpisearch.web.pages import templates
from lpisearch.web.pages.templates import Piece, drawn_already, is_part, render
from lpisearch.web.state import WebState, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from starlette.datastructures import QueryParams
    from starlette.requests import Request

    from lpisearch.library import Library
    from lpisearch.model.answers import Reason


class ShownPassage(NamedTuple):
    """A passage and its parts."""

    pieces: list[Piece]
    passage: Passage


class ShownHit(NamedTuple):
    """A result, or a document of a listing, which has no passages."""

    rank: int
    document: Hit | Entry
    passages: list[ShownPassage]


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer as the page shows it."""

    hits: Sequence[ShownHit] = ()
    facets: Facets | None = None
    by: str = ""  # the ranking mode; "" for a listing
    total: int = 0  # that match
    found: int = 0  # on all pages: of documents that are nearly the same text, one
    notes: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    corrected: str = ""
    trouble: LpiSearchError | None = None
    has_library: bool = True

    @property
    def last_page(self) -> int:
        """The number of the last page."""
        return min(max(-(-self.found // HITS), 1), LAST_PAGE)


def search(request: Request) -> Response:
    """Show the results of the query in the address, or the home page."""
    library, choices = state_of(request).library, Choices.of(request.query_params)
    is_typed = request.headers.get(templates.PART) == "typed"
    shown = answer_to(library, choices, is_typed=is_typed)
    if is_typed and choices.asks and not shown.hits:
        return Response(status_code=204)  # what was found before stays while a word is typed
    if choices.page > shown.last_page and not shown.trouble:
        return templates.back_to(choices.address(page=shown.last_page))
    template = "answer.html" if is_part(request) else "search.html"
    dates = shown.facets.dates if shown.facets else ()
    return render(
        request,
        template,
        status=templates.status_of_page(shown.trouble, 200),
        choices=choices,
        shown=shown,
        ways=RANKING_MODES,
        sorts=SORTS,
        bars=templates.histogram(dates),
        pages=list(templates.pages(choices.page, shown.last_page)),
        liked=[(name, _title(library, name)) for name in (*choices.like, *choices.unlike)],
        home=home(state_of(request)) if choices == Choices() and not is_typed else None,
    )


@dataclass(frozen=True, slots=True)
class Home:
    """What the page shows before anything is searched for."""

    sentence: str
    questions: Sequence[str]
    beginnings: Mapping[str, str]  # of the newest documents, by id
    saved: Mapping[str, str]


def home(shared: WebState) -> Home | None:
    """Return what the home page shows; None for an empty library."""
    from lpisearch.web.pages.exchange import saved_searches

    library = shared.library

    def make() -> tuple[str, list[str], dict[str, str]]:
        entries, total = library.listing(limit=HITS, sort="date")
        facets, status = library.facets(), library.status()
        years = [one.value[:4] for one in facets.dates if one.count]
        span = "" if not years else f", {years[0]} to {years[-1]}" if len(set(years)) > 1 else ""
        languages = [one.name for one in facets.languages[:3]]
        in_languages = f", in {' and '.join(languages[:2])}" if len(languages) > 1 else ""
        states = {one["state"] for one in status["indexes"]}
        index = "No index yet: search is by words only." if not states else ""
        index = "The index is up to date." if states == {"ready"} else index
        # Titles that are words alone: the first ones from each of a few places in the alphabet.
        places = (place * total // _PLACES for place in range(_PLACES))
        some = [library.listing(limit=200, offset=at, sort="title")[0] for at in places]
        plain = [[one.title for one in part if _QUESTION.fullmatch(one.title)] for part in some]
        in_turn = (title for turn in zip_longest(*plain) for title in turn if title)
        questions = list(islice(dict.fromkeys(in_turn), 3))
        sentence = f"{counted(total, 'document')}{span}{in_languages}. {index}".strip()
        texts = {one.id: library.document(one.id).text[:_BEGINNING] for one in entries}
        beginnings = {one.id: _first_line(one.title, texts[one.id]) for one in entries}
        return sentence, questions, beginnings if total else {}

    try:
        made = templates.cache_of(shared).get("home", library.state(), make)
    except LpiSearchError:
        return None
    return Home(*made, saved_searches(shared)) if made[2] else None


def _first_line(title: str, text: str) -> str:
    """Return the beginning of a text, without its title, up to the end of a word."""
    whole = " ".join(text.split()).removeprefix(" ".join(title.split())).strip(" #=-")
    if len(whole) <= _FIRST_LINE:
        return whole
    return f"{whole[:_FIRST_LINE].rsplit(' ', 1)[0]} …"


def facet(request: Request) -> Response:
    """Show all values of one facet, or those that contain a text."""
    library, choices = state_of(request).library, Choices.of(request.query_params)
    name, wanted = request.query_params.get("facet", ""), request.query_params.get("find", "")
    title, field = FACETS.get(name, FACETS["label"])
    facets = answer_to(library, choices).facets or Facets(0)
    values = [one for one in getattr(facets, field) if wanted.casefold() in one.name.casefold()]
    template = "facet_part.html" if is_part(request) else "facet.html"
    more: dict[str, Any] = {"title": title, "values": values, "find": wanted}
    return render(request, template, choices=choices, name=name, facets=facets, **more)


def answer_to(library: Library, choices: Choices, *, is_typed: bool = False) -> Shown:
    """Search the library, or list its documents if there is no query.

    While the last word is typed, and no document has it yet, it is the beginning of a word.
    """
    try:
        if not choices.asks:
            return _listing(library, choices)
        asked: dict[str, Any] = {"like": choices.like, "unlike": choices.unlike}
        # What is typed needs an answer soon; facets, related words and further passages follow at
        # the next pause.
        options = choices.options
        asked["options"] = replace(options, facets=False, passages=1) if is_typed else options
        answer = library.search(choices.q, **asked)
        last = _LAST_WORD.search(choices.q) if is_typed else None
        if last and any(one.word == last.group() for one in answer.suggestions):
            begun = library.search(f"{choices.q}*", **asked)
            if begun.hits:
                answer = replace(begun, notes=(), suggestions=())
        return _answered(library, choices, answer, brief=is_typed)
    except LibraryNotFound:  # the first run: there is nothing to be wrong
        return Shown(has_library=False)
    except LpiSearchError as error:
        return Shown(trouble=error)


def _answered(library: Library, choices: Choices, answer: Answer, *, brief: bool = False) -> Shown:
    marked: list[Sequence[Mark]] = [[Mark(*mark) for mark in hit.snippet.marks] for hit in answer]
    if not brief:
        first = [hit.snippet.text for hit in answer]
        marked = list(library.marks(choices.q, *first, options=choices.options))
    hits = [_shown_hit(hit, own) for hit, own in zip(answer, marked, strict=True)]
    total = answer.facets.total if answer.facets else answer.total
    shown = Shown(
        hits, answer.facets, answer.by, total, answer.total, answer.notes, answer.suggestions
    )
    if not answer.corrected:
        return shown
    # The page has a link where the first note names an option.
    return replace(shown, notes=answer.notes[1:], suggestions=(), corrected=answer.corrected)


def _shown_hit(hit: Hit, marks: Sequence[Mark]) -> ShownHit:
    """Show related words in the first passage only; the other passages are folded."""
    near = 0.0 if hit.bm25 else 1.0
    passages = [
        ShownPassage(
            templates.pieces(
                passage.text, [Mark(*mark, near) for mark in passage.marks] if at else marks
            ),
            passage,
        )
        for at, passage in enumerate(hit.passages)
    ]
    return ShownHit(hit.rank, hit, passages)


def _listing(library: Library, choices: Choices) -> Shown:
    sort = "date" if choices.sort == RELEVANCE else choices.sort
    offset = (choices.page - 1) * HITS
    entries, total = library.listing(choices.where, limit=HITS, offset=offset, sort=sort)
    hits = [ShownHit(at, entry, []) for at, entry in enumerate(entries, offset + 1)]
    return Shown(hits, library.facets(choices.where), "", total, total)


def _title(library: Library, name: str) -> str:
    try:
        return library.document(name).title or name
    except LpiSearchError:
        return name


_QUESTION = re.compile(r"[^\W\d_]+(?:[ ’'-][^\W\d_]+){2,7}")
_PLACES = 4
_BEGINNING, _FIRST_LINE = 2000, 220
_LAST_WORD = re.compile(r"(?<![^\s(-])[^\W_]{2,}\Z")
# The facets of the page: their titles, and their fields in `Facets`.
FACETS = {
    "label": ("Label", "labels"),
    "predicted": ("Predicted label", "predicted"),
    "folder": ("Folder", "folders"),
    "format": ("Format", "formats"),
    "language": ("Language", "languages"),
    "sender": ("Sender", "senders"),
    "split": ("Split", "splits"),
}
HITS = 10
LAST_PAGE = 500
_MOST = 100  # values of one choice
_LONGEST = 10_000  # characters of a question


@dataclass(frozen=True, slots=True)
class Choices:
    """A query, its filters and its page, as an address contains them."""

    q: str = ""
    by: str = RANKING_MODES[0]
    sort: str = RELEVANCE
    label: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    split: str = ""
    folder: tuple[str, ...] = ()
    format: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    sender: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    undated: str = ""
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    literal: str = ""
    alike: str = ""  # "all": also documents that are nearly the same text as one before
    page: int = 1

    @classmethod
    def of(cls, params: QueryParams) -> Choices:
        """Read an address, and ignore invalid values."""
        values: dict[str, Any] = {}
        for field in fields(cls):
            texts = [text.replace("\0", "") for text in params.getlist(field.name)]
            texts = [text[:_LONGEST] for text in texts if text.strip()][:_MOST]
            if not texts:
                continue
            if isinstance(field.default, tuple):
                values[field.name] = tuple(dict.fromkeys(texts))
            elif field.name == "page":
                values["page"] = templates.read_number(texts[-1], LAST_PAGE) or 1
            else:
                values[field.name] = texts[-1]
        if values.get("by") not in RANKING_MODES:
            values.pop("by", None)
        if values.get("sort") not in SORTS:
            values.pop("sort", None)
        return cls(**values)

    @property
    def asks(self) -> bool:
        """Whether there is a query, of words or of documents."""
        return bool(self.q.strip() or self.like)

    @property
    def narrows(self) -> bool:
        """Whether there is a filter."""
        return self.where != Filter()

    @property
    def where(self) -> Filter:
        """The filter."""
        return Filter(
            labels=self.label,
            predicted=self.predicted,
            folders=self.folder,
            formats=self.format,
            languages=self.language,
            senders=self.sender,
            split=self.split,
            since=self.since,
            until=self.until,
            undated=bool(self.undated),
        )

    @property
    def options(self) -> SearchOptions:
        """The options of the search."""
        offset = (self.page - 1) * HITS
        return SearchOptions(
            by=self.by,
            k=HITS,
            offset=offset,
            where=self.where,
            sort=self.sort,
            facets=True,
            literal=bool(self.literal),
            collapse=self.alike != "all",
        )

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the parameters of the address: all values but the defaults."""
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value == default:
                continue
            for one in value if isinstance(value, tuple) else (value,):
                yield name, str(one)

    def address(self, path: str = "/", /, **changes: Any) -> str:
        """Return the address, or that of the first page with changes."""
        changed = replace(self, **{"page": 1} | changes) if changes else self
        query = urlencode(list(changed.pairs()))
        return f"{path}?{query}" if query else path

    def without(self, name: str, value: str) -> str:
        """Return the address without one of the chosen values."""
        chosen = getattr(self, name)
        left = tuple(one for one in chosen if one != value) if isinstance(chosen, tuple) else ""
        return self.address(**{name: left})

    def chosen(self) -> Iterator[tuple[str, str, str]]:
        """Yield (name, value, address without it) for each value of the filter."""
        for name in (*FACETS, "since", "until", "undated"):
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else (value,) * bool(value):
                yield name, one, self.without(name, one)

    @property
    def unfiltered(self) -> str:
        """The address without filters."""
        return self.address(**{name: _DEFAULTS[name] for name in (*FACETS, *_DATES)})

    @property
    def parents(self) -> list[tuple[str, str]]:
        """The folders around the chosen one: names, and addresses that choose them."""
        if len(self.folder) != 1:
            return []
        *parts, _ = self.folder[0].rstrip("/").split("/")
        ways = ["/".join(parts[: at + 1]) for at in range(len(parts))]
        return [(way.rsplit("/", 1)[-1], self.address(folder=(way,))) for way in ways if way]

    def to_document(self, document: str, rank: int = 0, at: int | None = None) -> str:
        """Return the address of a result, at a passage, with the words of the query marked."""
        params = [("id", document), *((name, one) for name, one in self.pairs() if name != "page")]
        params += [("hit", str(rank))] if rank else []
        params += [("at", str(at))] if at is not None else []
        return f"/document?{urlencode(params)}{'#here' if at is not None else ''}"

    def towards(self, document: str) -> str:
        """Return the address of the query with a document to prefer."""
        return self.address(like=(*self.like, document), unlike=_without(self.unlike, document))

    def away_from(self, document: str) -> str:
        """Return the address of the query with a document to avoid."""
        return self.address(unlike=(*self.unlike, document), like=_without(self.like, document))

    def why(self, document: str) -> str:
        """Return the address of the explanation of a result."""
        return f"/why?{urlencode([*self.pairs(), ('id', document)])}"


_DATES = ("since", "until", "undated")
_DEFAULTS = {field.name: field.default for field in fields(Choices)}


def _without(names: tuple[str, ...], document: str) -> tuple[str, ...]:
    return tuple(name for name in names if name != document)


_READ, _NAMED = 200_000, 3
_LEGS = {
    "words": ("Words", "BM25"),
    "title": ("Words in the title and headings", ""),
    "path": ("Words in the path", ""),
    "near": ("Words near each other", ""),
    "place": ("Meaning", "cosine"),
    "feedback": ("Words from the top results", ""),
    "whole": ("The whole document", ""),
    "compounds": ("Compound words", ""),
    "language": ("Another language: counts half", ""),
    "licence": ("A licence: counts half", ""),
    "changes": ("A change log: counts half", ""),
    "generated": ("A generated file: counts half", ""),
    "encoder": ("Your encoder (not exact: no words explain it)", "cosine"),
}


def why(request: Request) -> Response:
    """Explain why a document ranks where it does."""
    shared, choices = state_of(request), Choices.of(request.query_params)
    name = request.query_params.get("id", "")
    reason = shared.library.reason(
        choices.q, name, options=choices.options, like=choices.like, unlike=choices.unlike
    )
    document = shared.library.document(name)
    drawn = drawn_already(shared)
    template = "why_part.html" if is_part(request) else "why.html"
    return render(
        request,
        template,
        choices=choices,
        document=name,
        title=document.title or name,
        sentence=_in_words(shared.library, choices, document, reason),
        reason=reason,
        legs=_legs(reason.legs),
        topic=None if drawn is None else drawn.topic_of(reason.id),
        **_cosine(reason.explanation),
    )


def _in_words(library: Library, choices: Choices, document: Document, reason: Reason) -> str:
    """Say in a sentence why a document is a result."""
    text = document.text[:_READ]
    try:
        of_title, of_text = library.marks(choices.q, document.title, text, options=choices.options)
    except LpiSearchError:
        return ""
    forms = Counter(text[mark.start : mark.end].casefold() for mark in of_text if not mark.near)
    titles = {document.title[mark.start : mark.end] for mark in of_title if not mark.near}
    pairs = () if reason.explanation is None else reason.explanation.pairs
    near = dict.fromkeys(
        pair.document_term
        for pair in pairs
        if pair.contribution > 0 and pair.document_term not in {*forms, pair.query_term}
    )
    named = [f"“{form}” ({counted(times, 'time')})" for form, times in forms.most_common(_NAMED)]
    parts = [
        f"has {_listed(named)}" if named else "has none of the words",
        f"{_listed([f'“{word}”' for word in sorted(titles)])} in the title" if titles else "",
        f"close in meaning through {_listed(list(near)[:_NAMED])}" if near else "",
    ]
    said = "; ".join(filter(None, parts))
    return f"{said[:1].upper()}{said[1:]}."


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


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
