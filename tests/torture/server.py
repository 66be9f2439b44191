"""A server: hostile connections and bytes, files, folders that are swapped, jobs stopped, kills.

Everything goes to 127.0.0.1. The first kinds are those of `tests.torture.clients`.
`python -m tests.torture.server` prints the p95 of 50 clients beside uploads of hostile files.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import lpisearch
from tests.hostile import write_hostile
from tests.serving import serving
from tests.torture import clients
from tests.torture.kills import scene

_HOSTILE = (
    "sheets.xlsx",
    "nesting.xml",
    "brackets.md",
    "escapes.rtf",
    "cells.xlsx",
    "words-30.txt",
)
_SHARE = 0.05  # of the size of each
_WORDS = (b"GET", b"POST", b" / ", b"HTTP/1.1", b"\r\n", b"\r\n\r\n", b"Host: 127.0.0.1", b": ")
_MORE = (b"Content-Length: ", b"-1", b"99999999999", b"Transfer-Encoding: chunked", b"0\r\n", b"\0")
_LAST = (
    b"Expect: 100-continue",
    b"Upgrade: x",
    b"Connection: close, upgrade",
    b"\xff",
    b"%00",
    b"?",
)
_SECONDS = 90.0


def run(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Try all of it."""
    chance = random.Random(seed)  # noqa: S311 (bytes and moments, not secrets)
    found = clients.run(tries, seed, until)
    for name, part in (
        ("bytes that are no requests", _odd_bytes),
        ("searches beside hostile files", _beside_files),
        ("folders that are swapped", _swapped),
        ("jobs that are stopped", _stopped),
        ("servers killed with a job", _killed),
    ):
        if time.monotonic() < until:
            found[name] = part(tries, chance, until)
    return found


def _odd_bytes(tries: int, chance: random.Random, until: float) -> Counter[str]:
    """Send words of HTTP in any order; then a search must be answered."""
    found: Counter[str] = Counter()
    with clients.server() as (port, _process, log):
        for _ in range(tries):
            if time.monotonic() > until:
                break
            words = chance.choices((*_WORDS, *_MORE, *_LAST), k=chance.randint(1, 30))
            try:
                with socket.create_connection(("127.0.0.1", port), 5) as made:
                    made.sendall(b"".join(words))
                    made.shutdown(socket.SHUT_WR)
                    head = made.recv(1 << 16)[:12]
            except OSError:
                head = b""
            found["wrong" if head.startswith(b"HTTP/1.1 5") else "refused"] += 1
        _seconds, outcomes = clients.ask(port, count(), 3)
        found["lost"] += 3 - outcomes["answered"]
        found["unstated"] += "Traceback" in log.read_text("utf-8", "replace")
    return +found


