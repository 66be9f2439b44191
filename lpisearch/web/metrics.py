"""Health, readiness, and measurements in the text form of Prometheus.

Each worker counts in a row of memory that all of them share, so that whichever answers a request to
`/metrics` states the sum, and a worker that replaces another counts on. No measurement contains a
path, an address, a query or a token.
"""

from __future__ import annotations

import mmap
import os
import time
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import PlainTextResponse, Response

from lpisearch import __version__
from lpisearch.errors import LibraryNotFound, LibraryTooNew, LpiSearchError
from lpisearch.web.jobs import STATES
from lpisearch.web.problems import HEALTH, METRICS, READY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lpisearch.web.state import WebState


_READY = "ready"  # of an index
_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_KINDS = ("search", "api", "page", "static", "assistant", "probe", "events")
_STATUSES = (
    *(200, 201, 202, 204, 303, 304, 400, 401, 403, 404, 405, 409, 413, 415, 421, 422, 429),
    *(500, 501, 503, 507),
    0,  # any other
)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_FACTS = ("pid", "connections", "cpu_seconds", "restarts")
_FACT_CELLS = {name: number for number, name in enumerate(_FACTS)}
_CODE_CELLS = {
    (kind, status): len(_FACTS) + number
    for number, (kind, status) in enumerate((k, s) for k in _KINDS for s in _STATUSES)
}
_BUCKETS = len(_SECONDS) + 2  # the last two: longer than all bounds, and the sum of seconds
_TIME_CELLS = {
    kind: len(_FACTS) + len(_CODE_CELLS) + number * _BUCKETS for number, kind in enumerate(_KINDS)
}
_WIDTH = len(_FACTS) + len(_CODE_CELLS) + len(_KINDS) * _BUCKETS


class Metrics:
    """Counts of the requests to a server, a row for each worker, which alone writes to it."""

    def __init__(self, workers: int = 1) -> None:
        self._rows = workers
        self._memory = mmap.mmap(-1, workers * _WIDTH * 8)
        self._cells = memoryview(self._memory).cast("d")

    def add(self, worker: int, scope: Scope, status: int, seconds: float) -> None:
        """Count a response that began after so many seconds."""
        first, kind = worker * _WIDTH, _kind(scope["path"])
        known = status if (kind, status) in _CODE_CELLS else 0
        self._cells[first + _CODE_CELLS[kind, known]] += 1
        number = next((n for n, most in enumerate(_SECONDS) if seconds <= most), len(_SECONDS))
        self._cells[first + _TIME_CELLS[kind] + number] += 1
        self._cells[first + _TIME_CELLS[kind] + _BUCKETS - 1] += seconds

    def note(self, worker: int, connections: int) -> None:
        """Note what a worker has in use."""
        self._set(worker, "pid", os.getpid())
        if connections:  # none are those of another library's application
            self._set(worker, "connections", connections)
        self._set(worker, "cpu_seconds", time.process_time())

    def note_restart(self, worker: int) -> None:
        """Count a worker that has died."""
        self._cells[worker * _WIDTH + _FACT_CELLS["restarts"]] += 1

    def _set(self, worker: int, name: str, value: float) -> None:
        self._cells[worker * _WIDTH + _FACT_CELLS[name]] = value

    def samples(self) -> Iterator[Sample]:
        """Yield the measurements of requests and workers."""
        requests = {key: self._sum(cell) for key, cell in _CODE_CELLS.items()}
        yield from (
            Sample("requests_total", number, {"kind": kind, "code": str(status or "other")})
            for (kind, status), number in requests.items()
            if number
        )
        for kind, first in _TIME_CELLS.items():
            if kind != "events" and any(requests[kind, status] for status in _STATUSES):
                yield from self._histogram(kind, first)
        facts = [
            {name: self._cells[row * _WIDTH + cell] for name, cell in _FACT_CELLS.items()}
            for row in range(self._rows)
        ]
        yield Sample("workers", self._rows)
        yield Sample("worker_restarts_total", sum(one["restarts"] for one in facts))
        for number, one in enumerate(facts):
            named = {"worker": str(number)}
            yield Sample("connections", one["connections"], named)
            yield Sample("worker_cpu_seconds_total", one["cpu_seconds"], named)
            if memory := _resident_bytes(int(one["pid"])):
                yield Sample("worker_resident_memory_bytes", memory, named)

    def _histogram(self, kind: str, first: int) -> Iterator[Sample]:
        number = 0.0
        for place, bound in enumerate((*map(str, _SECONDS), "+Inf")):
            number += self._sum(first + place)
            yield Sample("request_seconds_bucket", number, {"kind": kind, "le": bound})
        yield Sample("request_seconds_sum", self._sum(first + _BUCKETS - 1), {"kind": kind})
        yield Sample("request_seconds_count", number, {"kind": kind})

    def _sum(self, cell: int) -> float:
        return sum(self._cells[row * _WIDTH + cell] for row in range(self._rows))


class Sample(NamedTuple):
    """One measurement: its name without the prefix, its value and its labels."""

    name: str
    value: float
    labels: Mapping[str, str] = {}


