"""A server, and a library, of someone who wants to do harm: stated errors, and always an end.

The server passes requests on to a real one and spoils its answers; the library has a schema that
computes, and index files that are pipes, devices, links, or not what they were.
"""

import gzip
import json
import os
import random
import shutil
import signal
import socketserver
import sqlite3
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import lpisearch
from lpisearch.errors import LpiSearchError
from lpisearch.storage.tables import METADATA
from tests.serving import served
from tests.torture.fuzz import VALUES, spoilt
from tests.torture.kills import scene
from tests.torture.scene import Scene, forked

_SECONDS = 1.0  # for a whole answer
_MOST_SECONDS = 20.0  # of a try
_AT_LAST = 300.0  # on a busy machine
_PAGE = b"<!DOCTYPE html><title>Sign in</title><p>Welcome"
_ENTIRE = (b"[]", b"null", b"{}", b"0", b'""', b"", b"NaN", b"1e999", b"[" * 100_000, _PAGE,
           b"\xff\xfe{}", b'{"a": ' * 5_000, b"[" + b"1," * 100_000 + b"1]")  # fmt: skip
_ODD: tuple[Any, ...] = (*VALUES, None, True, -1, 2**70, 1e308, [], {}, [[]], [None], {"": 0})


def server(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Ask a server whose answers are spoilt; return what the client made of them, by kind."""
    chance = random.Random(seed)  # noqa: S311 (faults, not secrets)
    counts = {kind: Counter[str]() for kind in _ANSWERS}
    with scene() as made, lpisearch.open(made.folder / "library.db") as library, served(
        library
    ) as url, _between(url, chance) as (address, kinds):  # fmt: skip
        for number in range(tries):
            if time.monotonic() > until:
                break
            kinds[:] = [kind := chance.choice(sorted(_ANSWERS))]
            outcome = _asked(address, chance)
            counts[kind][outcome.split(":")[0]] += 1
            if ":" in outcome:
                print(f"{kind} {seed}, try {number}: {outcome}")  # noqa: T201 (a person watches)
    return counts


def _asked(address: str, chance: random.Random) -> str:
    begun = time.monotonic()
    outcome = "answered"
    try:
        with lpisearch.connect(address, seconds=_SECONDS) as client:
            chance.choice(_QUESTIONS)(client)
    except LpiSearchError as error:
        outcome = "stated" if str(error).strip() else "unstated: it says nothing"
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
        outcome = f"unstated: {type(error).__name__}: {error}"
    seconds = time.monotonic() - begun
    return outcome if seconds < _MOST_SECONDS else f"slow: {seconds:.0f} s"


_QUESTIONS: tuple[Callable[[Any], object], ...] = (
    len,
    lambda library: library.search("ship"),
    lambda library: library.search("bread", by="lexical", k=3, explain=True),
    lambda library: library.similar("sea/1.txt"),
    lambda library: library.batch([("q", "ship")]),
    lambda library: library.document("sea/1.txt"),
    lambda library: library.facets(),
    lambda library: library.vectors(),
    lambda library: library.classify("ship and harbour"),
    lambda library: library.topics(),
    lambda library: library.map(),
    lambda library: list(library.entries()),
    lambda library: library.listing(),
    lambda library: library.names("labels"),
    lambda library: library.predicted("sea/1.txt"),
    lambda library: library.traits("sea/1.txt"),
    lambda library: library.status(),
    lambda library: library.state(),
    lambda library: library.writer(),
    lambda library: library.examine(),
    lambda library: library.jobs(),
    lambda library: library.plan(),
)


@contextmanager
def _between(url: str, chance: random.Random) -> Iterator[tuple[str, list[str]]]:
    """Serve the answers of another server, spoilt in the way that the list names."""
    kinds: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError, ValueError):
                words = self.rfile.readline().split()
                size = 0
                while line := self.rfile.readline().strip():
                    name, _, value = line.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                body = self.rfile.read(size) if size else None
                status, content = _real(url, words, body)
                _ANSWERS[kinds[0]](cast("BinaryIO", self.wfile), status, content, chance)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, block_on_close, request_queue_size = True, False, 64

    with Server(("127.0.0.1", 0), Handler) as hostile:
        threading.Thread(target=hostile.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{hostile.server_address[1]}", kinds
        hostile.shutdown()


def _real(url: str, words: list[bytes], body: bytes | None) -> tuple[int, bytes]:
    method, path = words[0].decode(), words[1].decode()
    headers = {"Content-Type": "application/json", "Connection": "close"}
    request = urllib.request.Request(f"{url}{path}", body, headers, method=method)  # noqa: S310 (our own)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 (our own)
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def _send(out: BinaryIO, status: int, content: bytes, *headers: bytes) -> None:
    length = b"Content-Length: %d" % len(content)
    head = b"\r\n".join((b"HTTP/1.1 %d So" % status, *(headers or (length,)), b"", b""))
    out.write(head + content)


def _cut(out: BinaryIO, status: int, content: bytes, chance: random.Random) -> None:
    begun = content[: chance.randrange(len(content) + 1)]
    _send(out, status, begun, b"Content-Length: %d" % (len(content) + 1))


def _drip(out: BinaryIO, status: int, content: bytes, _chance: random.Random) -> None:
    _send(out, status, b"", b"Content-Length: %d" % (len(content) + 100_000))
    for byte in content + b" " * 1_000:
        out.write(bytes([byte]))
        out.flush()
        time.sleep(0.05)


def _endless(out: BinaryIO, status: int, content: bytes, chance: random.Random) -> None:
    begun = b'{"documents": [' if chance.random() < 0.5 else content[:-1]
    _send(out, status, begun, b"Connection: close")
    while True:
        out.write(b" 1," * 100_000)


def _headers(out: BinaryIO, status: int, content: bytes, chance: random.Random) -> None:
    odd = [b"X: " + b"a" * 100_000, b"Transfer-Encoding: chunked", b"Content-Length: -1",
           b"Content-Length: 99999999999999999999", b"Content-Length: x", b"no header",
           b"Content-Encoding: gzip", b"Location: http://127.0.0.1:1/", b"\xff: \xff",
           b"Content-Length: 0", b"X: y\r\n" * 300]  # fmt: skip
    _send(out, chance.choice([status, 204, 301, 307, 100, 0, 999]), content, *chance.sample(odd, 2))


def _members(data: bytes, chance: random.Random) -> bytes:
    """Replace some values of JSON, wherever they are."""
    try:
        values = json.loads(data)
    except ValueError:
        return data
    for _ in range(chance.randint(1, 4)):
        at: Any = values
        while isinstance(at, dict | list) and at:
            key: Any = chance.choice(sorted(at) if isinstance(at, dict) else range(len(at)))
            inner = at[key]
            if not isinstance(inner, dict | list) or not inner or chance.random() < 0.3:
                if isinstance(at, dict) and chance.random() < 0.3:
                    del at[key]
                else:
                    at[key] = chance.choice(_ODD)
                break
            at = inner
    return json.dumps(values).encode()


_ANSWERS: dict[str, Callable[[BinaryIO, int, bytes, random.Random], None]] = {
    "as it is": lambda out, status, data, _: _send(out, status, data),
    "another value": lambda out, status, _, chance: _send(out, status, chance.choice(_ENTIRE)),
    "other members": lambda out, status, data, chance: _send(out, status, _members(data, chance)),
    "bytes": lambda out, status, data, chance: _send(out, status, spoilt(data, chance)),
    "cut": _cut,
    "status": lambda out, _, data, chance: _send(out, chance.choice([400, 401, 404, 409, 500, 503]),
                                                 chance.choice([data, b"{}", b"[]", _PAGE])),
    "headers": _headers,
    "packed": lambda out, status, data, _: _send(out, status, gzip.compress(data),
                                                 b"Content-Encoding: gzip", b"Connection: close"),
    "nothing": lambda _out, _status, _data, chance: time.sleep(chance.choice([0, 3])),
    "drip": _drip,
    "endless": _endless,
}  # fmt: skip


def library(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Open libraries of a stranger; return what became of questions, by kind of harm."""
    chance = random.Random(seed)  # noqa: S311 (faults, not secrets)
    counts = {kind: Counter[str]() for kind in (*_SCHEMAS, *_FILES)}
    with scene() as made:
        for number in range(tries):
            if time.monotonic() > until:
                break
            kind = chance.choice(sorted(counts))
            outcome = _opened(made, kind, chance)
            counts[kind][outcome.split(":")[0]] += 1
            if ":" in outcome:
                print(f"{kind} {seed}, try {number}: {outcome}")  # noqa: T201 (a person watches)
    return counts


def _opened(made: Scene, kind: str, chance: random.Random) -> str:
    path = made.copy("tried")
    if kind in _SCHEMAS:
        _alter(path, kind, chance)
    else:
        (index,) = (one for one in path.with_name("library.index").iterdir() if one.is_dir())
        names = sorted(one.name for one in index.iterdir())
        _FILES[kind](index / chance.choice([*names, "manifest.json", "verified.json"]), chance)
    question = chance.choice([*_OF_OWNER, *(lambda path=path, ask=ask: _ask(path, ask)
                                            for ask in _QUESTIONS[:8])])  # fmt: skip
    child = forked(lambda: question(path))
    deadline = time.monotonic() + _AT_LAST
    while (ended := os.wait4(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"slow: more than {_AT_LAST:.0f} s"
        time.sleep(0.005)
    if (spent := ended[2].ru_utime + ended[2].ru_stime) > _MOST_SECONDS:
        return f"slow: {spent:.0f} s of the processor"
    status = os.waitstatus_to_exitcode(ended[1])
    return {0: "answered", 3: "stated"}.get(status, f"unstated: status {status}")


def _ask(path: Path, question: Callable[[Any], object]) -> object:
    with lpisearch.open(path) as opened:
        return question(opened)


def _examined(path: Path) -> None:
    with lpisearch.open(path) as opened:
        json.dumps([[one.check, one.ok, str(one.detail)] for one in opened.examine()])


_OF_OWNER: tuple[Callable[[Path], object], ...] = (
    _examined,
    lambda path: _ask(path, lambda opened: opened.status()),
    lambda path: _ask(path, lambda opened: opened.index("lsi", dims=2)),
    lambda path: _ask(path, lambda opened: opened.delete("sea/1.txt")),
)
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
_SCHEMAS = {
    "view": "ALTER TABLE {table} RENAME TO others; "
            "CREATE VIEW {table} AS {endless} {columns} FROM n",
    "trigger": "CREATE TRIGGER t{n} {when} ON {table} BEGIN "
               "INSERT INTO settings {endless} i, i, i FROM n; END",
    "generated column": "ALTER TABLE {table} ADD COLUMN x{n} "
                        "GENERATED ALWAYS AS (hex(zeroblob(900000000)))",
    "index": "CREATE INDEX i{n} ON {table} ({column}) WHERE length(hex(zeroblob(100000000))) > 1",
    "virtual table": "DROP TABLE {table}; CREATE VIRTUAL TABLE {table} USING fts5({names})",
    "default": "ALTER TABLE {table} ADD COLUMN y{n} DEFAULT (hex(zeroblob(900000000)))",
    "missing": "DROP TABLE {table}",
    "renamed": "ALTER TABLE {table} RENAME COLUMN {column} TO z{n}",
}  # fmt: skip


def _alter(path: Path, kind: str, chance: random.Random) -> None:
    table = chance.choice([*METADATA.tables, "alembic_version"])
    with closing(sqlite3.connect(path)) as connection:
        connection.create_function("lpisearch_checksum", -1, lambda *_: b"")
        connection.execute("PRAGMA foreign_keys = OFF")
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        facts = {
            "table": table,
            "endless": _ENDLESS,
            "columns": ", ".join(f"i AS {name}" for name in names),
            "names": ", ".join(names),
            "column": chance.choice(names),
            "when": chance.choice(["AFTER INSERT", "AFTER DELETE", "BEFORE UPDATE"]),
            "n": chance.randrange(1000),
        }
        with suppress(sqlite3.OperationalError):  # a table that no other may change
            connection.executescript(_SCHEMAS[kind].format(**facts))
        connection.commit()


def _replaced(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink(missing_ok=True)
    make(path)


def _spoilt(path: Path, chance: random.Random) -> None:
    path.write_bytes(spoilt(path.read_bytes(), chance))


_FILES: dict[str, Callable[[Path, random.Random], None]] = {
    "pipe": lambda path, _: _replaced(path, os.mkfifo),
    "endless device": lambda path, _: _replaced(path, lambda it: it.symlink_to("/dev/zero")),
    "terminal": lambda path, _: _replaced(path, lambda it: it.symlink_to("/dev/tty")),
    "link to itself": lambda path, _: _replaced(path, lambda it: it.symlink_to(it)),
    "folder": lambda path, _: _replaced(path, Path.mkdir),
    "large": lambda path, _: os.truncate(path, 1 << 40),
    "spoilt": _spoilt,
    "folder is a link": lambda path, _: _replaced_folder(path.parent),
}


def _replaced_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(tempfile.gettempdir())
