"""What an assistant waits for and pays: start, definitions, answers, memory, next to bm25s.

Run `python -m benchmarks.assistants [FOLDER]`: the documents of a folder, or the sample corpus.
Both servers run on standard input and answer the same queries, five results each. A token is four
characters. Tokens of definitions are those of the whole answer to tools/list; tokens of an answer
are those of its text, one of its two equal forms, of which a model is shown one.

The environment of bm25s is made in a temporary folder; where it cannot be, the reason is printed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lpisearch
from benchmarks import arguments
from lpisearch.agents.calls import INSTRUCTIONS, answer_text
from lpisearch.location import shipped_folder
from lpisearch.model.excerpts import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

STARTS, WARM, MANY = 7, 200, 5000
QUERIES = (
    "why does my bread stay flat",
    "chain slips on the smallest sprocket",
    "rings of a planet seen edge on",
    "letter from a ship at anchor",
    "how to prune an old apple tree",
    "night train through the mountains",
    "tuning a violin",
    "tablets against high blood pressure",
)
OPENING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class Server:
    """A server on standard input, asked one request at a time."""

    def __init__(self, command: list[str]) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True, **pipes)
        self._number = 0

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a request; lines that are no JSON are passed over."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None  # noqa: S101 (a pipe)
        for line in self.process.stdout:
            if line.startswith("{") and (answer := json.loads(line)).get("id") == self._number:
                return answer["result"]
        raise SystemExit(f"{method}: the server ended")

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        assert self.process.stdin is not None  # noqa: S101 (a pipe)
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def text(self, tool: str, **values: Any) -> str:
        """Return the text that a tool answers."""
        content = self.ask("tools/call", name=tool, arguments=values)["content"]
        return "".join(part["text"] for part in content)

    def megabytes(self) -> float:
        """Return the memory that the process holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1000

    def processor_seconds(self) -> float:
        """Return the processor time of the process."""
        ticks = Path(f"/proc/{self.process.pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
        return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def started(command: list[str]) -> Iterator[Server]:
    """Start a server and open the protocol."""
    server = Server(command)
    try:
        server.ask("initialize", **OPENING)
        server.send({"method": "notifications/initialized"})
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def measure(command: list[str], tool: str) -> dict[str, Any]:
    """Return what the table shows of a server."""
    opened, first, processor = [], [], []
    for _ in range(STARTS):
        begun = time.perf_counter()
        with started(command) as server:
            opened.append(time.perf_counter() - begun)
            processor.append(server.processor_seconds())
            server.text(tool, query=QUERIES[0], k=5)
            first.append(time.perf_counter() - begun)
    with started(command) as server:
        definitions = server.ask("tools/list")["tools"]
        answers = [server.text(tool, query=query, k=5) for query in QUERIES]
        warm, before = [], server.processor_seconds()
        for at in range(WARM):
            begun = time.perf_counter()
            server.text(tool, query=QUERIES[at % len(QUERIES)], k=5)
            warm.append(time.perf_counter() - begun)
        each = (server.processor_seconds() - before) / WARM
    return {
        "start to initialize, best": f"{min(opened):.2f} s",
        "of which processor": f"{min(processor):.2f} s",
        "start to first answer, best": f"{min(first):.2f} s",
        "tools": len(definitions),
        "tokens of definitions": -(-len(answer_text(definitions)) // TOKEN),
        "tokens of a five-hit answer, median": _tokens(statistics.median(map(len, answers))),
        "tokens of a five-hit answer, most": _tokens(max(map(len, answers))),
        "warm call, p50": f"{statistics.median(warm) * 1000:.1f} ms",
        "warm call, processor": f"{each * 1000:.1f} ms",
    }


def _tokens(characters: float) -> int:
    return -(-int(characters) // TOKEN)


def growth(command: list[str]) -> str:
    """Return the memory after a tenth of many calls of all tools, and after all of them."""
    with started(command) as server:
        name = json.loads(server.text("search", query=QUERIES[0]))["results"][0]["id"]
        calls: list[tuple[str, dict[str, Any]]] = [
            *(("search", {"query": query}) for query in QUERIES),
            ("fetch", {"id": name}),
            ("similar", {"id": name}),
            ("overview", {}),
            ("classify", {"text": QUERIES[1]}),
            ("search", {"query": "a", "label": "none"}),
        ]
        held = []
        for at in range(MANY):
            tool, values = calls[at % len(calls)]
            server.text(tool, **values)
            if at in {MANY // 10, MANY - 1}:
                held.append(server.megabytes())
    return f"{held[0]:.0f} MB after {MANY // 10:,} calls, {held[1]:.0f} MB after {MANY:,}"


def main() -> None:
    """Measure and print."""
    given = arguments.paths(__doc__, "FOLDER")
    documents = given[0] if given else shipped_folder("sample_corpus") / "documents"
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library.db"
        with lpisearch.open(library) as opened:
            opened.ingest(documents, labels="folder")
            opened.index()
            texts = [json.dumps(one.text) for one in opened]
        command = [sys.executable, "-m", "lpisearch", "mcp", "--db", str(library)]
        columns = {"lpisearch": measure(command, "search")}
        try:
            columns["bm25s"] = measure(_peer(Path(folder), texts), "retrieve")
        except (subprocess.CalledProcessError, OSError, SystemExit) as error:
            print(f"bm25s: left out, {error}")
        print(f"{len(texts):,} documents; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        print(f"{'':38}{''.join(f'{name:>14}' for name in columns)}")
        for row in columns["lpisearch"]:
            print(f"{row:38}{''.join(f'{each[row]!s:>14}' for each in columns.values())}")
        print(f"tokens of the instructions            {_tokens(len(INSTRUCTIONS)):>14}")
        print(f"memory of lpisearch: {growth(command)}")


_BUILD = """
import bm25s, json, sys
texts = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
index = bm25s.BM25()
index.index(bm25s.tokenize(texts))
index.save(sys.argv[2], corpus=texts)
"""


def _peer(folder: Path, texts: list[str]) -> list[str]:
    """Return the command of bm25s's server over the same texts, in an environment of its own."""
    venv.create(folder / "peer", with_pip=True)
    programs, lines = folder / "peer" / "bin", folder / "texts.jsonl"
    python, made = str(programs / "python"), str(folder / "bm25")
    install = [python, "-m", "pip", "install", "--quiet", "bm25s[mcp]", "mcp<2", "PyStemmer"]
    subprocess.run(install, check=True, capture_output=True)
    lines.write_text("\n".join(texts), encoding="utf-8")
    subprocess.run([python, "-c", _BUILD, str(lines), made], check=True, capture_output=True)
    return [str(programs / "bm25"), "mcp", "launch", "-d", made]


if __name__ == "__main__":
    main()
