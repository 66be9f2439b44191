"""The page of a document, its labels, and its original file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool

from lpisearch.errors import LpiSearchError
from lpisearch.model.document_filter import format_name, format_of
from lpisearch.web.api.contents import original as download
from lpisearch.web.api.endpoint import ApiRequest
from lpisearch.web.pages import templates
from lpisearch.web.pages.facsimile import address as look_address
from lpisearch.web.pages.facsimile import can_open, kind_of
from lpisearch.web.pages.results import HITS, LAST_PAGE, Choices
from lpisearch.web.pages.templates import Piece, back_to, refuse_read_only, render
from lpisearch.web.problems import Refusal
from lpisearch.web.state import WebState, open_original, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.responses import Response

    from lpisearch.library import Library
    from lpisearch.model.answers import Answer, Mark
    from lpisearch.model.documents import Document, Traits


PART = 60_000  # characters that are shown at a time
_SEARCHED = 2_000_000  # characters in which matches are marked
MOST_HITS = HITS * LAST_PAGE
_MOST_ON_MINIMAP = 400
_LONGEST_PARAGRAPH = 4_000
_SIMILAR = 6
_HEIGHT = 1000


class Block(NamedTuple):
    """A paragraph with the heading before it; `here` is where the address leads."""

    start: int
    heading: str
    pieces: list[Piece]
    here: bool = False


class Spot(NamedTuple):
    """A match on the mini-map, in thousandths of the text."""

    top: float
    near: bool


def document(request: Request) -> Response:
    """Show a document with the words of a query marked, at the passage that was found."""
    shared, params = state_of(request), request.query_params
    name, query = params.get("id", ""), params.get("q", "")[:10_000]
    shown = shared.library.document(name)
    marks = _marks(shared.library, query, shown)
    starts = part_starts(shown)
    at = templates.read_number(params.get("at", ""), len(shown.text))
    part = _part(params.get("part", ""), marks, starts, at)
    text = (starts[part], starts[part + 1] if part + 1 < len(starts) else len(shown.text))
    known: dict[str, Any] = {
        "document": shown,
        "name": shown.id or name,
        "q": query,
        "blocks": list(blocks(shown, marks, *text, at)),
        "matches": sum(not mark.near for mark in marks),
        "near": sum(bool(mark.near) for mark in marks),
        "parts_list": _parts(shown, marks, starts, name, query),
        "part": part,
        "address": f"/document?{urlencode([(key, one) for key, one in params.multi_items()])}",
    }
    if templates.is_part(request):
        return render(request, "preview.html", **known)
    similar, trouble = _similar(shared.library, name)
    return render(
        request,
        "document.html",
        **known,
        spots=list(spots(marks, *text)),
        similar=similar,
        trouble=trouble,
        facts=facts(shown, shared.library.traits(shown.id or name)),
        predicted=shared.library.predicted(shown.id or name),
        **_file(request, shown, _page(shown, marks, at), query),
        around=_around(shared.library, params),
    )


def _file(request: Request, shown: Document, page: str, query: str) -> dict[str, Any]:
    """Return what the page offers of the file of a document."""
    has_file, name = is_available(state_of(request), shown), request.query_params.get("id", "")
    looks = look_address(name, query, int(page or 0)) if has_file and kind_of(shown) else ""
    opens = has_file and can_open(request)
    return {"has_file": has_file, "page": page, "looks": looks, "can_open": opens}


class Around(NamedTuple):
    """Where a result is among the results: its rank, their number, and addresses."""

    rank: int
    total: int
    before: str
    after: str
    results: str


def _around(library: Library, params: QueryParams) -> Around | None:
    """Return the results before and after the one in the address, if it names its rank."""
    rank, choices = templates.read_number(params.get("hit", ""), MOST_HITS), Choices.of(params)
    if rank is None or not choices.asks:
        return None
    first = max(rank - 2, 0)
    options = replace(choices.options, offset=first, k=3, facets=False)
    try:
        answer = library.search(
            choices.q, options=options, like=choices.like, unlike=choices.unlike
        )
    except LpiSearchError:
        return None
    near = {
        hit.rank: choices.to_document(hit.id, hit.rank, hit.snippet.start) for hit in answer.hits
    }
    page = choices.address(page=(rank - 1) // HITS + 1)
    return Around(rank, answer.total, near.get(rank - 1, ""), near.get(rank + 1, ""), page)


def _marks(library: Library, query: str, document: Document) -> tuple[Mark, ...]:
    if not query.strip():
        return ()
    try:
        return library.marks(query, document.text[:_SEARCHED])[0]
    except LpiSearchError:
        return ()


def _similar(library: Library, name: str) -> tuple[Sequence[Any], LpiSearchError | None]:
    try:
        answer: Answer = library.similar(name, k=_SIMILAR)
    except LpiSearchError as error:
        return (), error
    return answer.hits, None


def part_starts(document: Document) -> list[int]:
    """Return the starts of the parts of a long text, at a section, paragraph, line or sentence."""
    text, starts = document.text, [0]
    sections = [one.start for one in document.sections]
    while starts[-1] + PART + PART // 4 < len(text):
        at = starts[-1] + PART
        end = at + PART // 4
        number = bisect_left(sections, at)
        if number < len(sections) and sections[number] < end:
            starts.append(sections[number])
            continue
        cuts = ((text.find(sign, at, end), len(sign)) for sign in ("\n\n", "\n", ". ", " "))
        starts.append(next((found + size for found, size in cuts if found >= 0), at))
    return starts


def _part(text: str, marks: Sequence[Mark], starts: list[int], at: int | None) -> int:
    """Return the index of the requested part, of that of a position, or of the first match."""
    number = templates.read_number(text, len(starts))
    if number is not None:
        return number - 1
    first = next((mark.start for mark in marks if not mark.near), 0) if at is None else at
    return bisect_right(starts, first) - 1


def _parts(
    document: Document, marks: Sequence[Mark], starts: list[int], name: str, query: str
) -> list[tuple[int, str, int]]:
    """Return the number, the address and the number of matches of each part."""
    if len(starts) == 1:
        return []
    own = [mark.start for mark in marks if not mark.near]
    ends = [*starts[1:], len(document.text)]
    params = {"id": name} | ({"q": query} if query else {})
    return [
        (
            number,
            f"/document?{urlencode(params | {'part': str(number)})}",
            bisect_left(own, end) - bisect_left(own, start),
        )
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1)
    ]


def blocks(
    document: Document, marks: Sequence[Mark], start: int, end: int, here: int | None = None
) -> Iterator[Block]:
    """Yield the paragraphs of a range of a text, with the names of its sections."""
    sought = here
    ends = [mark.end for mark in marks]
    sections = {one.start: one for one in document.sections if start <= one.start < end}
    edges = sorted({start, end, *sections})
    for first, last in pairwise(edges):
        section = sections.get(first)
        heading = "" if section is None else f"{section.kind} {section.name}"
        if section is not None and section.kind == "heading":
            heading = section.name
        for at, until in paragraphs(document.text, first, last):
            own = marks[bisect_right(ends, at) :]
            is_here = sought is not None and sought < until
            sought = None if is_here else sought
            pieces = templates.pieces(document.text, own, at, until)
            yield Block(at, heading, pieces, is_here)
            heading = ""
        if heading:
            yield Block(first, heading, [])


def paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges between blank lines; a very long one is split at a line or a space."""
    at = start
    while at < end:
        blank = text.find("\n\n", at, end)
        last = blank if blank >= 0 else end
        while last - at > _LONGEST_PARAGRAPH:
            cut = max(text.rfind(sign, at + 1, at + _LONGEST_PARAGRAPH) for sign in "\n ")
            cut = cut if cut > at else at + _LONGEST_PARAGRAPH
            yield at, cut
            at = cut
        if text[at:last].strip():
            yield at, last
        at = last + 2 if blank >= 0 else end


