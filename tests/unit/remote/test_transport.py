"""The way to a server and back."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

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