# The type and the meaning of each measurement.
_MEANINGS = {
    "build_info": ("gauge", "The version of lpisearch."),
    "library_up": ("gauge", "Whether the library can be read."),
    "documents": ("gauge", "Documents in the library."),
    "library_bytes": ("gauge", "Size of the library."),
    "index_documents": ("gauge", "Documents in an index."),
    "index_age_seconds": ("gauge", "Time since an index was built."),
    "index_out_of_date": ("gauge", "Whether an index lacks documents or is to be built again."),
    "jobs": ("gauge", "Jobs that are listed, by their state."),
    "requests_total": ("counter", "Responses by kind of request and status."),
    "request_seconds": ("histogram", "Time from a request to the beginning of its response."),
    "workers": ("gauge", "Processes that answer requests."),
    "worker_restarts_total": ("counter", "Workers that died and were replaced."),
    "connections": ("gauge", "Open connections of a worker."),
    "worker_cpu_seconds_total": ("counter", "Processor time of a worker."),
    "worker_resident_memory_bytes": ("gauge", "Memory of a worker, shared pages included."),
}
_PARTS = ("_bucket", "_sum", "_count")
_PREFIX = "lpisearch_"


def as_text(samples: Iterable[Sample]) -> str:
    """Return samples in the text form of Prometheus, those of one name together."""
    lines: dict[str, list[str]] = {name: [] for name in _MEANINGS}
    for name, value, labels in samples:
        family = name
        for part in _PARTS:
            family = family.removesuffix(part)
        pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        shown = f"{value:.0f}" if float(value).is_integer() else repr(float(value))
        lines[family].append(f"{_PREFIX}{name}{f'{{{pairs}}}' if pairs else ''} {shown}\n")
    return "".join(
        f"# HELP {_PREFIX}{name} {meaning}\n# TYPE {_PREFIX}{name} {kind}\n{''.join(lines[name])}"
        for name, (kind, meaning) in _MEANINGS.items()
        if lines[name]
    )


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _kind(path: str) -> str:
    if path in {HEALTH, READY, METRICS}:
        return "probe"
    if path.endswith("/events"):
        return "events"
    if path.startswith("/api/"):
        parts = path.split("/")
        return "search" if parts[-1] in {"search", "similar", "batch"} else "api"
    if path == "/mcp":
        return "assistant"
    return "static" if path.startswith("/static/") else "search" if path == "/" else "page"


def _resident_bytes(pid: int) -> int:
    """Return the memory of a process; 0 if the system does not tell."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError, ValueError):
        return 0


class MetricsMiddleware:
    """Counts responses, those that refuse a request included."""

    def __init__(self, app: ASGIApp, state: WebState) -> None:
        self.app, self._state = app, state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, seen = time.perf_counter(), [500, 0.0]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen[:] = [message["status"], time.perf_counter() - began]
            await send(message)

        metrics, worker = self._state.memory.metrics, self._state.worker
        try:
            await self.app(scope, receive, sent)
        finally:
            status, seconds = seen
            metrics.add(worker, scope, int(status), seconds or time.perf_counter() - began)
            metrics.note(worker, len(self._state.connections))


async def health(_request: Request) -> Response:
    """Say that this process answers."""
    return PlainTextResponse("ok\n")


async def ready(request: Request) -> Response:
    """Say whether this process can answer queries: a proxy sends none to one that cannot."""
    state: WebState = request.app.state.lpisearch
    reason = ""
    if state.jobs.is_closing:
        reason = "the server is ending"
    elif state.starting.is_set():
        reason = "the server is starting"
    else:
        try:
            await state.mark()
        except LibraryNotFound:  # the first ingest creates it
            pass
        except LibraryTooNew:
            reason = "a newer program has upgraded the library"
        except LpiSearchError:
            reason = "the library cannot be read"
    return PlainTextResponse(f"{reason or 'ready'}\n", 503 if reason else 200)


async def metrics(request: Request) -> Response:
    """Return all measurements."""
    state: WebState = request.app.state.lpisearch
    samples = await state.recorded(lambda: list(_of_library(state)))
    info = Sample("build_info", 1, {"version": __version__})
    text = as_text(chain([info], samples, state.memory.metrics.samples()))
    return Response(text, media_type=_MEDIA_TYPE)


def _of_library(state: WebState) -> Iterator[Sample]:
    try:
        status, jobs = state.library.status(), state.jobs.all()
    except LibraryNotFound:
        yield Sample("library_up", 1)
        yield Sample("documents", 0)
        return
    except LpiSearchError:
        yield Sample("library_up", 0)
        return
    yield Sample("library_up", 1)
    yield Sample("documents", status["documents"])
    yield Sample("library_bytes", status["size_bytes"])
    for one in status["indexes"]:
        yield from _of_index(one)
    for name in STATES:
        yield Sample("jobs", sum(job.state == name for job in jobs), {"state": name})


def _of_index(index: Mapping[str, Any]) -> Iterator[Sample]:
    named = {"index": str(index["name"])}
    if "documents" in index:
        yield Sample("index_documents", index["documents"], named)
    try:
        built = datetime.fromisoformat(index["created"])
    except (KeyError, TypeError, ValueError):
        pass
    else:
        built = built if built.tzinfo else built.replace(tzinfo=UTC)
        yield Sample("index_age_seconds", (datetime.now(UTC) - built).total_seconds(), named)
    yield Sample("index_out_of_date", index["state"] != _READY, named)
