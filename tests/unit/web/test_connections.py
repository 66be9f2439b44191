"""Connections that wait for their clients: limits, deadlines, and the log."""

import asyncio
import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest
from starlette.testclient import TestClient

from lpisearch.options import ServeLimits
from lpisearch.web import connections
from lpisearch.web.connections import Connections, Phase, Repeats, most_connections
from lpisearch.web.security import LoadMiddleware
from tests.torture.clients import KINDS, beside, hold, server
from tests.torture.clients import ask as search

_HEAD = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n"
_FORM = _HEAD + b"Content-Type: application/x-www-form-urlencoded\r\n\r\nx"


class _Fake:
    """A connection of which the phase is said."""

    def __init__(self, address: str, phase: Phase, since: float = -100.0) -> None:
        self.address, self.phase, self.since = address, phase, since
        self.is_late = self.is_closed = False

    def look(self, _now: float) -> bool:
        return self.is_late

    def give_up(self) -> None:
        self.is_closed = True


def _added(most: int, *made: _Fake, **more: Any) -> list[bool]:
    """Add connections one after the other; return which of them were closed."""

    async def add() -> None:
        every = Connections(most, **more)
        for one in made:
            every.add(one)  # type: ignore[arg-type]

    asyncio.run(add())
    return [one.is_closed for one in made]


def test_who_waits_longest_is_closed_first() -> None:
    work, idle, reads, half, silent = (
        _Fake("a", phase)
        for phase in (Phase.WORK, Phase.IDLE, Phase.READING, Phase.BODY, Phase.HEADER)
    )
    new = _Fake("a", Phase.HEADER, time.monotonic())
    assert _added(10, work, idle, reads, half, silent, new) == [*[False] * 4, True, False]
    silent.phase, silent.is_closed = Phase.WORK, False
    assert _added(10, work, idle, reads, half, silent, new) == [False] * 3 + [True] + [False] * 2


def test_another_address_keeps_its_connections() -> None:
    honest = _Fake("b", Phase.HEADER)
    many = [_Fake("a", Phase.IDLE, number) for number in range(10)]
    closed = _added(10, honest, *many)
    assert closed == [False, *[True] * 5, *[False] * 5]


def test_work_is_never_closed_for_another() -> None:
    working = [_Fake("a", Phase.WORK) for _ in range(6)]
    assert _added(6, *working) == [False] * 6
    last = _Fake("a", Phase.WORK)
    assert _added(6, *working, last) == [*[False] * 6, True]


def test_a_proxy_may_have_all_connections() -> None:
    many = [_Fake("a", Phase.IDLE) for _ in range(10)]
    assert not any(_added(10, *many, is_proxy=lambda address: address == "a"))


