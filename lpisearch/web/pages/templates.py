"""Templates and their filters, parts of pages, and cached results that pages draw."""

from __future__ import annotations

import gzip
import json
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache, cached_property, partial
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from starlette.responses import RedirectResponse, Response
from starlette.templating import Jinja2Templates

from lpisearch import __version__
from lpisearch.errors import DocumentNotFound, LibraryNotFound, LpiSearchError
from lpisearch.messages import Call, Message, Option, counted, printable
from lpisearch.model.answers import NO_TOPIC, DocumentMap, FacetValue, Mark, Topic, TopicReport
from lpisearch.model.codec import json_text
from lpisearch.model.document_filter import format_name
from lpisearch.web.api.endpoint import ApiRequest, Reply
from lpisearch.web.problems import Refusal, status_of
from lpisearch.web.security import csrf_token
from lpisearch.web.state import Gone, WebState, state_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from jinja2 import Environment
    from starlette.requests import Request

    from lpisearch.web.jobs import Job

    T = TypeVar("T")


_ROOM = Path(__file__).parents[1]
_LONGEST_NUMBER = 9
_TEMPLATES, _STATIC = _ROOM / "templates", _ROOM / "static"


@cache
def _templates() -> Jinja2Templates:
    return Jinja2Templates(env=environment())


def environment(filters: Mapping[str, Callable[..., str]] | None = None) -> Environment:
    """Return the environment of the templates, with further filters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"asset": asset, "version": __version__, "counted": counted}
    made.filters |= {
        "folders": folders,
        "size": size,
        "render_message": render_message,
        "number": "{:,}".format,
        "language_name": str.capitalize,
        "format_name": format_name,
        **(filters or {}),
    }
    return made


def refusal_page(title: str, detail: str) -> str:
    """Return a page that says why a request was refused, without anything of the library."""
    return _templates().get_template("refusal.html").render(title=title, detail=detail)


def _shown(value: Any) -> Any:
    """Remove from a text the marks that change the order of its letters."""
    return printable(value, lines=True) if type(value) is str else value


@cache
def asset(name: str) -> str:
    """Return the address of a static file with a hash of its content, so that browsers cache it."""
    digest = blake2b((_STATIC / name).read_bytes(), digest_size=6).hexdigest()
    return f"/static/{name}?{digest}"


def render(request: Request, template: str, /, *, status: int = 200, **context: Any) -> Response:
    """Return a page; besides `context`, its template has `csrf_token` and the names below."""
    shared = state_of(request)
    known = {
        "csrf_token": csrf_token(request),
        "read_only": shared.read_only,
        "is_guarded": bool(shared.settings.token),
        "library_name": shared.library.path.name,
        "shelf": _shelf(request),
        "colour_of": _colours_of(request),
    }
    response = _templates().TemplateResponse(request, template, known | context, status_code=status)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Vary"] = f"{PART}, Accept-Encoding"
    if is_part(request) and "gzip" in request.headers.get("accept-encoding", ""):
        # A whole page, which has the token of its forms, stays as it is: the size of what is
        # compressed tells of its content.
        response.body = gzip.compress(response.body, _COMPRESSION, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
    return response


def _shelf(request: Request) -> list[tuple[str, str]]:
    """Return the names and addresses of the other libraries of the server."""
    shared, here = state_of(request), request.url
    own = (request.scope.get("server") or ("", None))[1]
    if shared.settings.behind_proxy:  # which has addresses of its own
        return []
    host = f"[{here.hostname}]" if ":" in (here.hostname or "") else here.hostname
    return [(name, f"{here.scheme}://{host}:{port}/") for name, port in shared.shelf if port != own]


PART = "X-Part"
"""The header of a script that requests a part of a page: "typed", while a query is typed."""
_COMPRESSION = 4


def in_turn(page: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Make a page take its turn with other slow work, or be dropped if its client has gone."""

    async def shown(request: Request) -> Response:
        await request.body()  # so that what comes next is that the client goes
        try:
            return await state_of(request).in_thread(partial(page, request), request)
        except Gone:
            return Response(status_code=_GONE)

    return shown


_GONE = 499  # nobody reads it