def _beside_files(tries: int, chance: random.Random, until: float) -> Counter[str]:
    """Search while hostile files are sent to be classified."""
    found: Counter[str] = Counter()
    with (
        clients.server() as (port, _process, _log),
        tempfile.TemporaryDirectory() as folder,
    ):
        for number in range(-(-tries // 20)):
            if time.monotonic() > until:
                break
            name = chance.choice(_HOSTILE)
            content = write_hostile(name, Path(folder), _SHARE).read_bytes()

            def send(name: str = name, content: bytes = content) -> None:
                for _ in range(10):
                    _post(port, f"classify/file?name={name}", content, "application/octet-stream")

            quiet, before = clients.ask(port, count(1000 * number), 20)
            with clients.beside(send), clients.beside(send), clients.beside(send):
                time.sleep(0.3)
                loud, during = clients.ask(port, count(1000 * number + 500), 20)
            found.update({one.split(":")[0]: some for one, some in (before + during).items()})
            found["slow"] += clients.p95(loud) > max(clients.WORST * clients.p95(quiet), 1.0)
    return +found


def beside_uploads(clients_at_once: int = 50) -> tuple[float, float, Counter[str]]:
    """Return the p95 of so many clients that pause, without and with uploads of hostile files."""
    numbers = count()

    def one(port: int, number: int) -> tuple[list[float], Counter[str]]:
        chance = random.Random(number)  # noqa: S311 (pauses, not secrets)
        seconds, outcomes = [], Counter[str]()
        for _ in range(6):
            time.sleep(chance.uniform(0, 20))
            some, found = clients.ask(port, numbers, 1)
            seconds += some
            outcomes += found
        return seconds, outcomes

    def every(port: int) -> tuple[float, Counter[str]]:
        with ThreadPoolExecutor(clients_at_once) as threads:
            found = list(threads.map(partial(one, port), range(clients_at_once)))
        outcomes = sum((some for _, some in found), Counter[str]())
        return clients.p95(sorted(each for seconds, _ in found for each in seconds)), outcomes

    with clients.server() as (port, _process, _log), tempfile.TemporaryDirectory() as folder:
        files = [write_hostile(name, Path(folder), _SHARE) for name in _HOSTILE]

        def send() -> None:
            while True:
                for file in files:
                    path = f"classify/file?name={file.name}"
                    _post(port, path, file.read_bytes(), "application/octet-stream")

        quiet, before = every(port)
        with clients.beside(send), clients.beside(send), clients.beside(send):
            loud, during = every(port)
    return quiet, loud, before + during


def _swapped(tries: int, chance: random.Random, until: float) -> Counter[str]:
    """Turn a folder into a link, at a moment of chance after its ingest was asked for."""
    found: Counter[str] = Counter()
    with scene() as made:
        root, outside = made.folder / "root", made.folder / "outside"
        _fill(outside, "secret")
        library = made.copy("served")
        with serving(library, "--root", str(root), log=made.folder / "log") as (_, address):
            port = int(address.rstrip("/").rsplit(":", 1)[1])
            for number in range(-(-tries // 5)):
                if time.monotonic() > until:
                    break
                own = root / f"own{number}"
                _fill(own, "plain")
                job = _job(port, "ingest", {"paths": [own.name]})
                time.sleep(chance.uniform(0, 0.3))
                own.rename(made.folder / f"moved{number}")
                own.symlink_to(outside)
                found["lost" if not _until_ended(port, job) else "ended"] += 1
        with lpisearch.open(library) as opened:
            found["wrong"] += any("secret" in document.text for document in opened)
    return +found


def _fill(folder: Path, word: str) -> None:
    folder.mkdir(parents=True)
    for number in range(50):
        (folder / f"{number}.txt").write_text(f"{word} ship number {number}", encoding="utf-8")


def _stopped(tries: int, chance: random.Random, until: float) -> Counter[str]:
    """Stop builds at moments of chance; the index is the old or the new one."""
    found: Counter[str] = Counter()
    with scene() as made:
        library = made.copy("served")
        with serving(library, log=made.folder / "log") as (_, address):
            port = int(address.rstrip("/").rsplit(":", 1)[1])
            for number in range(-(-tries // 5)):
                if time.monotonic() > until:
                    break
                job = _job(port, "index", {"options": {"method": "lsi", "dims": 3 + number % 3}})
                time.sleep(chance.uniform(0, 4))
                begun = time.monotonic()
                _request(port, f"jobs/{job}", method="DELETE")
                state = _until_ended(port, job)
                found[state or "lost"] += 1
                found["slow"] += time.monotonic() - begun > 10
                found["lost"] += "hits" not in _request(port, "search?q=ship&by=semantic")
        with lpisearch.open(library) as opened:
            found["unsound"] += any(not one.ok for one in opened.examine())
    return +found


def _killed(tries: int, chance: random.Random, until: float) -> Counter[str]:
    """Kill a server while a job writes; the library is sound, and the next server names the job."""
    found: Counter[str] = Counter()
    with scene() as made:
        library = made.copy("served")
        root = made.folder / "files"
        for number in range(-(-tries // 10)):
            if time.monotonic() > until:
                break
            log = made.folder / f"log{number}"
            with serving(library, "--root", str(root), log=log) as (server, address):
                port = int(address.rstrip("/").rsplit(":", 1)[1])
                kind, body = chance.choice(
                    [("index", {"options": {"method": "lsi", "dims": 3}}), ("ingest", _ALL)]
                )
                job = _job(port, kind, body)
                time.sleep(chance.uniform(0, 3))
                os.kill(server.pid, signal.SIGKILL)
                server.wait()
            time.sleep(0.5)  # what the server started notices
            with lpisearch.open(library) as opened:
                found["unsound"] += any(not one.ok for one in opened.examine())
                opened.ingest(root)  # no lock is left
            with serving(library, log=log) as (_, address):
                port = int(address.rstrip("/").rsplit(":", 1)[1])
                named = {each["id"]: each["state"] for each in _request(port, "jobs")["jobs"]}
                found["kept" if named.get(job) in {"interrupted", "done"} else "lost"] += 1
    return +found


_ALL: dict[str, Any] = {"paths": ["."]}


def _job(port: int, kind: str, body: dict[str, Any]) -> str:
    return str(_post(port, f"jobs/{kind}", json.dumps(body).encode(), "application/json")["id"])


def _post(port: int, path: str, content: bytes, kind: str) -> dict[str, Any]:
    return _request(port, path, content, kind, method="POST")


def _request(
    port: int, path: str, content: bytes | None = None, kind: str = "", *, method: str = "GET"
) -> dict[str, Any]:
    """Return the JSON of an answer, also of a refusal."""
    headers = {"Content-Type": kind} if kind else {}
    url = f"http://127.0.0.1:{port}/api/v1/{path}"
    asked = urllib.request.Request(url, content, headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=_SECONDS) as answer:  # noqa: S310 (our own)
            return dict(json.load(answer))
    except urllib.error.HTTPError as refused:
        with refused:
            return dict(json.load(refused))


def _until_ended(port: int, job: str) -> str:
    """Return the state in which a job ended, or "" if it did not."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        state = str(_request(port, f"jobs/{job}")["state"])
        if state not in {"waiting", "running"}:
            return state
        time.sleep(0.05)
    return ""


def main() -> None:
    """Print the p95 of 50 clients, without and with uploads of hostile files beside them."""
    quiet, loud, outcomes = beside_uploads()
    told = ", ".join(f"{number} {one}" for one, number in sorted(outcomes.items()))
    times = f"{1000 * quiet:.1f} | {1000 * loud:.1f} | {loud / quiet:.1f}"
    sys.stdout.write(
        "| beside | p95 alone, ms | p95, ms | times | searches |\n|---|---:|---:|---:|---|\n"
        f"| uploads of hostile files | {times} | {told} |\n"
    )


if __name__ == "__main__":
    main()
