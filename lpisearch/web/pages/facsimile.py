"""How a document looks: pages of a PDF, web pages, images; and programs that open its file."""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from lpisearch.config import read_preferences
from lpisearch.errors import LpiSearchError
from lpisearch.files import limited_reading
from lpisearch.messages import system_reason
from lpisearch.model.documents import BLOCKS, INLINE, Document, Original
from lpisearch.options import is_loopback
from lpisearch.viewers import HitLocation, has_viewer, open_location, show_in_folder
from lpisearch.web.pages import templates
from lpisearch.web.pages.templates import back_to, refuse_read_only, render
from lpisearch.web.problems import Refusal
from lpisearch.web.state import FILE_SECONDS, WebState, open_original, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.requests import Request

    from lpisearch.library import Library
    from lpisearch.model.answers import Mark

_MOST_PAGES, _KEPT, _NEAREST = 100_000, 6, 12
_LONGEST, _SEARCHED = 10_000, 2_000_000
_NO_SCRIPTS = "default-src 'none'; sandbox"
_PDF, _WEB, _IMAGE = "pdf", "web", "image"
_KINDS = {
    "application/pdf": _PDF,
    "text/html": _WEB,
    "application/xhtml+xml": _WEB,
    "image": _IMAGE,
}
# Images that browsers show, by their first bytes.
_IMAGES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
    "image/bmp": re.compile(rb"BM"),
}
_HEAD_BYTES = 16


def kind_of(document: Document) -> str:
    """Return how the look of a document is shown: "pdf", "web", "image", or "" for not at all."""
    is_plain = document.path.lower().endswith((".pdf", ".html", ".htm", ".xhtml", ".xht"))
    kind = _KINDS.get(document.media_type, "")
    return kind if is_plain or kind == _IMAGE else ""


class Box(NamedTuple):
    """A marked word on an image, in its pixels."""

    x: int
    y: int
    width: int
    height: int
    near: bool


async def facsimile(request: Request) -> Response:
    """Show how a document looks, with the words of a query marked."""
    shared, params = state_of(request), request.query_params
    name, query = params.get("id", ""), params.get("q", "")[:_LONGEST]
    document = await run_in_threadpool(shared.library.document, name)
    kind, number = kind_of(document), templates.read_number(params.get("page", ""), _MOST_PAGES)
    if not kind:
        raise Refusal(404, "This document has no look but its text.")
    trouble, seen = "", Original()
    if kind != _IMAGE:
        try:
            seen = await _seen(shared, name, document, number or 1)
        except LpiSearchError as error:
            trouble = f"The file {error.what}."
        except OSError as error:
            trouble = f"The file cannot be read: {system_reason(error)}."
    marked = await run_in_threadpool(_marked, shared.library, query, document, seen)
    return render(
        request,
        "original.html",
        document=document,
        name=document.id or name,
        q=query,
        kind=kind,
        seen=seen,
        trouble=trouble,
        **marked,
        can_open=can_open(request),
        address=lambda page: address(name, query, page),
    )


def address(name: str, query: str, page: int = 0) -> str:
    """Return the address of the look of a document."""
    params = {"id": name, "q": query, "page": str(page or "")}
    chosen = {key: value for key, value in params.items() if value}
    return f"/document/original?{urlencode(chosen)}"


async def page_image(request: Request) -> Response:
    """Return a page of a PDF as an image."""
    shared, params = state_of(request), request.query_params
    name = params.get("id", "")
    document = await run_in_threadpool(shared.library.document, name)
    number = templates.read_number(params.get("page", ""), _MOST_PAGES) or 1
    if kind_of(document) != _PDF:
        raise Refusal(404, "This document has no pages.")
    try:
        seen = await _seen(shared, name, document, number)
    except (LpiSearchError, OSError):
        raise Refusal(404, "This page cannot be shown.") from None
    return _image(seen.image, "image/png")


async def image_file(request: Request) -> Response:
    """Return the file of a document that is an image, if browsers show it."""
    shared, name = state_of(request), request.query_params.get("id", "")
    document = await run_in_threadpool(shared.library.document, name)
    if kind_of(document) != _IMAGE:
        raise Refusal(404, "This document is not an image.")

    def read() -> bytes:
        with open_original(shared, document.path) as stream:
            return stream.read(shared.settings.limits.upload_bytes)

    content = await run_in_threadpool(read)
    head = content[:_HEAD_BYTES]
    media_type = next((kind for kind, begins in _IMAGES.items() if begins.match(head)), "")
    if not media_type:
        raise Refusal(404, "Browsers do not show images of this format.")
    return _image(content, media_type)