def test_half_of_the_files_stay_free() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 700), hard))
    try:
        assert most_connections(400) == min(soft, 700) // 2
        assert most_connections(100) == 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def port(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve at a port, with short deadlines."""
    import threading

    import uvicorn

    from lpisearch.web.server import config_of

    monkeypatch.setattr(connections, "_LOOK_SECONDS", 0.05)
    short = dict.fromkeys((Phase.HEADER, Phase.BODY, Phase.READING), 0.5)
    monkeypatch.setattr(connections, "_OWED_SECONDS", short)
    config = config_of(client.app)
    config.lifespan = "off"
    made = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        run = threading.Thread(target=made.run, kwargs={"sockets": [listening]})
        run.start()
        while not made.started:
            time.sleep(0.01)
        yield listening.getsockname()[1]
        made.should_exit = True
        run.join()


def _answer(port: int, sent: bytes, then: Callable[[socket.socket], object] = id) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 20) as made:
        made.sendall(sent)
        then(made)
        pieces = []
        while piece := made.recv(1 << 16):
            pieces.append(piece)
        return b"".join(pieces)


def _drip(made: socket.socket) -> None:
    """Send a byte now and then, until the server has had enough."""
    try:
        for _ in range(40):
            made.sendall(b"x")
            time.sleep(0.05)
    except OSError:
        return
    pytest.fail("a client that drips is served without end")


_SHOWN = b"GET /static/icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nX-Half", _FORM])
def test_what_is_owed_has_a_deadline(port: int, sent: bytes) -> None:
    begun = time.monotonic()
    assert _answer(port, sent).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - begun < 10


def test_what_is_not_http_is_refused_as_a_problem(port: int) -> None:
    for sent in (b"\x16\x03\x01\r\n\r\n", b"GET /?" + b"x" * 100_000 + b" HTTP/1.1\r\n"):
        head, _, body = _answer(port, sent).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400")
        assert b"application/problem+json" in head
        assert json.loads(body)["status"] == 400


def test_a_further_header_has_a_deadline(port: int) -> None:
    answers = _answer(port, _SHOWN + b"GET / HTT")
    assert answers.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in answers


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nX-Half: ", _FORM])
def test_bytes_that_drip_do_not_help(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), 20) as made:
        made.sendall(sent)
        _drip(made)


def test_a_client_that_does_not_read_is_closed(port: int) -> None:
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.settimeout(20)
        made.connect(("127.0.0.1", port))
        made.sendall(_SHOWN.replace(b"icon.svg", b"vendor/htmx.min.js") * 200)
        time.sleep(2)
        with pytest.raises((OSError, AssertionError)):  # noqa: PT012 (either of them)
            size = 0
            while piece := made.recv(1 << 16):
                size += len(piece)
            assert size > 8_000_000  # whole, it would be 10 MB


def test_an_idle_connection_is_kept(port: int) -> None:
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as made:
        used = []
        for _ in range(2):
            made.request("GET", "/static/icon.svg")
            assert made.getresponse().read()
            used.append(made.sock)
            time.sleep(1.5)
        assert used[0] is used[1]


def test_a_slow_body_that_arrives_is_read(port: int) -> None:
    """One that takes longer than the deadline, but not too long for its size."""
    size = 300_000
    head = f"POST /api/v1/classify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {size}\r\n"
    rest = b"Content-Type: application/json\r\nConnection: close\r\n\r\n"

    def slowly(made: socket.socket) -> None:
        for _ in range(30):
            made.sendall(b" " * (size // 30))
            time.sleep(0.05)

    assert _answer(port, head.encode() + rest, slowly).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("patience", [0.1, 30.0])
def test_requests_of_token_holders_are_kept_a_place(
    serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """Guests may have a quarter of the places, one address half of those of a kind; others wait."""
    monkeypatch.setattr("lpisearch.web.security._PLACE_SECONDS", patience)

    async def ask(load: LoadMiddleware, path: str, address: str) -> int:
        statuses: list[int] = []

        async def send(message: Any) -> None:
            statuses.append(message.get("status", 0))

        scope = {"type": "http", "path": path, "client": (address, 1), "method": "GET"}
        scope |= {"headers": [], "query_string": b""}
        await load(scope, None, send)  # type: ignore[arg-type]
        return statuses[0]

    async def run() -> dict[str, list[int]]:
        go = asyncio.Event()

        async def app(_scope: Any, _receive: Any, send: Any) -> None:
            await go.wait()
            await send({"type": "http.response.start", "status": 200})

        load = LoadMiddleware(app, ServeLimits(at_once=40, streams=4), is_guarded=True)
        events = "/api/v1/jobs/x/events"
        asked = [("/login", f"10.0.0.{number}") for number in range(30)]
        asked += [("/", "10.0.1.1")] * 30 + [(events, "10.0.2.1")] * 10
        tasks = [asyncio.create_task(ask(load, *each)) for each in asked]
        refused = 8 + (20 + 10 if patience < 1 else 0)
        while sum(task.done() for task in tasks) < refused:  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.01)
        go.set()
        found: dict[str, list[int]] = {}
        for (path, _), status in zip(asked, await asyncio.gather(*tasks), strict=True):
            found.setdefault(path, []).append(status)
        assert not +load._active
        return found

    found = asyncio.run(run())
    served = {path: statuses.count(200) for path, statuses in found.items()}
    own = {"/login": 10, "/": 20} if patience < 1 else {"/login": 20, "/": 30}
    assert served == {**own, "/api/v1/jobs/x/events": 2}
    assert {status for statuses in found.values() for status in statuses} == {200, 503}
    assert serve(limits=ServeLimits(streams=0)).get("/api/v1/status").status_code == 200


def test_records_that_are_alike_are_written_once_a_minute() -> None:
    now = [0.0]
    repeats = Repeats(lambda: now[0])

    def written(message: str, error: Exception | None = None) -> str:
        about = (type(error), error, error.__traceback__) if error else None
        record = logging.LogRecord("asyncio", logging.ERROR, "", 1, message, (), about)
        return record.getMessage() if repeats.filter(record) else ""

    assert [written("accept() failed") for _ in range(3)] == ["accept() failed", "", ""]
    assert written("another") == "another"
    assert written("accept() failed", ValueError("x")) == "accept() failed"
    now[0] = 61
    assert written("accept() failed") == "accept() failed (2 more like it since)"
    for number in range(5000):
        written(f"kind {number}")
    assert len(repeats._kinds) <= 1000


@pytest.mark.parametrize("kind", KINDS)
def test_others_are_served_beside_many_that_wait(kind: str) -> None:
    """Under 300 descriptors, beside 320 hostile connections, each search is answered."""
    from itertools import count

    from tests.torture.clients import job_of

    with server(files=300) as (port, _process, log):
        text = KINDS[kind](job_of(port) if kind == "open stream" else "")
        with beside(lambda: hold(port, text, 320)):
            time.sleep(1)
            _seconds, outcomes = search(port, count(), 30)
        assert set(outcomes) == {"answered"}, outcomes
        assert len(log.read_text().splitlines()) < 20
