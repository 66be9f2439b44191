"""A library in PostgreSQL, served: every page is there, the index fetched or not."""

from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("httpx2", reason="Starlette's test client needs httpx2")

from pathlib import Path

from starlette.testclient import TestClient

from lpisearch.library import Library
from lpisearch.options import ServeSettings
from lpisearch.web.server import create_app

_PAGES = (
    *("/library", "/", "/?q=ship", "/labels", "/classify", "/evaluation", "/library/health"),
    *("/topics", "/library", "/help"),
)


def test_a_server_of_a_database(
    shelf: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shelf.index(dims=3)
    expected = [hit.id for hit in shelf.search("ship")]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    with Library(shelf.path) as library:
        app = create_app(library, ServeSettings())
        with TestClient(app, "http://127.0.0.1:8077", client=("127.0.0.1", 1)) as client:
            for page in _PAGES:
                assert client.get(page).status_code == 200, page
            status: dict[str, Any] = client.get("/api/v1/status").json()
            assert (status["library"], status["documents"]) == (str(shelf.path), 40)
            again = client.get("/api/v1/status").json()
            assert again["state"] == status["state"]
            found = client.get("/api/v1/search", params={"q": "ship"}).json()
            assert [hit["id"] for hit in found["hits"]] == expected