def _image(content: bytes, media_type: str) -> Response:
    headers = {"Content-Security-Policy": _NO_SCRIPTS}
    return Response(content, media_type=media_type, headers=headers)


async def _seen(shared: WebState, name: str, document: Document, page: int) -> Original:
    """Return how a file looks, from a cache of the last pages."""
    path = document.path

    def look() -> Original:
        open_original(shared, path).close()  # checks that it may be read
        real = Path(path).resolve(strict=True)
        stated = real.stat()

        def read() -> Original:
            with limited_reading([real], FILE_SECONDS):
                return shared.library.original(name, page)

        cache = templates.cache_of(shared, "originals", _KEPT)
        return cache.get((path, page), f"{stated.st_mtime_ns} {stated.st_size}", read)

    with shared.file_place():
        return await shared.with_file(look)


def _marked(library: Library, query: str, document: Document, seen: Original) -> dict[str, Any]:
    """Return the boxes of the marked words of an image, or the markup of a web page."""
    text, starts = (seen.text, []) if seen.text else _joined(seen.elements)
    marks: Sequence[Mark] = ()
    elsewhere: Sequence[Mark] = ()
    if query.strip() and text:
        with suppress(LpiSearchError):
            marks, elsewhere = library.marks(query, text, document.text[:_SEARCHED])
    return {
        "boxes": list(_boxes(seen, marks)),
        "markup": _markup(seen.elements, text, starts, marks),
        "matches": sum(not mark.near for mark in marks),
        "with_matches": _around(seen.page, _matches_by_page(document, elsewhere)),
    }


def _boxes(seen: Original, marks: Sequence[Mark]) -> Iterator[Box]:
    """Yield a box for each line of each mark."""
    for mark in marks:
        edges = [box for box in seen.boxes[mark.start : mark.end] if box[2] > box[0]]
        for _, line in groupby(edges, key=lambda box: box[3]):
            on_it = list(line)
            left, top = min(box[0] for box in on_it), min(box[1] for box in on_it)
            right, bottom = max(box[2] for box in on_it), max(box[3] for box in on_it)
            yield Box(left, top, right - left, bottom - top, bool(mark.near))


def _joined(elements: Sequence[tuple[str, str]]) -> tuple[str, list[int]]:
    """Return the text of a web page, and where the text of each element begins in it."""
    parts, starts, at = [], [], 0
    for tag, value in elements:
        starts.append(at)
        part = value if not tag else "\n" if tag.lstrip("/") not in INLINE else ""
        parts.append(part)
        at += len(part)
    return "".join(parts), starts


_LISTS = {"ul", "ol"}
_TABLE = {"table"}
_VOID = {"br", "hr", "wbr"}
_PARENTS = {
    "li": _LISTS,
    "tr": {"table", "tbody", "thead", "tfoot"},
    "td": {"tr"},
    "th": {"tr"},
    "tbody": _TABLE,
    "thead": _TABLE,
    "tfoot": _TABLE,
    "caption": _TABLE,
}
_PLAIN = {"dl": "div", "dt": "p", "dd": "div", "figure": "div", "figcaption": "p", "tt": "code"}
_HEADING = re.compile(r"h[1-6]")
_EMPTY = re.compile(r"<(h[2-6]|a)(?: [^<>]*)?>\s*</\1>")


def _markup(
    elements: Sequence[tuple[str, str]], text: str, starts: Sequence[int], marks: Sequence[Mark]
) -> Markup:
    """Return the elements of a web page as markup: known tags, and texts that are escaped."""
    writer, ends = _MarkupWriter(), [mark.end for mark in marks]
    for (tag, value), start in zip(elements, starts, strict=True):
        if not tag:
            own = marks[bisect_right(ends, start) :]
            pieces = templates.pieces(text, own, start, start + len(value))
            writer.add("".join(map(_piece, pieces)), is_blank=not value.strip())
        elif tag.startswith("/"):
            writer.end(tag[1:])
        elif tag in BLOCKS or tag in INLINE:
            writer.begin(tag, value)
    return writer.markup()


