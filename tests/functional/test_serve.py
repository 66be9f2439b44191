"""The installed program serves, and ends as it should."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import lpisearch
from lpisearch.storage.integrity import HEAD
from tests.serving import (
    answers_beside,
    check_upgraded_beside,
    get_json,
    newer_program,
    serving,
    text_at,
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_cleanly(shelf: Path, number: signal.Signals) -> None:
    """It answers until it is told to end, also with somebody who follows a job; then it ends."""
    with serving(shelf) as (server, address):
        assert get_json(f"{address}api/v1/status")["documents"] == 40
        server.send_signal(number)
        assert server.wait(30) == 0
    assert not shelf.with_name(f"{shelf.name}-wal").exists()


def test_a_job_at_the_end_is_finished_or_named(shelf: Path, folder: Callable[..., Path]) -> None:
    files = {f"{number}.txt": f"ship number {number} " * 200 for number in range(3000)}
    root = folder(files)
    with serving(shelf, "--root", str(root)) as (server, address):
        body = json.dumps({"paths": [str(root)]}).encode()
        asked = urllib.request.Request(  # noqa: S310 (our own server)
            f"{address}api/v1/jobs/ingest", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310 (our own server)
            job = json.load(answer)
        while get_json(f"{address}api/v1/jobs/{job['id']}")["state"] == "waiting":
            time.sleep(0.01)
        os.kill(server.pid, signal.SIGTERM)
        assert server.wait(60) == 0
        assert server.stderr is not None
        said = server.stderr.read()
    with lpisearch.open(shelf) as library:
        whole = len(library) == 40 + len(files)
        assert all(finding.ok for finding in library.examine())
    assert ("did not finish" in said) != whole
    with serving(shelf) as (_, address):
        jobs = get_json(f"{address}api/v1/jobs")["jobs"]
        assert isinstance(jobs, list)
        assert [each["state"] for each in jobs] == ["done" if whole else "interrupted"]


def test_a_port_that_is_taken_is_said(shelf: Path) -> None:
    with serving(shelf) as (_, address):
        port = address.rsplit(":", 1)[1].strip("/")
        command = [sys.executable, "-m", "lpisearch", "--db", str(shelf), "serve", "--port", port]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert f"Cannot listen on 127.0.0.1, port {port}" in ended.stderr
    assert "Next: choose another port" in ended.stderr


def test_a_window_ends_with_its_server(shelf: Path, tmp_path: Path) -> None:
    """`lpisearch ui` shows the page in a browser's window, and ends when that is closed."""
    browser, seen = tmp_path / "chromium", tmp_path / "seen"
    browser.write_text(
        f'#!/bin/sh\nfor each in "$@"; do case $each in --app=*) echo "${{each#--app=}}" > {seen};;'
        " esac; done\nsleep 1\n"
    )
    browser.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "lpisearch", "--db", str(shelf), "ui"]
    environment = os.environ | {"PATH": path, "XDG_STATE_HOME": str(tmp_path)}
    ended = subprocess.run(command, timeout=120, check=False, env=environment)
    assert ended.returncode == 0
    assert seen.read_text().startswith("http://127.0.0.1:")


_FORKS = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="lists processes")


def _workers(server: subprocess.Popen[str]) -> list[int]:
    return [int(pid) for pid in _children(server.pid).split()]


def _children(pid: int) -> str:
    lists = Path(f"/proc/{pid}/task").glob("*/children")  # of each thread
    return " ".join(each.read_text("ascii") for each in lists).strip()


def _is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
    except OSError:
        return False
    return stat.rpartition(") ")[2][0] != "Z"


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 40
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _asked(address: str, path: str, body: dict[str, object] | None = None) -> dict[str, Any]:
    """Ask a worker: each connection is a new one. One that is killed meanwhile is asked again."""
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 (our own server)
        f"{address}{path}", content, {"Content-Type": "application/json"}
    )
    for _ in range(3):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 (as above)
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError:
            raise
        except (OSError, http.client.HTTPException):
            continue
    return pytest.fail("no answer")


@_FORKS
def test_a_worker_that_dies_is_replaced(shelf: Path) -> None:
    """All answers stay right meanwhile; the log says who died."""
    with serving(shelf, "--workers", "2") as (server, address):
        _until(lambda: len(_workers(server)) == 2)
        expected = _asked(address, "api/v1/search?q=ship")["hits"]
        for _ in range(3):
            before = _workers(server)
            os.kill(before[0], signal.SIGKILL)
            for _ in range(10):
                assert _asked(address, "api/v1/search?q=ship")["hits"] == expected
            _until(lambda before=before: len({*_workers(server)} - {before[0]}) == 2)  # type: ignore[misc]
        workers = _workers(server)
        server.send_signal(signal.SIGTERM)
        assert server.wait(40) == 0
        assert not any(map(_is_alive, workers))
        assert server.stderr is not None
        assert server.stderr.read().count("died: SIGKILL") == 3
    assert not shelf.with_name(f"{shelf.name}-wal").exists()


