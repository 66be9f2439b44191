"""The way to a server and back."""

import http.server
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

import pytest

import lpisearch
from lpisearch import errors
from lpisearch.options import ServeSettings
from lpisearch.remote.transport import Transport, error_of
from tests.serving import served

_TOKEN = "one-that-nobody-guesses"  # noqa: S105 (of a test)


class _Curt(http.server.BaseHTTPRequestHandler):
    """Answers once on each connection, and then closes it without a word."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def _answer(self) -> None:
        """Answer as if there would be another."""
        type(self).asked += 1
        content = b'{"n": %d}' % type(self).asked
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = True

    do_GET = do_POST = _answer  # noqa: N815 (named by the standard library)

    def log_message(self, *_said: object) -> None:
        """Say nothing."""


@pytest.fixture
def curt() -> Iterator[str]:
    """Serve so."""
    _Curt.asked = 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Curt)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_connection_that_was_closed_meanwhile(curt: str) -> None:
    transport = Transport(curt, "", 10)
    assert [transport.get("/x")["n"] for _ in range(3)] == [1, 2, 3]
    with pytest.raises(lpisearch.ServerUnreachable):
        transport.request("POST", "/x", body={})
    assert _Curt.asked == 3
    assert transport.request("POST", "/x", body={})["n"] == 4
    transport.close()


def test_an_idle_connection_is_not_trusted(curt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpisearch.remote.transport._IDLE_SECONDS", -1)
    transport = Transport(curt, "", 10)
    assert [transport.request("POST", "/x", body={})["n"] for _ in range(3)] == [1, 2, 3]
    transport.close()


def test_a_server_wants_a_token(shelf: Path) -> None:
    settings = ServeSettings(token=_TOKEN)
    with lpisearch.open(shelf) as library, served(library, settings) as url:
        with (
            lpisearch.connect(url) as other,
            pytest.raises(lpisearch.ServerRefused, match=r"\(401\)") as caught,
        ):
            len(other)
        assert caught.value.status == 401
        with lpisearch.connect(url, token=_TOKEN) as ours:
            assert len(ours) == 40
            assert _TOKEN not in repr(ours)


def test_every_error_comes_back_as_itself() -> None:
    from lpisearch.web.problems import facts_of

    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    known = [each for each in kinds if issubclass(each, errors.LpiSearchError)]
    assert len(known) > 30
    for kind in known:
        error = kind.__new__(kind)
        errors.LpiSearchError.__init__(error, "What happened.", "do something")
        error.fields = ("k",)  # type: ignore[attr-defined]
        back = error_of({"detail": error.what, "status": 409, **facts_of(error, python=True)})
        assert type(back) is kind
        assert str(back) == "What happened. Next: do something"


def test_an_unknown_problem_is_a_refusal() -> None:
    back = error_of({"status": 418, "type": "urn:lpisearch:open-library", "detail": "No."})
    assert isinstance(back, lpisearch.ServerRefused)
    assert back.status == 418
    wrong = error_of({"status": 422, "detail": "k no.", "errors": [{"field": "k", "reason": "no"}]})
    assert isinstance(wrong, lpisearch.BadOption)
    assert wrong.fields == ("k",)


_DEEP = b"[" * 200_000
_WRONG = {
    "list": (b"[]", "expected kind"),
    "null": (b"null", "expected kind"),
    "text": (b'"documents"', "expected kind"),
    "page": (b"<!DOCTYPE html><title>Welcome</title>", "not JSON"),
    "deep": (_DEEP, "nested too deeply"),
    "broken": (b'{"documents": ["\xff\xfe"]}', "not UTF-8"),
    "empty object": (b"{}", "it has no “documents”"),
    "wrong members": (b'{"documents": [1], "total": "many"}', "is not an object"),
    "cut": (b'{"documents": [', "not JSON"),
}


@pytest.fixture
def answering() -> Iterator[tuple[str, list[Callable[[BinaryIO], object]]]]:
    """Serve what the first of some functions writes, headers included; yield the address too."""
    writes: list[Callable[[BinaryIO], object]] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            with suppress(OSError):
                writes[0](cast("BinaryIO", self.wfile))

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", writes
        server.shutdown()


def _whole(content: bytes, status: str = "200 OK") -> Callable[[BinaryIO], object]:
    return lambda out: out.write(
        b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status.encode(), len(content)) + content
    )


@pytest.mark.parametrize("kind", _WRONG)
def test_an_answer_of_another_kind_is_stated(
    answering: tuple[str, list[Callable[[BinaryIO], object]]], kind: str
) -> None:
    url, writes = answering
    content, said = _WRONG[kind]
    writes.append(_whole(content))
    with lpisearch.connect(url, seconds=10) as library:
        with pytest.raises(lpisearch.AnswerInvalid, match=said):
            library.listing()
        plain = (
            "status",
            "state",
            "writer",
            "vectors",
            "topics",
            "map",
            "facets",
            "jobs",
            "examine",
        )
        asked = (("search", "x"), ("names", "label"), ("traits", "x"), ("predicted", "x"))
        for name, *words in (*((one,) for one in plain), *asked):
            with suppress(lpisearch.LpiSearchError):
                getattr(library, name)(*words)
        writes[0] = _whole(content, "422 No")
        with pytest.raises(lpisearch.LpiSearchError):
            library.status()
        writes[0] = lambda out: out.write(b"HTTP/1.1 200 OK\r\n\r\n" + content + b"\n")
        with pytest.raises(lpisearch.LpiSearchError):
            next(iter(library))


def _drip(out: BinaryIO) -> None:
    out.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    _drops(out)


def _drops(out: BinaryIO) -> None:
    while True:
        out.write(b" ")
        out.flush()
        time.sleep(0.05)


def _without_end(out: BinaryIO) -> None:
    out.write(b"HTTP/1.1 200 OK\r\n\r\n{")
    while True:
        out.write(b" " * 65536)


@pytest.mark.timeout(20)
def test_an_answer_has_limits(
    answering: tuple[str, list[Callable[[BinaryIO], object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of time for the whole of it, headers included, and of bytes."""
    url, writes = answering
    monkeypatch.setattr("lpisearch.remote.transport._MOST_BYTES", 1 << 20)
    for write in (_drip, _drops):
        writes[:] = [write]
        begun = time.monotonic()
        library = lpisearch.connect(url, seconds=0.5)
        with pytest.raises(lpisearch.ServerUnreachable, match=r"took more than 0\.5 s"):
            library.status()
        assert time.monotonic() - begun < 5
    writes[:] = [_without_end]
    library = lpisearch.connect(url, seconds=10)
    with pytest.raises(lpisearch.AnswerInvalid, match="more than"):
        library.status()
    with pytest.raises(lpisearch.AnswerInvalid, match="more than"):
        next(iter(library))


@pytest.mark.timeout(20)
def test_a_stream_that_says_nothing(
    answering: tuple[str, list[Callable[[BinaryIO], object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, writes = answering
    monkeypatch.setattr("lpisearch.remote.transport._SILENT_SECONDS", 0.3)

    def begin(out: BinaryIO) -> None:
        out.write(b"HTTP/1.1 200 OK\r\n\r\n: here\n")
        out.flush()
        time.sleep(5)

    writes[:] = [begin]
    lines = Transport(url, "", 0.3).lines("/jobs/1/events")
    assert next(lines) == ": here"
    with pytest.raises(lpisearch.ServerUnreachable):
        next(lines)


@pytest.mark.parametrize("number", ["1e300", "NaN", "Infinity"])
def test_vectors_that_are_not_finite(
    answering: tuple[str, list[Callable[[BinaryIO], object]]], number: str
) -> None:
    url, writes = answering
    writes[:] = [_whole(b'{"ids": ["a"], "total": 1, "vectors": [[%s]]}' % number.encode())]
    with (
        lpisearch.connect(url) as library,
        pytest.raises(lpisearch.AnswerInvalid, match="not finite"),
    ):
        library.vectors()
