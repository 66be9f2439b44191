"""A small library with an index, served in this process."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import lpisearch
from lpisearch import Library
from lpisearch.options import ServeSettings
from lpisearch.web.server import create_app

HERE = "http://127.0.0.1:8077"


@pytest.fixture
def opened(built: Path, tmp_path: Path) -> Iterator[Library]:
    """Open a copy of it."""
    shutil.copytree(built, tmp_path / "served")
    with lpisearch.open(tmp_path / "served" / "library.db") as library:
        yield library


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder below which files may be brought in."""
    made = tmp_path / "root"
    made.mkdir()
    return made


@pytest.fixture
def serve(opened: Library, root: Path) -> Iterator[Callable[..., TestClient]]:
    """Return a maker of clients of a server; its settings are given by name."""
    clients: list[TestClient] = []

    def make(client: tuple[str, int] = ("127.0.0.1", 1), **given: Any) -> TestClient:
        settings = ServeSettings(**{"roots": (root,)} | given)
        made = TestClient(create_app(opened, settings), HERE, client=client, follow_redirects=False)
        made.__enter__()
        clients.append(made)
        return made

    yield make
    for made in clients:
        made.__exit__()


@pytest.fixture
def client(serve: Callable[..., TestClient]) -> TestClient:
    """Return a client of a server as it is by itself."""
    return serve()