def read_number(text: str, most: int) -> int | None:
    """Return a number of the address between 1 and `most`, if the text is one."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    return min(max(int(text), 1), most) if is_number else None


def is_part(request: Request) -> bool:
    """Tell whether a script requests a part of a page rather than the page."""
    return PART in request.headers


_AWAY = 503


def status_of_page(error: LpiSearchError | None, otherwise: int) -> int:
    """Return the status of a page with an error: with 503 a proxy asks another server."""
    return _AWAY if error is not None and status_of(error) == _AWAY else otherwise


def apology(request: Request, error: LpiSearchError) -> Response:
    """Return a page about an error, with the next step."""
    if isinstance(error, LibraryNotFound) and not is_part(request):
        return render(request, "no_library.html", status=404)
    missing = isinstance(error, DocumentNotFound | LibraryNotFound)
    template = "apology_part.html" if is_part(request) else "apology.html"
    status = 404 if missing else status_of_page(error, 409)
    return render(request, template, status=status, what=error.what, next_step=error.next_step)


def _colours_of(request: Request) -> dict[str, int]:
    try:
        return colours(state_of(request))
    except LpiSearchError:
        return {}


PLAIN, WORD, NEAR = "", "word", "near"


class Piece(NamedTuple):
    """Part of a text: plain, a word of the query, or a related word."""

    text: str
    kind: str = PLAIN


def pieces(text: str, marks: Iterable[Mark], start: int = 0, end: int | None = None) -> list[Piece]:
    """Split a text, or a range of it, at its marks."""
    at, last = start, len(text) if end is None else end
    parts = []
    for mark in marks:
        if mark.end <= at or mark.start >= last:
            continue
        first, until = max(mark.start, at), min(mark.end, last)
        if first > at:
            parts.append(Piece(text[at:first]))
        parts.append(Piece(text[first:until], NEAR if mark.near else WORD))
        at = until
    if at < last:
        parts.append(Piece(text[at:last]))
    return parts


class Bar(NamedTuple):
    """A bar of a histogram in percent of its box, and its value."""

    left: float
    width: float
    height: float
    value: FacetValue


def histogram(values: Sequence[FacetValue]) -> list[Bar]:
    """Return the bars of a facet of dates; the largest fills the height."""
    most = max((value.count for value in values), default=0) or 1
    step = 100 / max(len(values), 1)
    return [
        Bar(
            round(at * step, 3),
            round(step * 0.86, 3),
            round(max(100 * value.count / most, 3 if value.count else 0), 2),
            value,
        )
        for at, value in enumerate(values)
    ]


class Share(NamedTuple):
    """A signed number as a bar from a middle line, in percent of the width."""

    left: float
    width: float
    against: bool


def shares(values: Sequence[float]) -> list[Share]:
    """Return bars of one scale, all from 0."""
    least, most = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    scale = 100 / ((most - least) or 1.0)
    return [
        Share(round((min(value, 0.0) - least) * scale, 2), round(abs(value) * scale, 2), value < 0)
        for value in values
    ]


def folders(path: str, most: int = 3) -> str:
    """Return the last folders of a path and the file."""
    parts = path.replace("\\", "/").split("/")
    return "/".join(parts[-most:]) if len(parts) > most else path


def pages(page: int, last: int) -> Iterator[int]:
    """Yield the numbers of pages for a pager; 0 stands for a gap."""
    shown = sorted({1, *range(page - 2, page + 3), last} & set(range(1, last + 1)))
    before = 0
    for number in shown:
        if number > before + 1:
            yield 0
        yield number
        before = number


def size(number: float) -> str:
    """Return a number of bytes as text."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:  # noqa: PLR2004
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


_DEEDS = {
    "index": "build the index (on the Library page)",
    "ingest": "add documents (on the Library page)",
    "examine": "run a health check (on the Library page)",
    "status": "see the Labels page",
    "retokenise": "lpisearch db retokenise, on the command line",
    "entries": "browse the documents on the Search page",
    "help": "see the Help page",
    "settings": "lpisearch config, on the command line",
    "upgrade": "lpisearch db upgrade, on the command line",
}
_FIELDS = {
    "by": "the ranking mode",
    "label": "the label",
    "predicted": "the predicted label",
    "since": "the start date",
    "until": "the end date",
    "text": "the text",
    "number": "the number",
    "name": "the index",
}


def render_message(text: Any) -> str:
    """Return a text with calls and options as pages word them."""
    return text.render(_word) if isinstance(text, Message) else str(text)


def _word(part: Option | Call) -> str:
    if isinstance(part, Option):
        name = _FIELDS.get(part.name, part.name.replace("_", " "))
        return name if part.value is None else f"{name} {part.value}"
    return _DEEDS.get(part.verb, str(part))


COLOURS = 12
COLOUR_NAMES = (
    *("blue", "orange", "green", "pink", "ochre", "violet"),
    *("red", "teal", "brown", "olive", "purple", "slate"),
)
_NUMBERS = frozenset(map(str, range(COLOURS)))
PROJECTIONS = ("neighbours", "plane")