class _MarkupWriter:
    """Writes elements; one that is not where it belongs becomes a plain one.

    Headings leave out no level, and lists have items alone.
    """

    def __init__(self) -> None:
        self._out: list[str] = []
        self._open: list[tuple[str, str, str]] = []  # the tag, what was written, what ends it
        self._level = 1

    @property
    def _around(self) -> str:
        return self._open[-1][1] if self._open else ""

    def add(self, inner: str, *, is_blank: bool) -> None:
        """Add a text that is escaped."""
        in_list = self._around in _LISTS and not is_blank
        self._out.append(f"<li>{inner}</li>" if in_list else inner)

    def begin(self, tag: str, value: str) -> None:
        """Begin an element."""
        if tag in _VOID:
            self._out.append("" if self._around in _LISTS else f"<{tag}>")
            return
        written = _PLAIN.get(tag, tag)
        if _HEADING.fullmatch(tag):
            self._level = min(int(tag[1]) + 1, self._level + 1, 6)
            written = f"h{self._level}"
        if tag in _PARENTS and self._around not in _PARENTS[tag]:
            written = "div"
        if self._around in _LISTS and written != "li":
            self._out.append("<li>")
            self._open.append((tag, "li", "</li>"))
        begin, end = _tag(written, value)
        self._out.append(begin)
        self._open.append((tag, written, end))

    def end(self, tag: str) -> None:
        """End an element, and those that are open in it."""
        if tag in _VOID or all(begun != tag for begun, _, _ in self._open):
            return
        while self._open:
            begun, _, end = self._open.pop()
            self._out.append(end)
            is_wrapped = bool(self._open) and self._open[-1][0] == tag and self._around == "li"
            if begun == tag and not (is_wrapped and tag != "li"):
                return

    def markup(self) -> Markup:
        """Return what was written, without headings and links that have no text."""
        whole = "".join((*self._out, *(end for _, _, end in reversed(self._open))))
        return Markup(_EMPTY.sub("", whole))  # noqa: S704 (known tags and escaped texts)


def _tag(name: str, value: str) -> tuple[str, str]:
    if name == "a" and value:
        return f'<a href="{escape(value)}" rel="noopener noreferrer">', "</a>"
    if name in {"td", "th"} and value.isdecimal():
        return f'<td colspan="{value}">', "</td>"
    name = {"a": "span", "th": "td"}.get(name, name)
    return f"<{name}>", f"</{name}>"


def _piece(piece: templates.Piece) -> str:
    inner = str(escape(piece.text))
    if piece.kind == templates.PLAIN:
        return inner
    near = ' class="near"' if piece.kind == templates.NEAR else ""
    return f"<mark{near}>{inner}</mark>"


def _matches_by_page(document: Document, marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """Return the pages with words of the query, and how many each has."""
    pages = [one for one in document.sections if one.kind == "page" and one.name.isdecimal()]
    starts = [mark.start for mark in marks if not mark.near]
    edges = [*(one.start for one in pages), len(document.text)]
    counts = [
        sum(first <= start < last for start in starts) for first, last in pairwise(edges) if starts
    ]
    return [(int(one.name), count) for one, count in zip(pages, counts, strict=False) if count]


def _around(page: int, pages: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pages nearest to one."""
    first = bisect_right([number for number, _ in pages], page) - _NEAREST // 2
    first = max(min(first, len(pages) - _NEAREST), 0)
    return pages[first : first + _NEAREST]


def can_open(request: Request) -> bool:
    """Tell whether this machine may open files for its reader: it is the browser's own."""
    shared = state_of(request)
    address = request.client.host if request.client else ""
    own = shared.settings.is_local and is_loopback(address)
    return own and not shared.read_only and has_viewer()


async def open_file(request: Request) -> Response:
    """Open the file of a document, or its folder, on the machine of the server and the browser."""
    refuse_read_only(request)
    if not can_open(request):
        raise Refusal(403, "Files are opened for a browser on the machine of the server alone.")
    async with request.form() as form:
        name, page = str(form.get("id", "")), str(form.get("page", ""))
        query, what = str(form.get("q", "")), str(form.get("what", ""))
    shared = state_of(request)

    def start() -> None:
        document = shared.library.document(name)
        open_original(shared, document.path).close()  # checks that it may be read
        if what == "folder":
            show_in_folder(Path(document.path))
            return
        chosen = read_preferences().get("opener")
        location = HitLocation(name, document.path, page)
        open_location(location, "" if chosen is None else str(chosen.value))

    await run_in_threadpool(start)
    if page:
        number = templates.read_number(page, _MOST_PAGES)
        return back_to(address(name, query, number or 0))
    return back_to(f"/document?{urlencode({'id': name} | ({'q': query} if query else {}))}")
