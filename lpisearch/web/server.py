"""Run the server until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from typing import TYPE_CHECKING, Any

import uvicorn

from lpisearch.errors import LpiSearchError
from lpisearch.web.app import create_app
from lpisearch.web.warming import warm_up
from lpisearch.wording import system_reason

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from lpisearch.library import Library
    from lpisearch.settings.serving import ServeSettings
    from lpisearch.web.jobs.job import Job

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
