"""Application, routes, run."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from lpisearch.errors import LpiSearchError
from lpisearch.messages import system_reason
from lpisearch.options import SearchOptions, ServeSettings
from lpisearch.web import api, pages
from lpisearch.web.problems import HANDLERS, ErrorMiddleware
from lpisearch.web.security import (
    BodyLimitMiddleware,
    CsrfMiddleware,
    HeaderMiddleware,
    HostMiddleware,
    RateLimitMiddleware,
    TokenMiddleware,
    VisitorMiddleware,
)
from lpisearch.web.state import WebState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import FrameType

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Scope

    from lpisearch.library import Library
    from lpisearch.web.jobs import Job


_BACKLOG = 2048
_GRACE_SECONDS, _IDLE_SECONDS = 5, 75
_SHORTEST_TOKEN = 16


class CannotListen(LpiSearchError):
    """The address is taken, or not ours."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(
            f"Cannot listen on {host}, port {port}: {reason}.", "choose another port or address"
        )


class TokenMissing(LpiSearchError):
    """Others could ask, and need show nothing for it."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} is reachable from other machines, so a token is required.",
            "set LPISEARCH_TOKEN to a secret of at least 16 characters",
        )


class _Server(uvicorn.Server):
    """Ends what would keep a connection open for ever, as soon as the server is told to end."""

    def __init__(self, config: uvicorn.Config, on_exit: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_exit = on_exit

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 (as above)
        """Take note of a signal."""
        self._on_exit()
        # Not the one above: it would let the signal kill us once all has ended well.
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def serve(
    library: Library,
    settings: ServeSettings,
    on_start: Callable[[str, list[Job]], None] = lambda _address, _interrupted: None,
) -> list[Job]:
    """Serve a library until SIGTERM or Ctrl-C.

    Parameters
    ----------
    library
        Open; whoever opened it closes it.
    settings
        How it is served.
    on_start
        Called when the address is ours, with it and with the jobs that an earlier server did not
        finish.

    Returns
    -------
    list
        The jobs that were asked for and did not finish: the next start names them.

    Raises
    ------
    CannotListen, TokenMissing
    """
    if not settings.is_local and len(settings.token) < _SHORTEST_TOKEN:
        raise TokenMissing(settings.host)
    with contextlib.closing(_socket(settings)) as listening:
        app = create_app(library, settings)
        jobs = app.state.lpisearch.jobs
        on_start(address_of(settings, listening), jobs.all())
        warm_up(library)
        server = _Server(config_of(app), jobs.announce_end)
        server.run(sockets=[listening])
        return [job for job in jobs.all() if job.is_under_way]


def address_of(settings: ServeSettings, listening: socket.socket) -> str:
    """Return what a browser on this machine is given."""
    port = listening.getsockname()[1]
    host = settings.host
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 (compared)
        host = "localhost"
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{shown}:{port}/"


def config_of(app: Any) -> uvicorn.Config:
    """Return how an application is run: quietly, and known by no name."""
    log = logging.getLogger("uvicorn.error")
    log.setLevel(logging.WARNING)
    log.addFilter(_is_no_ended_answer)
    return uvicorn.Config(
        app,
        access_log=False,  # addresses hold questions, which are nobody else's business
        log_config=None,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=_IDLE_SECONDS,
        h11_max_incomplete_event_size=1 << 16,
        ws="none",
        lifespan="on",
    )


def _is_no_ended_answer(record: logging.LogRecord) -> bool:
    """Tell whether a record is of more than an answer that had to end because the server does."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def _socket(settings: ServeSettings) -> socket.socket:
    """Listen before anything else, so that an address that is taken is said at once."""
    host = "127.0.0.1" if settings.host == "localhost" else settings.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio does not switch Nagle's delay off for what it accepts: the second
    # part of an answer would wait 40 ms for the client to say that it has the first.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
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
    """Return the server of a library, as an ASGI application.

    Parameters
    ----------
    library
        Open; whoever opened it closes it.
    settings
        How it is to be served.
    """
    chosen = settings or ServeSettings()
    state = WebState(library, chosen)
    app = Starlette(
        routes=[
            *pages.ROUTES,
            Route("/favicon.ico", _icon),  # asked for where no page of ours names one: beside a PDF
            Mount("/static", _Assets(directory=_STATIC), name="static"),
            Mount("/api/v1", routes=api.ROUTES, name="api"),
        ],
        middleware=_passed(state),
        exception_handlers=HANDLERS,
        lifespan=_life,
    )
    app.state.lpisearch = state
    return app


class _Assets(StaticFiles):
    """Files of the pages: one that is asked for by the mark of its content never changes."""

    def file_response(
        self, full_path: Any, stat_result: Any, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return a file; browsers keep it where its mark is in the address."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        if scope["query_string"]:
            response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return response


def _icon(_request: Request) -> Response:
    return RedirectResponse("/static/icon.svg", 308)


def _passed(state: WebState) -> list[Middleware]:
    """Return what every request passes, the first first."""
    names, limits = (*state.settings.names, state.settings.host), state.settings.limits
    return [
        Middleware(HeaderMiddleware),
        Middleware(ErrorMiddleware),
        Middleware(HostMiddleware, names=names),
        Middleware(RateLimitMiddleware, limits=limits),
        Middleware(TokenMiddleware, state=state),
        Middleware(BodyLimitMiddleware, limits=limits),
        Middleware(VisitorMiddleware),
        Middleware(CsrfMiddleware, state=state),
    ]


@asynccontextmanager
async def _life(app: Starlette) -> AsyncIterator[None]:
    """Begin with the jobs that are known; at the end let what runs finish, or be named later."""
    state: WebState = app.state.lpisearch
    jobs = state.jobs
    yield
    await state.in_thread(lambda: jobs.close(_PATIENCE_SECONDS))


_QUESTION = "a"


def warm_up(library: Library) -> Thread:
    """Import what searches, open the index and read what is counted, in a thread of its own."""
    thread = Thread(target=_open, args=(library,), name="warming", daemon=True)
    thread.start()
    return thread


def _open(library: Library) -> None:
    with suppress(Exception):  # what is wrong with a library is said to those who ask
        library.search(_QUESTION, options=SearchOptions(k=1, facets=True))
    # What is there now stays until the end. Python need not look through it again and again for
    # what can be thrown away, which stops every answer that is under way.
    gc.collect()
    gc.freeze()
