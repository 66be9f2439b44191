"""The ASGI application, and how it is run."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import ipaddress
import logging
import signal
import socket
import tempfile
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from lpisearch.errors import BadOption, LpiSearchError
from lpisearch.library import load_search
from lpisearch.messages import system_reason
from lpisearch.options import ServeSettings
from lpisearch.web import api, pages
from lpisearch.web.connections import Connections, without_repeats
from lpisearch.web.jobs import INTERRUPTED, adopt, now, state_file
from lpisearch.web.metrics import Metrics, MetricsMiddleware, health, metrics, ready
from lpisearch.web.pages.templates import apology
from lpisearch.web.problems import (
    HANDLERS,
    HEALTH,
    MCP,
    METRICS,
    PROGRAMS,
    READY,
    ErrorMiddleware,
    problem_of,
    wants_python,
)
from lpisearch.web.security import (
    BodyLimitMiddleware,
    CorsMiddleware,
    CsrfMiddleware,
    HeaderMiddleware,
    HostMiddleware,
    LoadMiddleware,
    RateLimitMiddleware,
    TokenMiddleware,
    VisitorMiddleware,
)
from lpisearch.web.state import ServerMemory, WebState
from lpisearch.web.watches import watches_of
from lpisearch.web.workers import Workers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from types import FrameType

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from lpisearch.library import Library
    from lpisearch.location import Location
    from lpisearch.web.jobs import Job


_LOG = logging.getLogger("lpisearch.web")
_RELEASE_SECONDS = 10
_BACKLOG = 128  # at most; asyncio accepts as many at once, and logs each that it cannot
_UNREAD_BYTES = 1 << 18  # of a response, which the system keeps for a slow client
_GRACE_SECONDS, _IDLE_SECONDS = 5, 75
_SHORTEST_TOKEN = 16


class CannotListen(LpiSearchError):
    """The address is in use, or does not belong to this machine."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(
            f"Cannot listen on {host}, port {port}: {reason}.", "choose another port or address"
        )