def spots(marks: Sequence[Mark], start: int, end: int) -> Iterator[Spot]:
    """Yield the positions of at most a few hundred matches, words of the query last."""
    inside = [mark for mark in marks if start <= mark.start < end]
    step = max(-(-len(inside) // _MOST_ON_MINIMAP), 1)
    scale = _HEIGHT / max(end - start, 1)
    for mark in sorted(inside[::step], key=lambda one: not one.near):
        yield Spot(round((mark.start - start) * scale, 1), bool(mark.near))


def facts(document: Document, traits: Traits) -> list[tuple[str, str]]:
    """Return the facts about a document by name."""
    known = [
        ("date", document.date),
        ("split", document.split),
        ("format", format_name(format_of(document.media_type))),
        ("path", document.path),
        ("length", f"{len(document.text):,} characters"),
        ("language", traits.language.capitalize()),
        ("kind", f"{traits.kind}: {traits.reason}" if traits.kind else ""),
    ]
    metadata = [(str(key), _text(value)) for key, value in document.metadata.items()]
    return [(name, value) for name, value in [*known, *metadata] if value]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(one)}" for key, one in value.items())
    return "" if value is None else str(value)


def _page(document: Document, marks: Sequence[Mark], at: int | None) -> str:
    """Return the number of the page of a position or the first match, if the file has pages."""
    pages = [one for one in document.sections if one.kind == "page"]
    first = next((mark.start for mark in marks if not mark.near), None) if at is None else at
    if first is None or not pages:
        return ""
    number = bisect_right([one.start for one in pages], first)
    return pages[number - 1].name if number else ""


async def change_labels(request: Request) -> Response:
    """Add labels to a document, or remove some, and show it again."""
    refuse_read_only(request)
    async with request.form() as form:
        name, query = str(form.get("id", "")), str(form.get("q", ""))
        add = tuple(filter(None, (part.strip() for part in str(form.get("add", "")).split(","))))
        remove = tuple(filter(None, map(str, form.getlist("remove"))))
    library = state_of(request).library
    if add or remove:
        await run_in_threadpool(library.label, name, add=add, remove=remove)
    params = {"id": name} | ({"q": query} if query else {})
    return back_to(f"/document?{urlencode(params)}#labels")


def original(request: Request) -> Response:
    """Download the file of a document, with the checks of the API."""
    name = request.query_params.get("id", "")
    return download(ApiRequest(state_of(request), {"id": name}))


def is_available(shared: WebState, document: Document) -> bool:
    """Tell whether the file of a document exists and may be downloaded."""
    if not document.path:
        return False
    try:
        open_original(shared, document.path).close()
    except Refusal:
        return False
    return True
