"""Clients that hold connections and send or read nothing, beside an honest one.

Everything goes to 127.0.0.1, for a limited time. `python -m tests.torture.clients --number 500`
prints, for each kind, the p95 of an honest client, which opens a connection for each of its
searches, without and with so many hostile connections. Those that the server closes are opened
again after a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import lpisearch
from tests.serving import serving
from tests.torture.kills import scene
from tests.torture.scene import forked

_HOST = "Host: 127.0.0.1\r\n"
_FORM = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nx"
_LARGE = "large.txt", 900_000  # more than a system keeps for a client that does not read
KINDS: dict[str, Callable[[str], str]] = {
    "silent": lambda _job: "",
    "half a header": lambda _job: f"GET / HTTP/1.1\r\n{_HOST}X-Half: ",
    "half a body": lambda _job: f"POST /login HTTP/1.1\r\n{_HOST}{_FORM}",
    "slow reader": lambda _job: f"GET /api/v1/documents/{_LARGE[0]} HTTP/1.1\r\n{_HOST}\r\n",
    "open stream": lambda job: f"GET /api/v1/jobs/{job}/events HTTP/1.1\r\n{_HOST}\r\n",
}
"""What a connection of each kind sends, given the id of a job."""
_PAUSE, _BUFFER = 1.0, 4096
_SEARCHES, _PATIENCE = 200, 30.0
WORST = 5.0  # times the quiet p95; below so many seconds, the machine's own noise is as large
_NOISE = 0.25


def hold(port: int, text: str, number: int) -> None:
    """Keep so many connections open that have sent a text, and read nothing."""

    async def one() -> None:
        loop = asyncio.get_running_loop()
        while True:
            made = socket.socket()
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            made.settimeout(0)
            with made, suppress(OSError):
                await loop.sock_connect(made, ("127.0.0.1", port))
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PAUSE):  # it blocks where the server reads no more
                        await loop.sock_sendall(made, text.encode())
                while not _is_closed(made):  # noqa: ASYNC110 (nobody tells)
                    await asyncio.sleep(_PAUSE)
            await asyncio.sleep(_PAUSE)

    async def every() -> None:
        await asyncio.gather(*(one() for _ in range(number)))

    asyncio.run(every())


def _is_closed(made: socket.socket) -> bool:
    """Look, without reading, whether the other side has closed a connection."""
    if made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        return True
    try:
        return not made.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def ask(port: int, numbers: Iterator[int], searches: int) -> tuple[list[float], Counter[str]]:
    """Search as an honest client does; return how long each search took, and what came of it."""
    seconds, outcomes = [], Counter[str]()
    for number in range(searches):
        by = ("hybrid", "lexical", "semantic")[number % 3]
        begun = time.perf_counter()
        outcomes[_asked(port, f"/api/v1/search?q=ship+number{next(numbers)}&by={by}")] += 1
        seconds.append(time.perf_counter() - begun)
        time.sleep(0.01)
    return sorted(seconds), outcomes


def _asked(port: int, path: str) -> str:
    try:
        with socket.create_connection(("127.0.0.1", port), _PATIENCE) as made:
            made.sendall(f"GET {path} HTTP/1.1\r\n{_HOST}Connection: close\r\n\r\n".encode())
            pieces = []
            while piece := made.recv(1 << 16):
                pieces.append(piece)
        head, _, body = b"".join(pieces).partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            return f"lost: {head[:40]!r}"
        return "answered" if "hits" in json.loads(body) else "wrong"
    except (OSError, ValueError) as error:
        return f"lost: {type(error).__name__}"


def p95(ordered: list[float]) -> float:
    """Return the time that 95 of 100 did not exceed."""
    return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Do some work in another process until the block ends."""
    child = forked(work)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@contextmanager
def server(*words: str, files: int = 0) -> Iterator[tuple[int, int, Path]]:
    """Serve a small library; give the port, the process, and the file that its log goes to."""
    with scene() as made:
        log = made.folder / "log"
        library, (name, size) = made.copy("served"), _LARGE
        (made.folder / name).write_text("x" * size, encoding="utf-8")
        with lpisearch.open(library) as opened:
            opened.ingest(made.folder / name)
        with serving(library, *words, log=log, files=files) as (process, address):
            port = int(address.rstrip("/").rsplit(":", 1)[1])
            ask(port, count(10**6), 5)
            yield port, process.pid, log


def job_of(port: int) -> str:
    """Start a job whose events can be followed: it waits for a minute; return its id."""
    body = b'{"what": "classify", "options": {}, "categories": {"repeats": 1000}}'
    head = f"POST /api/v1/jobs/evaluate HTTP/1.1\r\n{_HOST}Content-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", port), _PATIENCE) as made:
        made.sendall(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        made.sendall(body)
        pieces = []
        while piece := made.recv(1 << 16):
            pieces.append(piece)
    return str(json.loads(b"".join(pieces).partition(b"\r\n\r\n")[2])["id"])


def beside_kind(
    port: int, kind: str, number: int, searches: int = _SEARCHES
) -> tuple[float, float, Counter[str]]:
    """Return the p95 of an honest client without and with hostile ones, and what came of it."""
    numbers = count()
    text = KINDS[kind](job_of(port) if kind == "open stream" else "")
    quiet, outcomes = ask(port, numbers, searches)
    with beside(lambda: hold(port, text, number)):
        time.sleep(2 * _PAUSE)
        loud, found = ask(port, numbers, searches)
    return p95(quiet), p95(loud), outcomes + found


def run(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Search beside so many clients of each kind."""
    del seed  # nothing is drawn
    found: dict[str, Counter[str]] = {}
    for kind in KINDS:
        if time.monotonic() > until:
            break
        with server(files=600) as (port, _process, log):
            quiet, loud, outcomes = beside_kind(port, kind, 5 * tries, 3 * tries)
            if loud > max(WORST * quiet, _NOISE):
                outcomes["slow"] += 1
            if log.stat().st_size > 1 << 16:
                outcomes["wrong: log"] += 1
            name = (
                f"beside {5 * tries} clients: {kind} (p95 {1000 * quiet:.0f}, {1000 * loud:.0f} ms)"
            )
            found[name] = Counter({one.split(":")[0]: some for one, some in outcomes.items()})
    return found


def main() -> None:
    """Measure each kind, and print a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--files", type=int, default=0, help="that the server may open")
    parser.add_argument("--kind", action="append", choices=list(KINDS), default=[])
    chosen = parser.parse_args()
    write = sys.stdout.write
    write(
        "| beside | p95 alone, ms | p95, ms | times | searches | log, bytes |\n"
        "|---|---:|---:|---:|---|---:|\n"
    )
    for kind in chosen.kind or KINDS:
        with server(files=chosen.files) as (port, _process, log):
            quiet, loud, outcomes = beside_kind(port, kind, chosen.number)
            told = ", ".join(f"{number} {one}" for one, number in sorted(outcomes.items()))
            times = f"{1000 * quiet:.1f} | {1000 * loud:.1f} | {loud / quiet:.1f}"
            write(f"| {chosen.number} × {kind} | {times} | {told} | {log.stat().st_size:,} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
