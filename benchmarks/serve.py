"""The server under load: 50 clients at once on 20,000 documents, a writer, and its memory.

`python benchmarks/serve.py` takes the first 20,000 documents of ../shared/data/reuters21578 (or
`--library FILE`, a library that is there), serves them with `lpisearch serve`, and asks. A bare
Starlette route that answers as many bytes at once is asked by the same clients in the same run: it
says what the machine, Uvicorn and the clients themselves take. `--write` puts the tables into
docs/serving.md; `--only scale` makes the second one alone.

The second table has the same library served by one process, by two (`--workers 2`), and by three
servers of a copy of it in PostgreSQL, of which the clients ask one after the other, as behind a
proxy; and the memory that a further worker has for itself. All are asked in turn, in rounds.

A question is some words of a document, with facets. Clients ask one after the other without a
pause, or think in between, ten seconds on average. Questions are new, each asked for the first
time; or repeated: drawn from 200 that were asked before, the second half as often as the first, the
third a third as often (Zipf's law). The writer ingests a file every two seconds in another process.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import lpisearch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_ROOT = Path(__file__).parents[1]
_DATA = _ROOT.parent / "shared" / "data" / "reuters21578" / "docs.jsonl.gz"
_PAGE = _ROOT / "docs" / "serving.md"
_MARKS = {
    "load": ("<!-- load: printed by benchmarks/serve.py -->", "<!-- end of load -->"),
    "scale": ("<!-- scale: printed by benchmarks/serve.py -->", "<!-- end of scale -->"),
}
_ROUNDS = 3
DOCUMENTS, CLIENTS, QUESTIONS, REQUESTS = 20_000, 50, 200, 10_000
_BARE_BYTES = 12_000
_THINKS = 10.0  # seconds between two questions, on average


@dataclass
class Load:
    """What clients saw."""

    name: str
    seconds: list[float] = field(default_factory=list)  # how long each answer took
    errors: int = 0  # answers of another status than 200, and connections that broke
    lasted: float = 0.0

    def quantile(self, share: float) -> float:
        """Return the time that a share of the answers did not exceed, in milliseconds."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Questions:
    """Draws questions from the texts of documents."""

    def __init__(self, library: Path) -> None:
        chance = random.Random(0)  # noqa: S311 (questions, not secrets)
        with lpisearch.open(library) as opened:
            keys = chance.sample([entry.id for entry in opened.entries()], 400)
            texts = [opened.document(key).text for key in keys]
        self._words = [re.findall(r"[A-Za-z]{3,}", text) for text in texts]
        self._words = [words for words in self._words if len(words) > 5]
        self._chance = chance
        self._known = [self.new() for _ in range(QUESTIONS)]
        self._weights = [1 / rank for rank in range(1, QUESTIONS + 1)]

    def new(self) -> str:
        """Return a question that nobody has asked."""
        words = self._chance.choice(self._words)
        some = self._chance.sample(words, self._chance.randint(2, 5))
        return f"/api/v1/search?k=10&facets=true&q={quote(' '.join(some))}"

    def repeated(self) -> str:
        """Return one of those that people ask."""
        return self._chance.choices(self._known, self._weights)[0]

    def known(self) -> Callable[[], str]:
        """Return what gives each of those once, and then the first again."""
        left = iter(self._known)
        return lambda: next(left, self._known[0])


