"""The installed program serves, and ends as it should."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

import lpisearch
from tests.serving import get_json, serving


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
        assert [each["state"] for each in jobs] == ([] if whole else ["interrupted"])


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
