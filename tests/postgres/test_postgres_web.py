"""A library in PostgreSQL, served by one server and by several, some of which are killed."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("httpx2", reason="Starlette's test client needs httpx2")

from pathlib import Path

from starlette.testclient import TestClient

from lpisearch.errors import LibraryTooNew
from lpisearch.library import Library
from lpisearch.location import Address
from lpisearch.options import ServeSettings
from lpisearch.storage import writer_lock
from lpisearch.web.server import create_app
from tests.servers import Server, programs_of, running, start, stop
from tests.serving import answers_beside, check_upgraded_beside, newer_program, text_at

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


_TOKEN, _READER = "a-token-that-nobody-guesses", "another-that-may-only-read"
_PASSWORD = "geheim-4711"  # noqa: S105 (of a test, which the server does not ask for)
_BEARER = {"Authorization": f"Bearer {_TOKEN}"}


@dataclass
class Served:
    """A server that runs as on a machine of its own: with a cache and a state folder."""

    process: subprocess.Popen[str]
    address: str
    log: Path

    def ask(
        self, path: str, body: dict[str, Any] | None = None, headers: Mapping[str, str] = _BEARER
    ) -> tuple[int, dict[str, Any]]:
        """Return the status and the JSON of a response."""
        status, text = self.text(path, body, headers)
        return status, json.loads(text)

    def text(
        self, path: str, body: dict[str, Any] | None = None, headers: Mapping[str, str] = _BEARER
    ) -> tuple[int, str]:
        """Return the status and the text of a response."""
        content = None if body is None else json.dumps(body).encode()
        named = {"Content-Type": "application/json", **headers}
        return text_at(f"{self.address}{path}", content, named)


@contextmanager
def several(
    address: Address,
    folder: Path,
    number: int,
    *words: str,
    program: Sequence[str] = (sys.executable, "-m", "lpisearch"),
) -> Iterator[list[Served]]:
    """Start servers of a library; the password is in the environment alone."""
    url = address.url.replace("//tests@", f"//tests:{_PASSWORD}@")
    with ExitStack() as stack:
        servers = []
        for one in range(number):
            own = Path(tempfile.mkdtemp(prefix=f"machine-{one}-", dir=folder))
            environment = os.environ | {"LPISEARCH_DB": url, "LPISEARCH_TOKEN": _TOKEN}
            environment |= {"LPISEARCH_READ_TOKEN": _READER}
            environment |= {f"XDG_{kind}_HOME": str(own) for kind in ("STATE", "CACHE", "DATA")}
            with (own / "log").open("w") as log:
                command = [*program, "serve", "--port", "0", *words]
                process = subprocess.Popen(command, stderr=log, text=True, env=environment)
            stack.callback(process.wait)
            stack.callback(process.kill)
            servers.append(Served(process, "", own / "log"))
        for served in servers:
            until(lambda log=served.log: " at http" in log.read_text("utf-8"))  # type: ignore[misc]
            said = served.log.read_text("utf-8")
            served.address = said.split(" at ")[1].split()[0].rstrip("/")
            until(lambda one=served: one.text("/ready")[0] == 200)  # type: ignore[misc]
        yield servers


def place(shelf: Library) -> Address:
    """Return the address of a library on a server."""
    assert isinstance(shelf.path, Address)
    return shelf.path


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _has_built(served: Served, job: str) -> bool:
    state = served.ask(f"/api/v1/jobs/{job}")[1]["state"]
    assert state in {"waiting", "running", "done"}
    return bool(state == "done")


def test_three_servers_of_one_library(shelf: Library, tmp_path: Path) -> None:
    """One is killed and one rebuilds: the others answer on, and know the jobs of each."""
    shelf.index(dims=2)
    with several(place(shelf), tmp_path, 3, "--behind-proxy", "127.0.0.1") as (one, two, three):
        query = "/api/v1/search?q=ship"
        status, expected = one.ask(query)
        assert (status, bool(expected["hits"])) == (200, True)
        job = one.ask("/api/v1/jobs/index", {"options": {"dims": 3}})[1]["id"]
        killed = False
        while not _has_built(two, job):
            for served in (one, two) if killed else (one, two, three):
                status, answer = served.ask(query)
                assert status == 200
                assert len(answer["hits"]) == len(expected["hits"])
            if not killed:
                three.process.kill()
                killed = True
            time.sleep(0.1)  # one address may send 50 requests a second
        assert two.ask(f"/api/v1/jobs/{job}")[1]["result"]["dims"] == 3
        assert "event: end" in two.text(f"/api/v1/jobs/{job}/events")[1]
        states = {served.ask("/api/v1/status")[1]["state"] for served in (one, two)}
        assert len(states) == 1
        until(lambda: len(two.ask("/api/v1/vectors?limit=1")[1]["vectors"][0]) == 3)

        queued = one.ask("/api/v1/jobs/ingest", {"paths": [str(tmp_path)]})
        assert queued[0] == 403  # no server may read another folder
        _check_metrics((one, two))
        _check_secrets((one, two, three))


def _check_metrics(servers: Sequence[Served]) -> None:
    for served in servers:
        assert served.text("/metrics", headers={})[0] == 401
        assert served.text("/metrics", headers={"Authorization": "Bearer wrong"})[0] == 401
        status, text = served.text("/metrics", headers={"Authorization": f"Bearer {_READER}"})
        assert status == 200
        assert "\nlpisearch_library_up 1\n" in text
        assert "\nlpisearch_documents 40\n" in text
        assert re.search(r'\nlpisearch_jobs\{state="done"\} [1-9]', text)
        assert 'lpisearch_index_documents{index="default"} 40' in text
        for path in ("/health", "/ready"):
            assert served.text(path, headers={})[0] == 200


def _check_secrets(servers: Sequence[Served]) -> None:
    """No password or token is in the metrics, the logs or the list of processes."""
    shown = [served.log.read_text("utf-8") for served in servers]
    shown += [served.text("/metrics")[1] for served in servers if served.process.poll() is None]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            shown.append(path.read_bytes().decode(errors="replace"))
    for secret in (_PASSWORD, _TOKEN, _READER):
        assert not any(secret in text for text in shown)


def test_a_server_that_is_killed_interrupts_its_job(shelf: Library, tmp_path: Path) -> None:
    with (
        several(place(shelf), tmp_path, 2) as (one, two),
        writer_lock(shelf.path, "index", 1),
    ):
        job = one.ask("/api/v1/jobs/index", {"options": {"dims": 3}})[1]["id"]
        until(lambda: two.ask(f"/api/v1/jobs/{job}")[1]["state"] == "running")
        queued = two.ask("/api/v1/jobs/index", {"options": {"dims": 4}})[1]["id"]
        one.process.kill()
        until(lambda: two.ask(f"/api/v1/jobs/{queued}")[1]["state"] == "running")
        assert two.ask(f"/api/v1/jobs/{job}")[1]["state"] == "interrupted"
        assert two.ask(f"/api/v1/jobs/{queued}")[0] == 200
    assert shelf.status()["indexes"] == []  # nothing half visible


def test_a_database_that_is_killed_is_stated(
    folder: Callable[..., Path], records: list[dict[str, Any]], tmp_path: Path
) -> None:
    """In the middle of answers and of a build; the server goes on by itself when it is back."""
    programs = programs_of()
    files = {f"{record['id']}.txt": record["text"] for record in records}
    with running(programs, durable=True) as server:
        address = server.address()
        with Library(address) as library:
            library.ingest(folder(files), labels="folder")
            library.index(dims=3)
            expected = [hit.id for hit in library.search("ship", k=5)]
        with several(address, tmp_path, 2) as servers:
            one, two = servers
            job = one.ask("/api/v1/jobs/index", {"options": {"dims": 4}})[1]["id"]
            server.kill()
            for number, served in enumerate((one, two, one)):
                status, problem = served.ask(f"/api/v1/search?q=boat+{number}")
                assert (status, bool(problem["next"])) == (503, True)
                assert served.text("/health")[0] == 200
                assert served.text("/ready") == (503, "the library cannot be read\n")
                assert "\nlpisearch_library_up 0\n" in served.text("/metrics")[1]
            start(programs, server.folder, durable=True)
            for served in servers:
                until(lambda one=served: one.text("/ready")[0] == 200)  # type: ignore[misc]
                hits = served.ask("/api/v1/search?q=ship&k=5")[1]["hits"]
                assert [hit["id"] for hit in hits] == expected
            # One that had not begun waits for the database.
            ended = {"failed", "interrupted", "done"}
            until(lambda: two.ask(f"/api/v1/jobs/{job}")[1]["state"] in ended)
            again = two.ask("/api/v1/jobs/index", {"options": {"dims": 4}})[1]["id"]
            until(lambda: _has_built(one, again))
            _check_secrets(servers)
        with Library(address) as library:
            assert [finding for finding in library.examine() if not finding.ok] == []
        stop(server.folder)


def test_a_newer_program_may_upgrade_the_library(
    shelf: Library, server: Server, tmp_path: Path
) -> None:
    """It waits for those who read; the old server refuses from then on, and a new one answers."""
    shelf.index(dims=3)
    newer, address = newer_program(tmp_path), place(shelf)
    waiting = "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted"

    def upgrade() -> None:
        with shelf._session.reading() as snapshot:
            process = subprocess.Popen([*newer, "--db", address.url, "status"])
            until(lambda: bool(server.run(waiting)))
            assert len(snapshot.documents.keys()) == 40
        assert process.wait(60) == 0

    with several(address, tmp_path, 1) as (old,):
        first = old.ask("/api/v1/search?q=ship")[1]["hits"][0]["id"]
        check_upgraded_beside(old.text, answers_beside(upgrade, old.text), first)
        assert "\nlpisearch_library_up 0\n" in old.text("/metrics")[1]
        with several(address, tmp_path, 1, program=newer) as (new,):
            assert new.ask("/api/v1/search?q=ship")[1]["hits"][0]["id"] == first
        with pytest.raises(LibraryTooNew):
            shelf.label("s0", add=["x"])