@dataclass(frozen=True)
class Drawn:
    """A map with lookups."""

    map: DocumentMap

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each document by its id."""
        return {name: number for number, name in enumerate(self.map.ids)}

    def topic_of(self, document: str) -> Topic | None:
        """Return the topic of a document, if it is on the map."""
        number = self.number_of.get(document)
        topic = NO_TOPIC if number is None else int(self.map.topics[number])
        return None if topic == NO_TOPIC else self.map.report.topics[topic]


def drawn(shared: WebState, projection: str = PROJECTIONS[0], number: int | None = None) -> Drawn:
    """Return the map; the first request waits until it is computed."""
    library = shared.library
    key, cache = map_key(projection, number), cache_of(shared)

    def draw() -> Drawn:
        last: Drawn | None = cache.last(key)
        previous = None if last is None else last.map
        return Drawn(library.map(projection, number=number, previous=previous))

    return cache.get(key, library.state(), draw)


_PATIENCE_SECONDS, _LOOK_SECONDS = 1.5, 0.02


def computed(shared: WebState, kind: str, key: Hashable, compute: Callable[[], object]) -> bool:
    """Compute what is slow as a job, so that pages can say so; tell whether it is there.

    What takes a moment is waited for. An error is raised by the next call that needs the result.
    """
    cache, state = cache_of(shared), shared.library.state()
    if cache.peek(key, state) is not None:
        return True
    job = _job(shared, kind, key, compute)
    end = time.monotonic() + _PATIENCE_SECONDS
    while job.is_under_way and time.monotonic() < end:
        time.sleep(_LOOK_SECONDS)
    return not job.is_under_way


def _job(shared: WebState, kind: str, key: Hashable, compute: Callable[[], object]) -> Job:
    """Return the job under way that computes something, or a new one."""
    name = str(key)

    def work(_job: Job) -> None:
        compute()

    same = (one for one in shared.jobs.own() if one.kind == kind and one.asked["key"] == name)
    job = next((one for one in same if one.is_under_way), None)
    return job or shared.jobs.start(kind, {"key": name}, work, writes=False)


def begin_map(shared: WebState) -> None:
    """Begin to draw the default map."""
    _job(shared, "map", map_key(), lambda: drawn(shared))


def map_key(projection: str = PROJECTIONS[0], number: int | None = None) -> Hashable:
    """Return the key of a map in the cache."""
    return "map", projection, number


def drawn_already(shared: WebState) -> Drawn | None:
    """Return the default map, if it has been computed."""
    return cast("Drawn | None", cache_of(shared).peek(map_key(), shared.library.state()))


def topics(shared: WebState, number: int | None = None) -> TopicReport:
    """Return the topics."""
    library = shared.library
    return cache_of(shared).get(
        ("topics", number),
        library.state(),
        lambda: library.topics(number, terms=10, documents=5),
    )


def colours(shared: WebState) -> dict[str, int]:
    """Return the colour of each label; the most frequent ones differ."""
    library = shared.library

    def count() -> dict[str, int]:
        facets = library.facets()
        names = [facet.value for facet in (*facets.labels, *facets.predicted)]
        return {name: at % COLOURS for at, name in enumerate(dict.fromkeys(names))}

    chosen = preserved(shared, LABEL_COLOURS)
    own = {name: int(number) for name, number in chosen.items() if number in _NUMBERS}
    return cache_of(shared).get("colours", library.state(), count) | own


LABEL_COLOURS = "colours"


def preserved(shared: WebState, kind: str) -> dict[str, str]:
    """Return what the servers of a library preserve of one kind, by name."""
    try:
        values = json.loads(shared.records.value(kind) or "{}")
        return {str(name): str(value) for name, value in values.items()}
    except (LpiSearchError, ValueError, AttributeError):
        return {}


def preserve(shared: WebState, kind: str, values: Mapping[str, str]) -> None:
    """Store what is to be preserved."""
    shared.records.set_value(kind, json_text(dict(values)))


_MOST = 12


class StateCache:
    """Results by key and state of the library; concurrent requests wait for one computation."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = Lock()
        self._made: OrderedDict[Hashable, tuple[str, Any]] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, state: str, make: Callable[[], T]) -> T:
        """Return a result for this state; `make` may start from the `last` one."""
        with self._lock:
            lock = self._making.setdefault(key, Lock())
        with lock:
            result = self.peek(key, state)
            if result is None:
                result = make()
                with self._lock:
                    self._made[key] = state, result
                    self._made.move_to_end(key)
                    while len(self._made) > self._most:
                        self._making.pop(self._made.popitem(last=False)[0], None)
            return cast("T", result)

    def last(self, key: Hashable) -> Any:
        """Return the last result for any state, if there is one."""
        with self._lock:
            return self._made.get(key, ("", None))[1]

    def peek(self, key: Hashable, state: str) -> Any:
        """Return a result if it is cached, else None."""
        with self._lock:
            made_of, made = self._made.get(key, ("", None))
        return made if made_of == state else None


_CACHES: WeakKeyDictionary[WebState, dict[str, StateCache]] = WeakKeyDictionary()
_LOCK = Lock()


def cache_of(shared: WebState, purpose: str = "", most: int = _MOST) -> StateCache:
    """Return a cache of a served library."""
    with _LOCK:
        return _CACHES.setdefault(shared, {}).setdefault(purpose, StateCache(most))


_READ_ONLY = "This library is read-only."


def refuse_read_only(request: Request) -> None:
    """Refuse a write if the server is read-only."""
    if state_of(request).read_only:
        raise Refusal(403, _READ_ONLY)


def begin(request: Request, call: Callable[[ApiRequest], Reply], body: Any) -> str:
    """Start a job as the API does, with the same checks; return its id."""
    reply = call(ApiRequest(state_of(request), {}, body))
    return str(reply.value["id"])


def back_to(address: str) -> Response:
    """Redirect to a page, so that reloading it repeats nothing."""
    return RedirectResponse(address, status_code=303)
