"""A server of a library in a thread or a process, at a port of its own."""

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
import uvicorn

from lpisearch import Library
from lpisearch.options import ServeSettings
from lpisearch.web.server import create_app


@contextmanager
def served(library: Library, settings: ServeSettings | None = None) -> Iterator[str]:
    """Serve a library; give its address."""
    app = create_app(library, settings or ServeSettings())
    config = uvicorn.Config(app, access_log=False, log_config=None, lifespan="on", ws="none")
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            app.state.lpisearch.jobs.announce_end()
            server.should_exit = True
            thread.join()


@contextmanager
def serving(
    library: Path, *words: str, log: Path | None = None, files: int = 0
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server; give it and its address, which it says itself.

    What it says goes to the file `log`, if one is given; it may open so many `files`.
    """
    command = [sys.executable, "-m", "lpisearch", "--db", str(library), "serve", "--port", "0"]
    if files:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    with nullcontext(subprocess.PIPE) if log is None else log.open("w") as said:
        server = subprocess.Popen([*command, *words], stderr=said, text=True)
    try:
        line = _first(server) if log is None else _written(log, server)
        yield server, line.split(" at ")[1].split()[0]
    finally:
        if server.poll() is None:
            server.kill()
        server.communicate()


def _first(server: subprocess.Popen[str]) -> str:
    assert server.stderr is not None
    lines = []
    for line in server.stderr:
        lines.append(line)
        if " at http" in line:
            return line
    return pytest.fail("".join(lines))


def _written(log: Path, server: subprocess.Popen[str]) -> str:
    while " at http" not in (text := log.read_text(encoding="utf-8")):
        if server.poll() is not None:
            pytest.fail(text)
        time.sleep(0.05)
    return next(line for line in text.splitlines() if " at http" in line)


def get_json(url: str) -> dict[str, object]:
    """Return the JSON at an address."""
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 (our own server)
        said: dict[str, object] = json.load(answer)
        return said