class TokenMissing(LpiSearchError):
    """Other machines could connect without a token."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} is reachable from other machines, so a token is required.",
            "set LPISEARCH_TOKEN to a secret of at least 16 characters",
        )


class _Server(uvicorn.Server):
    """Ends streams, which would keep their connections open, as soon as the server is to end."""

    def __init__(self, config: uvicorn.Config, on_exit: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_exit = on_exit

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; the system keeps more connections waiting than are accepted at once."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_BACKLOG)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 (as above)
        """Handle a signal."""
        self._on_exit()
        # The inherited method would let the signal kill the process after an orderly end.
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def serve(
    library: Library,
    settings: ServeSettings,
    on_start: Callable[[list[str], list[Job]], None] = lambda _addresses, _interrupted: None,
    others: Sequence[Library] = (),
) -> list[Job]:
    """Serve open libraries until SIGTERM or Ctrl-C; return unfinished jobs.

    Each further library has the next port, so that its pages, API and bookmarks are apart.
    `on_start` is called with the addresses, once the server listens, and with the jobs that an
    earlier server did not finish. Raises `CannotListen` or `TokenMissing`.
    """
    for one in settings.behind_proxy:
        try:
            ipaddress.ip_network(one, strict=False)
        except ValueError:
            raise BadOption("behind_proxy", f"“{one}” is not an IP address or network") from None
    if not settings.is_local and len(settings.token) < _SHORTEST_TOKEN:
        raise TokenMissing(settings.host)
    if settings.read_token and min(len(settings.token), len(settings.read_token)) < _SHORTEST_TOKEN:
        raise TokenMissing(settings.host)  # a key to read only protects nothing by itself
    with contextlib.ExitStack() as stack:
        ports = [settings.port and settings.port + at for at in range(1 + len(others))]
        opened = (_socket(replace(settings, port=port)) for port in ports)
        sockets = [stack.enter_context(contextlib.closing(one)) for one in opened]
        memory = ServerMemory(
            metrics=Metrics(settings.workers), folder=_records_folder(library.path, stack)
        )
        states = [WebState(one, settings, memory=memory) for one in (library, *others)]
        for state in states:
            adopt(state.records, state_file(state.library.path, "jobs").with_suffix(".json"))
        interrupted = [job for state in states for job in state.jobs.interrupted()]
        on_start([address_of(settings, one) for one in sockets], interrupted)
        if settings.workers == 1:
            return serve_sockets(states, sockets)
        for state in states:
            load_search(state.library)
            state.records.close()
            state.library.close()  # no connection is shared with a worker
        began = now()

        def serve_worker(number: int) -> None:
            with contextlib.ExitStack() as own:
                for state in states:
                    own.enter_context(state.library)
                copies = [replace(one, worker=number) for one in states]
                serve_sockets(copies, sockets, watches=number == 0)

        Workers(settings.workers, serve_worker, memory.metrics.note_restart).run()
        ended = (job for one in states for job in one.jobs.all() if job.state == INTERRUPTED)
        return [job for job in ended if max(job.begun, job.asked_at) >= began]


def serve_sockets(
    states: Sequence[WebState], sockets: Sequence[socket.socket], *, watches: bool = True
) -> list[Job]:
    """Serve from this process until SIGTERM or Ctrl-C; return its unfinished jobs.

    Of several processes one watches folders.
    """
    libraries = Libraries(states, [one.getsockname()[1] for one in sockets], watches=watches)
    queues = [state.jobs for state in states]
    for job in (job for queue in queues for job in queue.interrupted()):
        _LOG.warning("The job “%s” from %s was interrupted", job.kind, job.asked_at)
    for state in states:
        state.starting.set()
    warming = [warm_up(state.library, state.starting.clear) for state in states]

    def announce_end() -> None:
        for queue in queues:
            queue.announce_end()

    server = _Server(config_of(libraries.first, libraries), announce_end)
    with without_repeats():
        server.run(sockets=list(sockets))
    for thread in warming:
        thread.join(_PATIENCE_SECONDS)  # Python may abort where a thread outlives it
    return [job for queue in queues for job in queue.own() if job.is_under_way]


class Libraries:
    """The application of several libraries: a request is for that of the port where it arrived."""

    def __init__(
        self, states: Sequence[WebState], ports: Sequence[int], *, watches: bool = True
    ) -> None:
        apps = [app_of(state) for state in states]
        if len(states) > 1:
            names = (state.library.path.name for state in states)
            shelf = list(zip(names, ports, strict=True))
            for state in states:
                state.shelf.extend(shelf)
        for app in apps:
            app.state.watches = watches
        self.first = apps[0]
        self.first.state.others = apps[1:]
        self._of_port = dict(zip(ports, apps, strict=True))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        server = scope.get("server")
        app = self._of_port.get(server[1], self.first) if server else self.first
        await app(scope, receive, send)


def _records_folder(library: Location, stack: contextlib.ExitStack) -> Path | None:
    """Return None if the user's state folder can be written, else a folder until the end."""
    try:
        state_file(library, "servers").parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lpisearch-server-")))
    return None


def address_of(settings: ServeSettings, listening: socket.socket) -> str:
    """Return the address for a browser on this machine."""
    port = listening.getsockname()[1]
    host = settings.host
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 (compared)
        host = "localhost"
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{shown}:{port}/"