@_FORKS
def test_workers_end_with_the_first_process(shelf: Path) -> None:
    """Nobody listens where that was killed, so that another server can begin at once."""
    with serving(shelf, "--workers", "2") as (server, address):
        _until(lambda: len(_workers(server)) == 2)
        assert _asked(address, "api/v1/status")["documents"] == 40
        workers = _workers(server)
        server.kill()
        _until(lambda: not any(map(_is_alive, workers)))
    port = address.rsplit(":", 1)[1].strip("/")
    with serving(shelf, "--workers", "2", "--port", port) as (_, again):
        assert _asked(again, "api/v1/status")["documents"] == 40


@_FORKS
def test_workers_share_jobs_and_take_up_a_rebuilt_index(
    shelf: Path, folder: Callable[..., Path]
) -> None:
    root = folder({f"{number}.txt": f"a lighthouse, number {number}" for number in range(20)})
    with serving(shelf, "--workers", "3", "--root", str(root)) as (server, address):
        _until(lambda: len(_workers(server)) == 3)
        body = {"paths": [str(root)], "index": True}
        job = _asked(address, "api/v1/jobs/ingest", body)
        assert all(
            _asked(address, f"api/v1/jobs/{job['id']}")["kind"] == "ingest" for _ in range(9)
        )
        _until(lambda: _asked(address, f"api/v1/jobs/{job['id']}")["state"] == "done")
        assert _asked(address, f"api/v1/jobs/{job['id']}")["result"]["added"] == 20
        events = [_events(f"{address}api/v1/jobs/{job['id']}/events") for _ in range(6)]
        assert all(text.startswith("id: ") and "event: end" in text for text in events)

        def is_rebuilt() -> bool:
            jobs = _asked(address, "api/v1/jobs")["jobs"]
            return {(one["kind"], one["state"]) for one in jobs} >= {("index", "done")}

        _until(is_rebuilt)
        state = _asked(address, "api/v1/status")["state"]
        for _ in range(12):
            assert _asked(address, "api/v1/status")["state"] == state
            found = _asked(address, "api/v1/search?q=lighthouse&by=semantic")
            assert "lighthouse" in found["hits"][0]["snippet"]
            assert "out of date" not in str(found["notes"])


def _events(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 (our own server)
        text: str = answer.read().decode()
        return text


@_FORKS
def test_a_job_of_a_worker_that_dies_is_interrupted(shelf: Path) -> None:
    from lpisearch.storage import writer_lock

    with writer_lock(shelf, "ingest", 1), serving(shelf, "--workers", "2") as (server, address):
        _until(lambda: len(_workers(server)) == 2)
        job = _asked(address, "api/v1/jobs/index", {})
        _until(lambda: any(map(_children, _workers(server))))  # the build, which waits
        (worker,) = (pid for pid in _workers(server) if _children(pid))
        build = int(_children(worker))
        os.kill(worker, signal.SIGKILL)
        _until(lambda: _asked(address, f"api/v1/jobs/{job['id']}")["state"] == "interrupted")
        _until(lambda: not _is_alive(build))


@_FORKS
def test_workers_that_cannot_serve_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    from lpisearch.web.workers import Workers, WorkersFailed

    monkeypatch.setattr("lpisearch.web.workers._LOOK_SECONDS", 0.01)

    def fails(_number: int) -> None:
        os._exit(7)

    with pytest.raises(WorkersFailed, match="status 7"):
        Workers(2, fails).run()


@pytest.mark.parametrize("workers", [pytest.param("2", marks=_FORKS), "1"])
def test_a_newer_program_may_upgrade_the_library(shelf: Path, tmp_path: Path, workers: str) -> None:
    """The server refuses from then on, and says what to do; the new one answers."""
    newer = newer_program(tmp_path)
    upgrade = partial(subprocess.run, [*newer, "--db", str(shelf), "status"], check=True)
    with serving(shelf, "--workers", workers) as (_, address):
        base = address.rstrip("/")

        def ask(path: str) -> tuple[int, str]:
            return text_at(f"{base}{path}")

        first = _asked(address, "api/v1/search?q=ship")["hits"][0]["id"]
        check_upgraded_beside(ask, answers_beside(upgrade, ask), first)
        with serving(shelf, program=newer) as (_, other):
            assert _asked(other, "api/v1/search?q=ship")["hits"][0]["id"] == first
    assert shelf.with_name(f"{shelf.name}.before-{HEAD}").exists()
