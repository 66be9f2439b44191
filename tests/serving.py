"""A server of a library in a thread or a process, at a port of its own."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
import uvicorn

from lpisearch import Library
from lpisearch.location import shipped_folder
from lpisearch.options import ServeSettings
from lpisearch.storage.integrity import HEAD
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
    library: Path,
    *words: str,
    log: Path | None = None,
    files: int = 0,
    program: Sequence[str] = (sys.executable, "-m", "lpisearch"),
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a server; give it and its address, which it says itself.

    What it says goes to the file `log`, if one is given; it may open so many `files`.
    """
    command = [*program, "--db", str(library), "serve", "--port", "0"]
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


_NEWER = """
import sys
from pathlib import Path
from lpisearch.storage import integrity, tables
integrity.HEAD, folder = sys.argv[1], Path(sys.argv[2])
tables.shipped_folder = lambda _name: folder
del sys.argv[1:3]
from lpisearch.cli import main
main()
"""
_NEXT = """
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "{next}", "{head}", None, None
def upgrade():
    op.add_column("documents", sa.Column("shade", sa.Text()))
    op.create_table("shades", sa.Column("name", sa.Text(), primary_key=True))
"""


def newer_program(folder: Path) -> list[str]:
    """Return the command of a program whose schema has one more migration than ours."""
    following = f"{int(HEAD) + 1:04}"
    migrations = shutil.copytree(shipped_folder("migrations"), folder / "migrations")
    text = _NEXT.format(next=following, head=HEAD)
    (migrations / "versions" / f"{following}_shades.py").write_text(text, "utf-8")
    return [sys.executable, "-c", _NEWER, following, str(migrations)]


def answers_beside(
    work: Callable[[], object], ask: Callable[[str], tuple[int, str]]
) -> list[tuple[int, str]]:
    """Ask one question after the other during some work, and a last one after it."""
    found: list[tuple[int, str]] = []
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(work)
        while not done.done() or not found:
            found.append(ask(f"/api/v1/search?q=ship&k={3 + len(found) % 100}"))
            time.sleep(0.03)  # one address may send 50 requests a second
        done.result()
        return [*found, ask("/api/v1/search?q=ship")]


def check_upgraded_beside(
    ask: Callable[[str], tuple[int, str]], answers: list[tuple[int, str]], first: str
) -> None:
    """Assert that a server answered rightly until the upgrade, and refuses from then on."""
    statuses = [status for status, _ in answers]
    served = statuses.index(503)
    assert statuses == [200] * served + [503] * (len(statuses) - served)
    assert all(json.loads(text)["hits"][0]["id"] == first for _, text in answers[:served])
    problem = json.loads(answers[-1][1])
    assert problem["type"] == "urn:lpisearch:library-too-new"
    assert "start the program again" in problem["next"]
    assert ask("/ready") == (503, "a newer program has upgraded the library\n")
    assert ask("/health")[0] == 200
    status, page = ask("/?q=ship")
    assert (status, "newer lpisearch" in page) == (503, True)


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


def text_at(
    url: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Return the status and the text of a response."""
    request = urllib.request.Request(url, content, dict(headers or {}))  # noqa: S310 (our own server)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 (as above)
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
