"""What a server says while it runs and when it ends."""

import asyncio
import logging
import socket
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import lpisearch
from lpisearch import Library
from lpisearch.options import ServeSettings
from lpisearch.web import server
from lpisearch.web.pages.templates import asset
from lpisearch.web.server import create_app
from lpisearch.web.state import WebState


def test_an_answer_that_ends_with_the_server_is_no_error(
    opened: Library, caplog: pytest.LogCaptureFixture
) -> None:
    server.config_of(create_app(opened))
    log = logging.getLogger("uvicorn.error")
    for error in (asyncio.CancelledError("ends"), ValueError("a defect")):
        log.error("Exception in ASGI application", exc_info=error)
    assert [str(record.exc_info and record.exc_info[1]) for record in caplog.records] == [
        "a defect"
    ]


def test_an_answer_does_not_wait_for_its_first_part_to_be_confirmed() -> None:
    with closing(server._socket(ServeSettings(port=0))) as listening:
        with socket.create_connection(listening.getsockname()):
            accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP


def test_libraries_have_a_port_each(opened: Library, tmp_path: Path) -> None:
    """A request is for the library of its port, and each page leads to the other one."""
    (tmp_path / "work.txt").write_text("A boat of the other library.")
    with lpisearch.open(tmp_path / "work.db") as work:
        work.ingest(tmp_path / "work.txt")
        states = [WebState(one, ServeSettings()) for one in (opened, work)]
        joined = server.Libraries(states, [8077, 8078])
        first, second = (TestClient(joined, f"http://127.0.0.1:{port}") for port in (8077, 8078))
        assert 'href="http://127.0.0.1:8078/"><bdi>work.db' in first.get("/").text
        assert 'href="http://127.0.0.1:8077/"' in second.get("/").text
        assert second.get("/api/v1/status").json()["documents"] == 1
        assert first.get("/api/v1/status").json()["documents"] == len(opened)
        assert states[0].jobs is not states[1].jobs
        for state in states:
            state.jobs.close(1)


def test_files_of_the_look_are_kept_by_browsers(client: TestClient) -> None:
    kept = client.get(asset("icon.svg")).headers["Cache-Control"]
    assert "immutable" in kept
    assert "Cache-Control" not in client.get("/static/icon.svg").headers
    assert client.get("/favicon.ico").headers["Location"] == "/static/icon.svg"
