"""One library for all tests of the pages, with texts that want to be more than texts."""

import json
import re
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("httpx2", reason="Starlette's test client needs httpx2")

from collections.abc import Callable, Iterator
from pathlib import Path

from starlette.testclient import TestClient

import lpisearch
from lpisearch.library import Library
from lpisearch.options import ServeSettings
from lpisearch.web.server import create_app

HERE = "http://127.0.0.1:8077"
EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'
LONG = "\n\n".join(f"Paragraph {n}. The harbour and the anchor." for n in range(4000))
HOSTILE: list[dict[str, Any]] = [
    {
        "id": f"evil/{EVIL}",
        "title": EVIL,
        "text": f"A ship {EVIL} in the harbour <svg onload=alert(2)> {{{{ 7 * 7 }}}} "
        "javascript:alert(3)",
        "labels": [EVIL, "sea"],
        "date": "2021-05-06",
        "link": "javascript:alert(4)",
        "split": '"><b>split',
    },
    {"id": "javascript:alert(5)", "title": "javascript:alert(6)", "text": "A boat at anchor."},
    {"id": "../../etc/passwd", "title": "up and away", "text": "A rope and a sail."},
    {"id": "rtl", "title": "ספינה בנמל \u202e", "text": "הספינה עוגנת בנמל ship", "date": "2022"},
    {"id": "long", "title": "A long one", "text": LONG, "labels": ["sea"]},
    {"id": "empty", "title": "Nothing in it", "text": ""},
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker do the tests here: they share a library."""
    for item in items:
        if "/web/pages/" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("pages"))


@pytest.fixture(scope="session")
def folder_of_files(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]
) -> Path:
    """Return a folder of records and plain files."""
    folder = tmp_path_factory.mktemp("shelf")
    every = [*records, *HOSTILE]
    for at, record in enumerate(every):
        record.setdefault("date", f"20{10 + at % 12}-0{1 + at % 9}-11")
    lines = "".join(json.dumps(record) + "\n" for record in every)
    (folder / "records.jsonl").write_text(lines, encoding="utf-8")
    (folder / "harbour.txt").write_text("The harbour lights\n\nA pilot and a tide.\n")
    return folder


@pytest.fixture(scope="session")
def served_library(
    tmp_path_factory: pytest.TempPathFactory, folder_of_files: Path
) -> Iterator[Library]:
    """Return an open library of them, with an index. Tests leave it as it is."""
    with lpisearch.open(tmp_path_factory.mktemp("served") / "library.db") as library:
        library.ingest(folder_of_files)
        library.index(dims=8)
        yield library


@pytest.fixture(scope="session")
def page(served_library: Library, folder_of_files: Path) -> Iterator[TestClient]:
    """Return a browser without scripts, so to say."""
    settings = ServeSettings(roots=(folder_of_files,))
    with TestClient(create_app(served_library, settings), base_url=HERE) as client:
        yield client


@pytest.fixture
def own_page(tmp_path: Path, folder_of_files: Path) -> Iterator[Callable[..., TestClient]]:
    """Return a maker of servers of a library of their own, to be changed."""
    opened: list[Any] = []

    def serve(**settings: Any) -> TestClient:
        library = lpisearch.open(tmp_path / "own.db")
        library.ingest(folder_of_files / "harbour.txt")
        chosen = ServeSettings(**{"roots": (folder_of_files,)} | settings)
        client = TestClient(create_app(library, chosen), base_url=HERE)
        opened.extend((library, client))
        client.__enter__()
        return client

    yield serve
    for each in reversed(opened):
        each.__exit__(None, None, None)


def token_of(client: TestClient, address: str = "/library") -> str:
    """Return the token that the forms of a page have."""
    found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', client.get(address).text)
    assert found is not None
    return found[1]
