"""What a server says while it runs and when it ends."""

import asyncio
import logging
import socket
from contextlib import closing

import pytest
from starlette.testclient import TestClient

from lpisearch import Library
from lpisearch.options import ServeSettings
from lpisearch.web import server
from lpisearch.web.pages.templates import asset
from lpisearch.web.server import create_app


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


def test_files_of_the_look_are_kept_by_browsers(client: TestClient) -> None:
    kept = client.get(asset("icon.svg")).headers["Cache-Control"]
    assert "immutable" in kept
    assert "Cache-Control" not in client.get("/static/icon.svg").headers
    assert client.get("/favicon.ico").headers["Location"] == "/static/icon.svg"