async def _client(
    port: int, question: Callable[[], str], load: Load, until: float, *, thinks: bool
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    chance = random.Random(id(reader))  # noqa: S311 (pauses, not secrets)
    try:
        while time.perf_counter() < until:
            if thinks:
                await asyncio.sleep(chance.uniform(0, 2 * _THINKS))
                writer.close()  # the server gives up on a connection that is idle for long
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            begun = time.perf_counter()
            writer.write(f"GET {question()} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            size = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            await reader.readexactly(int(size[1]) if size else 0)
            load.seconds.append(time.perf_counter() - begun)
            load.errors += not head.startswith(b"HTTP/1.1 200")
    except (OSError, asyncio.IncompleteReadError):
        load.errors += 1
    finally:
        writer.close()


def asked(
    name: str,
    ports: Sequence[int],
    question: Callable[[], str],
    *,
    clients: int,
    seconds: float,
    thinks: bool = False,
) -> Load:
    """Let clients ask for some seconds."""

    async def all_of_them() -> None:
        until = time.perf_counter() + seconds
        several = cycle(ports)
        every = [
            _client(next(several), question, load, until, thinks=thinks) for _ in range(clients)
        ]
        await asyncio.gather(*every)

    load, begun = Load(name), time.perf_counter()
    asyncio.run(all_of_them())
    load.lasted = time.perf_counter() - begun
    print(_row(load), flush=True)
    return load


@contextmanager
def serving(*command: str) -> Iterator[tuple[int, int]]:
    """Start a server; give its port and its process."""
    server = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None  # noqa: S101 (a pipe)
        for line in server.stderr:
            found = re.search(r"http://[^/]*:(\d+)/", line)
            if found:
                break
        else:
            raise SystemExit("the server did not start")
        yield int(found[1]), server.pid
    finally:
        server.terminate()
        server.communicate()


def bare() -> None:
    """Serve one route that does nothing."""
    import socket

    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    content = b"x" * _BARE_BYTES
    app = Starlette(routes=[Route("/{any:path}", lambda _request: Response(content))])
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:  # without it asyncio delays answers
        listening.bind(("127.0.0.1", 0))
        listening.listen(256)
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/", file=sys.stderr, flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


@contextmanager
def writing(library: Path, folder: Path) -> Iterator[list[int]]:
    """Ingest new documents in another process, batch after batch, during the queries."""
    written = [0]
    script = (
        "import sys, time, lpisearch\n"
        "from pathlib import Path\n"
        "library, folder = lpisearch.open(sys.argv[1]), Path(sys.argv[2])\n"
        "for number in range(10**6):\n"
        "    file = folder / f'more-{number}.txt'\n"
        "    file.write_text(f'a new document number {number} about oil and grain prices')\n"
        "    library.ingest(file)\n"
        "    print(number, flush=True)\n"
        "    time.sleep(2)\n"
    )
    command = [sys.executable, "-c", script, str(library), str(folder)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout is not None  # noqa: S101 (a pipe)
        writer.stdout.readline()
        yield written
    finally:
        writer.terminate()
        said, _ = writer.communicate()
        written[0] = len(said.split()) + 1


def resident(process: int) -> float:
    """Return how much memory a process holds, in megabytes."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1000 if found else 0.0


def memory(port: int, process: int, questions: Questions) -> list[float]:
    """Return the memory after each fifth of so many requests, by ten clients."""
    found = [resident(process)]
    for _ in range(5):
        left = count(1)

        async def some(left: Iterator[int] = left) -> None:
            async def one() -> None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                while next(left) <= REQUESTS // 5:
                    question = questions.repeated()
                    writer.write(f"GET {question} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                    head = await reader.readuntil(b"\r\n\r\n")
                    size = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                    await reader.readexactly(int(size[1]) if size else 0)
                writer.close()

            await asyncio.gather(*(one() for _ in range(10)))

        asyncio.run(some())
        found.append(resident(process))
    return found


def _row(load: Load) -> str:
    rate = len(load.seconds) / load.lasted
    times = " | ".join(f"{load.quantile(share):,.1f}" for share in (0.5, 0.95, 0.99))
    return f"| {load.name} | {len(load.seconds):,} | {rate:,.0f} | {times} | {load.errors} |"


def table(library: Path, loads: list[Load], grown: list[float], written: int) -> str:
    """Return what was found, as Markdown."""
    one = loads[0].quantile(0.5)
    lines = [
        _circumstances(library),
        "",
        "| | answers | a second | p50 | p95 | p99 | errors |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *map(_row, loads),
        "",
        "p95 beside the p50 of one client with new questions: "
        + "; ".join(f"{load.name} {load.quantile(0.95) / one:.1f} ×" for load in loads[1:-2])
        + f". The writer ingested {written:,} files beside the last of these.",
        "",
        f"Memory of the server over {REQUESTS:,} more requests, in MB after each fifth: "
        + ", ".join(f"{each:,.0f}" for each in grown)
        + ".",
    ]
    return "\n".join(lines)


def _circumstances(library: Path) -> str:
    load = os.getloadavg()[0]
    with lpisearch.open(library) as opened:
        documents = len(opened)
    return (
        f"{documents:,} documents, {os.cpu_count()} cores, a load average of {load:.0f} at the "
        "end; milliseconds."
    )


def _library(folder: Path) -> Path:
    library = folder / "reuters.db"
    with gzip.open(_DATA, "rt", encoding="utf-8") as stream:
        lines = [line for _, line in zip(range(DOCUMENTS), stream, strict=False)]
    (folder / "docs.jsonl").write_text("".join(lines), encoding="utf-8")
    with lpisearch.open(library) as opened:
        opened.ingest(folder / "docs.jsonl")
        opened.index()
    return library


def measured(library: Path, folder: Path, seconds: float) -> str:
    """Ask and return the table."""
    questions = Questions(library)
    command = ("-m", "lpisearch", "--db", str(library), "serve", "--port", "0")
    loads: list[Load] = []

    def ask(
        name: str, question: Callable[[], str], clients: int = CLIENTS, *, thinks: bool = False
    ) -> None:
        lasts = seconds if clients > 1 else seconds / 2
        seen = asked(name, [port], question, clients=clients, seconds=lasts, thinks=thinks)
        loads.append(seen)

    with serving(*command) as (port, process):
        asked("(to warm up)", [port], questions.new, clients=2, seconds=3)
        ask("one client, new", questions.new, 1)
        ask("50 that think, new", questions.new, thinks=True)
        asked("(each asked once)", [port], questions.known(), clients=4, seconds=seconds)
        ask("50 without a pause, repeated", questions.repeated)
        ask("50 without a pause, new", questions.new)
        with writing(library, folder):
            ask("50 that think, new, a writer beside", questions.new, thinks=True)
        with writing(library, folder) as written:
            ask("50 without a pause, new, a writer beside", questions.new)
        grown = memory(port, process, questions)
    with serving(__file__, "--bare") as (port, _):
        ask("a bare Starlette route, one client", questions.new, 1)
        ask("a bare Starlette route, 50 without a pause", questions.new)
    return table(library, loads, grown, written[0])


def private(process: int) -> float:
    """Return the memory that a process shares with no other, in megabytes."""
    rows = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    kilobytes = re.findall(r"Private_(?:Clean|Dirty):\s+(\d+) kB", rows)
    return sum(map(int, kilobytes)) / 1000


def workers_of(process: int) -> list[int]:
    """Return the worker processes of a server."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(pid) for each in lists for pid in each.read_text(encoding="ascii").split()]


def scaled(library: Path, folder: Path, seconds: float) -> str:
    """Ask one process, two, and three servers of one database; return the table."""
    sys.path.insert(0, str(_ROOT))
    from tests.servers import programs_of, running

    questions, loads = Questions(library), dict[str, list[Load]]()
    with ExitStack() as stack:
        server = stack.enter_context(running(programs_of(), durable=True))
        address = server.address().url
        records = folder / "copy.jsonl"
        with lpisearch.open(library) as opened, records.open("w", encoding="utf-8") as file:
            for one in opened:
                record = {"id": one.id, "title": one.title, "text": one.text}
                file.write(f"{json.dumps(record)}\n")
        with lpisearch.open(address) as copy:
            copy.ingest(records)
            copy.index()
        kinds = {
            "one process": (str(library), 1, ()),
            "two workers": (str(library), 1, ("--workers", "2")),
            "one server, PostgreSQL": (address, 1, ()),
            "three servers, PostgreSQL": (address, 3, ()),
        }
        served = {
            name: [
                stack.enter_context(
                    serving("-m", "lpisearch", "--db", place, "serve", "--port", "0", *more)
                )
                for _ in range(number)
            ]
            for name, (place, number, more) in kinds.items()
        }
        for name, some in served.items():
            asked(f"({name}, to warm up)", [port for port, _ in some], questions.new, clients=8,
                  seconds=8)  # fmt: skip
        for _ in range(_ROUNDS):
            for name, some in served.items():
                ports = [port for port, _ in some]
                load = asked(name, ports, questions.new, clients=CLIENTS, seconds=seconds)
                loads.setdefault(name, []).append(load)
        memory_each = [private(pid) for pid in workers_of(served["two workers"][0][1])]
        alone = private(served["one process"][0][1])
    rows = {name: _joined(name, some) for name, some in loads.items()}
    rates = {name: len(load.seconds) / load.lasted for name, load in rows.items()}
    workers = rates["two workers"] / rates["one process"]
    servers = rates["three servers, PostgreSQL"] / rates["one server, PostgreSQL"]
    head = "50 clients without a pause, new questions"
    lines = [
        _circumstances(library),
        "",
        f"| {head} | answers | a second | p50 | p95 | p99 | errors |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *map(_row, rows.values()),
        "",
    ]
    found = (
        f"Two workers gave {workers:.2f} × the answers of one process, three servers "
        f"{servers:.2f} × those of one, over {_ROUNDS} rounds in turn. A worker has "
        f"{max(memory_each):,.0f} MB that no other process shares, a server of one process "
        f"{alone:,.0f} MB."
    )
    return "\n".join([*lines, found])


def _joined(name: str, loads: list[Load]) -> Load:
    whole = Load(name, errors=sum(load.errors for load in loads))
    whole.seconds = [each for load in loads for each in load.seconds]
    whole.lasted = sum(load.lasted for load in loads)
    return whole


def write(part: str, found: str) -> None:
    """Put a table into the page."""
    first, last = _MARKS[part]
    text = _PAGE.read_text(encoding="utf-8")
    before, rest = text.split(first)
    _, after = rest.split(last)
    _PAGE.write_text(f"{before}{first}\n{found}\n{last}{after}", encoding="utf-8")


def main() -> None:
    """Measure, print, and write if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="one that is there, and has an index")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--only", choices=sorted(_MARKS), help="one of the tables")
    parser.add_argument("--write", action="store_true", help="into docs/serving.md")
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.bare:
        bare()
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = chosen.library or _library(folder)
        for part, measure in (("load", measured), ("scale", scaled)):
            if chosen.only in {None, part}:
                found = measure(library, folder, chosen.seconds)
                print(found)
                if chosen.write:
                    write(part, found)


if __name__ == "__main__":
    main()
