"""A server of a library in a thread or a process, at a port of its own."""

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
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
def serving(library: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server; give it and its address, which it says itself."""
    command = [sys.executable, "-m", "lpisearch", "--db", str(library), "serve", "--port", "0"]
    server = subprocess.Popen([*command, *words], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        lines = []
        for line in server.stderr:
            lines.append(line)
            if " at http" in line:
                break
        else:
            pytest.fail("".join(lines))
        yield server, line.split(" at ")[1].split()[0]
    finally:
        if server.poll() is None:
            server.kill()
        server.communicate()


def get_json(url: str) -> dict[str, object]:
    """Return the JSON at an address."""
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 (our own server)
        said: dict[str, object] = json.load(answer)
        return said
