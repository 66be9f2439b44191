"""Connections: how many there are, and how long each may wait for its client.

A client that sends nothing, half a header or half a body, or that does not read its response, costs
a connection and nothing else; so connections are limited, in all and by address, well below the
files that a process may open. Each has a deadline for what its client owes. Where a limit is
reached, the one that has waited longest for its client is closed, and the new one served: neither
an idle client nor a hostile one keeps others out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import contextmanager
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from lpisearch.model.codec import json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Phase(IntEnum):
    """What a connection waits for; the first ones are closed first where there are too many."""

    HEADER = 0  # of its first request, or the rest of one
    BODY = 1
    READING = 2  # the client is to read a response
    IDLE = 3  # the next request
    WORK = 4  # the server


_LOOK_SECONDS = 0.5
_GRACE_SECONDS = 1.0  # a client that began to owe something just now is spared, if another is not
_OWED_SECONDS = {Phase.HEADER: 10.0, Phase.BODY: 20.0, Phase.READING: 20.0}
_LEAST_RATE = 16 * 1024  # bytes a second of a body that takes longer, and of a reader
_STALLED_SHARE = 4  # of the connections of an address, a quarter may hold requests up
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Connection(H11Protocol):
    """An HTTP connection, which knows what it waits for."""

    def __init__(self, all_open: Connections, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._all_open = all_open
        self._bytes_in = self._resumed = self._unsent = 0
        self._seen: tuple[Phase, object] | None = None
        self.since = time.monotonic()  # when it began to wait for this
        self.phase = Phase.HEADER

    @property
    def address(self) -> str:
        """The address of the client, or of the proxy before it."""
        return self.client[0] if self.client else ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are too many connections."""
        super().connection_made(transport)
        self._all_open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._all_open.discard(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        self._bytes_in += len(data)
        super().data_received(data)

    def resume_writing(self) -> None:
        """Note that the client has read most of what was written."""
        super().resume_writing()
        self._resumed += 1

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or has too long a header, as any request is refused."""
        members = {"type": "about:blank", "title": "Bad request", "status": 400, "detail": msg}
        body = json_text(members).encode()
        kind, size = b"application/problem+json", str(len(body)).encode()
        headers = [(b"content-type", kind), (b"content-length", size), (b"connection", b"close")]
        self.transport.write(self.conn.send(h11.Response(status_code=400, headers=headers)) or b"")
        self.transport.write(self.conn.send(h11.Data(data=body)) or b"")
        self.transport.close()

    def look(self, now: float) -> bool:
        """Find out what it waits for; tell whether the client owes it for too long."""
        phase = self._phase()
        if self._seen != (phase, self.cycle) or (phase is Phase.READING and self._is_read()):
            self._seen, self.since, self._bytes_in = (phase, self.cycle), now, 0
        self.phase = phase
        patience = _OWED_SECONDS.get(phase)
        if patience is None:
            return False
        earned = self._bytes_in / _LEAST_RATE if phase is Phase.BODY else 0.0
        return now - self.since > patience + earned

    def _phase(self) -> Phase:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None:
            return Phase.HEADER
        if cycle.more_body and not self.flow.read_paused:
            return Phase.BODY
        if self.flow.write_paused or self.transport.get_write_buffer_size():
            return Phase.READING
        if not cycle.response_complete:
            return Phase.WORK
        return Phase.HEADER if self.conn.trailing_data[0] else Phase.IDLE

    def _is_read(self) -> bool:
        """Tell whether the client has read something since the last look."""
        unsent, resumed = self.transport.get_write_buffer_size(), self._resumed
        before, self._unsent, self._resumed = self._unsent, unsent, 0
        return bool(resumed) or unsent <= before - _LEAST_RATE * _LOOK_SECONDS

    def give_up(self) -> None:
        """Close it; a client that owes a request is told so."""
        is_answered = self.cycle is not None and self.cycle.response_started
        owes = self.phase is Phase.HEADER or (self.phase is Phase.BODY and not is_answered)
        if self.transport.is_closing() or not owes:
            self.transport.abort()
            return
        self.transport.write(_TOO_LATE)
        self.transport.close()


class Connections:
    """The open connections of a server, at most `most`.

    An address whose clients have half of them closes one of its own with each further one, unless
    the server works for all of them; not so a trusted proxy, which `is_proxy` tells by its address.
    """

    def __init__(self, most: int, is_proxy: Callable[[str], bool] = lambda _address: False) -> None:
        self.most, self._is_proxy = max(most, 2), is_proxy
        self._open: dict[Connection, None] = {}  # the oldest first
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    @property
    def protocol(self) -> Any:
        """The protocol class of Uvicorn."""
        return partial(Connection, self)

    def add(self, made: Connection) -> None:
        """Add a connection; if there are too many, close the one that waits for its client most."""
        self._open[made] = None
        own = [one for one in self._open if one.address == made.address]
        if len(own) > self.most // 2 and not self._is_proxy(made.address):
            self._close_one(own, spares_new=True)
        if len(self._open) > self.most and not self._close_one(list(self._open)):
            self.discard(made)
            made.give_up()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    def discard(self, gone: Connection) -> None:
        """Forget a connection that has ended."""
        self._open.pop(gone, None)

    def _close_one(self, among: list[Connection], *, spares_new: bool = False) -> bool:
        """Close the one that waits for its client most; return False if none does."""
        now = time.monotonic()

        def is_young(one: Connection) -> bool:
            return now - one.since < _GRACE_SECONDS

        def rank(one: Connection) -> tuple[bool, int, float]:
            is_new = one.phase is Phase.HEADER
            return is_young(one), is_new if is_young(one) else one.phase, one.since

        for one in among:
            one.look(now)
        waiting = [one for one in among if one.phase is not Phase.WORK]
        if spares_new:
            waiting = [one for one in waiting if one.phase is not Phase.HEADER or not is_young(one)]
        chosen = min(waiting, key=rank, default=None)
        if chosen is not None:
            self.discard(chosen)
            chosen.give_up()
        return chosen is not None

    def _look(self) -> None:
        """Close what is owed something for too long, and the oldest of too many."""
        now = time.monotonic()
        stalled: dict[str, list[Connection]] = {}
        for one in list(self._open):
            if one.look(now):
                one.give_up()
            elif one.phase in {Phase.BODY, Phase.READING}:
                stalled.setdefault(one.address, []).append(one)
        for address, some in stalled.items():
            share = self.most if self._is_proxy(address) else self.most // 2
            some.sort(key=lambda one: one.since)
            for one in some[: max(0, len(some) - share // _STALLED_SHARE)]:
                one.give_up()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_LOOK_SECONDS, self._look) if self._open else None


def most_connections(wanted: int) -> int:
    """Return how many connections a server may have: half the files that it may open, at most."""
    try:
        import resource
    except ImportError:  # Windows
        return wanted
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if allowed == resource.RLIM_INFINITY else min(wanted, allowed // 2)


_LOGS = ("uvicorn.error", "asyncio", "lpisearch.web")
_REPEAT_SECONDS = 60.0
_MOST_KINDS = 1000


class Repeats(logging.Filter):
    """Passes a log record of a kind once a minute, with the number of those left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is written."""
        error = record.exc_info[1] if record.exc_info else None
        trace = record.exc_info[2] if record.exc_info else None
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        line = (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else None
        kind = (record.name, record.levelno, record.msg, type(error), line)
        now = self._clock()
        then, left_out = self._kinds.get(kind, (-_REPEAT_SECONDS, 0))
        if now - then < _REPEAT_SECONDS:
            self._kinds[kind] = then, left_out + 1
            return False
        if len(self._kinds) >= _MOST_KINDS:
            self._kinds.clear()
        self._kinds[kind] = now, 0
        if left_out:
            record.msg = f"{record.msg} ({left_out:,} more like it since)"
        return True


@contextmanager
def without_repeats() -> Iterator[None]:
    """Write records of the server's logs that are alike once a minute."""
    repeats, logs = Repeats(), [logging.getLogger(name) for name in _LOGS]
    for log in logs:
        log.addFilter(repeats)
    try:
        yield
    finally:
        for log in logs:
            log.removeFilter(repeats)
