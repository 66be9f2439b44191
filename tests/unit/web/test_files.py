"""Files that a server reads for others: in a thread of their own, and from allowed folders only."""

import gzip
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lpisearch import Library
from lpisearch.files import limited_reading, open_within
from lpisearch.readers.base import SourceFile
from lpisearch.web import state
from lpisearch.web.api import tasks
from tests.hostile import write_hostile

_SECRET = "a secret about ships"  # noqa: S105 (of a test)


@pytest.fixture
def outside(root: Path) -> Path:
    """Return a folder outside of the allowed one."""
    folder = root.parent / "outside"
    folder.mkdir()
    (folder / "letter.txt").write_text(_SECRET, encoding="utf-8")
    (folder / "page.html").write_text(f"<p>{_SECRET}</p>", encoding="utf-8")
    return folder


def _ended(client: TestClient, job: str) -> dict[str, Any]:
    while (found := client.get(f"/api/v1/jobs/{job}").json())["state"] in {"waiting", "running"}:
        time.sleep(0.02)
    return dict(found)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_folder_that_becomes_a_link_brings_nothing_in(
    client: TestClient,
    opened: Library,
    root: Path,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_late: bool,
) -> None:
    """While its job waits, or even after the job has looked again."""
    (root / "inside").mkdir()
    (root / "inside" / "letter.txt").write_text("of no interest", encoding="utf-8")
    jobs, go = client.app.state.lpisearch.jobs, threading.Event()  # type: ignore[attr-defined]
    jobs.start("index", {}, lambda _job: go.wait(20), writes=True)
    if is_late:
        monkeypatch.setattr(tasks, "_check_again", lambda *_given: None)
    asked = client.post("/api/v1/jobs/ingest", json={"paths": ["inside"]}).json()
    (root / "inside").rename(root / "elsewhere")
    (root / "inside").symlink_to(outside)
    go.set()
    job = _ended(client, asked["id"])
    assert is_late or job["problem"]["status"] == 403
    assert not any(_SECRET in document.text for document in opened)


def test_what_counts_is_the_file_that_is_open(root: Path, outside: Path) -> None:
    (root / "link.txt").symlink_to(outside / "letter.txt")
    (root / "linked").symlink_to(outside)
    (root / "own.txt").write_text("own", encoding="utf-8")
    (root / "own.link").symlink_to(root / "own.txt")
    (root / "own.txt.gz").write_bytes(gzip.compress(b"packed"))
    os.mkfifo(root / "pipe.txt")
    within = (os.path.realpath(root),)
    for name in ("link.txt", "linked/letter.txt", "../outside/letter.txt", "pipe.txt"):
        with pytest.raises(PermissionError):
            open_within(root / name, within)
    for name in ("own.txt", "own.link"):
        with open_within(root / name, within) as stream:
            assert stream.read() == b"own"
    with limited_reading([root]):
        with pytest.raises(PermissionError):
            SourceFile.at(root / "linked" / "letter.txt")
        source = SourceFile.at(root / "own.txt.gz")
    with source.open() as stream:
        assert stream.read() == b"packed"
    (root / "own.txt.gz").unlink()
    (root / "own.txt.gz").symlink_to(outside / "letter.txt")
    with pytest.raises(PermissionError):  # also when it is opened later, in another process
        source.open()


def test_searches_do_not_wait_for_files(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "FILE_SECONDS", 1.0)
    hostile = write_hostile("sheets.xlsx", tmp_path).read_bytes()
    asked: dict[str, Any] = {"params": {"name": "sheets.xlsx"}, "content": hostile}
    client.get("/api/v1/search?q=ship")
    with ThreadPoolExecutor(3) as threads:
        sent = [threads.submit(client.post, "/api/v1/classify/file", **asked) for _ in range(3)]
        time.sleep(0.5)
        begun = time.monotonic()
        for word in ("ship", "harbour", "bread"):
            assert client.get(f"/api/v1/search?q={word}").status_code == 200
        took = time.monotonic() - begun
        assert not all(one.done() for one in sent)
        answers = [one.result() for one in sent]
    assert took < 5  # beside files whose reading takes longer, one after the other
    for answer in answers:
        assert "CPU time" in answer.text or "no response" in answer.text, answer.text


def test_the_number_of_files_is_limited(
    serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of a read-only server; the page counts with the API."""
    monkeypatch.setattr(state, "_MOST_FILES", 2)
    client = serve(read_only=True)
    shared: state.WebState = client.app.state.lpisearch  # type: ignore[attr-defined]
    asked: dict[str, Any] = {"params": {"name": "a.txt"}, "content": b"ships and harbours"}
    for path in ("classify", "similar"):
        assert client.post(f"/api/v1/{path}/file", **asked).status_code == 200
    with shared.file_place(), shared.file_place():
        answer = client.post("/api/v1/classify/file", **asked)
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/problem+json"
        assert client.get("/api/v1/search?q=ship").status_code == 200
    assert client.post("/api/v1/classify/file", **asked).status_code == 200


def test_exports_take_turns(client: TestClient) -> None:
    lines = client.get("/api/v1/export").text.splitlines()
    assert len(lines) == client.get("/api/v1/status").json()["documents"]