def config_of(app: Any, served: Any = None) -> uvicorn.Config:
    """Return the configuration of Uvicorn: quiet, and without a server name."""
    log = logging.getLogger("uvicorn.error")
    log.setLevel(logging.WARNING)
    log.addFilter(_is_relevant)
    settings: ServeSettings = app.state.lpisearch.settings
    connections: Connections = app.state.lpisearch.connections
    return uvicorn.Config(
        served or app,
        access_log=False,  # addresses contain queries, which are private
        log_config=None,
        http=connections.protocol,
        # asyncio accepts as many at once: one of several workers would take all that wait.
        backlog=1 if settings.workers > 1 else min(_BACKLOG, connections.most // 2),
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=_IDLE_SECONDS,
        h11_max_incomplete_event_size=1 << 16,
        ws="none",
        lifespan="on",
        callback_notify=_release_memory,
        timeout_notify=_RELEASE_SECONDS,
    )


async def _release_memory() -> None:
    """Return to the system what queries took and the C library keeps, where it can."""
    with suppress(AttributeError, OSError, TypeError):
        await asyncio.to_thread(ctypes.CDLL(None).malloc_trim, 0)


def _is_relevant(record: logging.LogRecord) -> bool:
    """Tell whether a log record is about more than a response that the shutdown ended."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def _socket(settings: ServeSettings) -> socket.socket:
    """Listen before anything else, so that an address in use is reported at once."""
    host = "127.0.0.1" if settings.host == "localhost" else settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With TCP named, asyncio disables Nagle's delay on accepted connections; otherwise the second
    # part of a response would wait 40 ms for the client to acknowledge the first.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_BYTES)
        made.bind((host, settings.port))
        made.listen(_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        made.close()
        reason = system_reason(error) if isinstance(error, OSError) else str(error)
        raise CannotListen(settings.host, settings.port, reason) from None
    return made


_STATIC = Path(__file__).parent / "static"
_PATIENCE_SECONDS = 10.0


def create_app(library: Library, settings: ServeSettings | None = None) -> Starlette:
    """Return the ASGI application that serves an open library."""
    return app_of(WebState(library, settings or ServeSettings()))


def app_of(state: WebState) -> Starlette:
    """Return the ASGI application of a state."""
    app = Starlette(
        routes=[
            *pages.ROUTES,
            Route(MCP, state.assistants, methods=["POST"]),
            Route(HEALTH, health),
            Route(READY, ready),
            Route(METRICS, metrics),
            Route("/favicon.ico", _icon),  # requested for PDFs, which link no icon
            Mount("/static", _Assets(directory=_STATIC), name="static"),
            Mount("/api/v1", routes=api.ROUTES, name="api"),
        ],
        middleware=_middleware(state),
        exception_handlers={**HANDLERS, LpiSearchError: _library_error},
        lifespan=_life,
    )
    app.state.lpisearch = state
    return app


class _Assets(StaticFiles):
    """Static files; one that is requested with a hash of its content never changes."""

    def file_response(
        self, full_path: Any, stat_result: Any, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a file; browsers cache it if the address contains its hash."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        if scope["query_string"]:
            response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return response


def _icon(_request: Request) -> Response:
    return RedirectResponse("/static/icon.svg", 308)


def _library_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, LpiSearchError)  # noqa: S101 (as registered)
    if request.url.path.startswith(PROGRAMS):
        return problem_of(error, python=wants_python(request.headers))
    return apology(request, error)


def _middleware(state: WebState) -> list[Middleware]:
    """Return the middleware in the order that requests pass."""
    names, limits = (*state.settings.names, state.settings.host), state.settings.limits
    proxies = list(state.settings.behind_proxy)
    return [
        *([Middleware(ProxyHeadersMiddleware, trusted_hosts=proxies)] if proxies else ()),
        Middleware(MetricsMiddleware, state=state),
        Middleware(HeaderMiddleware, state=state),
        Middleware(ErrorMiddleware),
        Middleware(HostMiddleware, names=names),
        Middleware(RateLimitMiddleware, limits, rates=state.memory.rates, spares_owner=not proxies),
        Middleware(CorsMiddleware, origins=state.settings.cors),
        Middleware(TokenMiddleware, state=state),
        Middleware(LoadMiddleware, limits=limits, is_guarded=bool(state.settings.token)),
        Middleware(BodyLimitMiddleware, limits=limits),
        Middleware(VisitorMiddleware),
        Middleware(CsrfMiddleware, state=state),
    ]


@asynccontextmanager
async def _life(app: Starlette) -> AsyncIterator[None]:
    """Load the jobs at the start, and finish them at the end."""
    state: WebState = app.state.lpisearch
    jobs = state.jobs
    async with contextlib.AsyncExitStack() as stack:
        for other in getattr(app.state, "others", ()):
            await stack.enter_async_context(other.router.lifespan_context(other))
        if getattr(app.state, "watches", True) and not state.read_only:
            watches_of(state).follow()
        yield
    await state.in_thread(watches_of(state).close)
    await state.assistants.close()
    await state.in_thread(lambda: jobs.close(_PATIENCE_SECONDS))


def warm_up(library: Library, on_end: Callable[[], None] = lambda: None) -> Thread:
    """Load what a search needs in a background thread."""
    thread = Thread(target=_open, args=(library, on_end), name="warming", daemon=True)
    thread.start()
    return thread


def _open(library: Library, on_end: Callable[[], None]) -> None:
    load_search(library)
    on_end()
    # These objects stay until the end: the garbage collector, which pauses all responses, can
    # ignore them.
    gc.collect()
    gc.freeze()
