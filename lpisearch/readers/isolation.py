"""A pool of worker processes that read and tokenise files, seen from the parent.

Each thread of the pool owns one worker process, started when first needed and replaced when it is
lost. Workers read ahead of the consumer of their documents, up to a total number of bytes. Small
files are sent in groups, so that neither side waits for the other at each of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, cast

from lpisearch.errors import ReaderError
from lpisearch.files import read_limits
from lpisearch.messages import from_plain
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers.base import (
    READING_SECONDS,
    SILENT_SECONDS,
    STORING_SECONDS,
    memory_bytes,
    reading_seconds,
)
from lpisearch.readers.worker import IS_WATCHED, Frame, receive, resident_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.model.documents import Document, Problem, Traits
    from lpisearch.readers.base import SourceFile


MAX_WORKERS = 8  # beyond that, the process that writes is the slowest
_LOW_PRIORITY = 10


class IsolatedReaders:
    """A pool of worker processes; use it in a `with` statement, which ends the workers.

    `seconds` is the processor time for a small file (a large one has more), `silent_seconds` the
    time without an answer, `memory` the address space of one worker, where the system can limit it.
    """

    def __init__(
        self,
        options: ReadOptions,
        max_workers: int | None = None,
        *,
        seconds: float = READING_SECONDS,
        silent_seconds: float = SILENT_SECONDS,
        memory: int | None = None,
    ) -> None:
        self._options = options
        self._seconds = seconds
        self._limits = read_limits()
        patience = 2 * self._limits.seconds or silent_seconds
        self._silent_seconds = min(silent_seconds, patience)
        self._memory = memory or memory_bytes(options)
        self._threads = ThreadPoolExecutor(
            max_workers or min(MAX_WORKERS, os.cpu_count() or 1), "lpisearch-reader"
        )
        self._own = threading.local()
        self._workers: set[WorkerProcess] = set()
        self._lock = threading.Lock()
        self._ahead = ReadAhead()
        self._closed = False
        self._group: list[ReadRequest] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def submit(
        self,
        source: SourceFile,
        reader: str,
        on_wait: Callable[[], object] | None = None,
        options: ReadOptions | None = None,
        tokens: dict[str, Any] | None = None,
        *,
        grouped: bool = False,
    ) -> DocumentStream:
        """Read a file in a worker; the caller bounds how many answers are pending.

        Consume answers in the order of their files: another order may deadlock. `reader` is a name
        or "module:attribute". `on_wait` is called once, in the consuming thread, if it has to wait.
        With `tokens` (settings and language of a tokeniser, and the path that the file is known by)
        documents are tokenised too. Small files may be `grouped` with those around them.
        """
        seconds = self._limits.seconds or reading_seconds(source.size, self._seconds)
        request = {
            "reader": reader,
            "source": {
                "path": os.path.abspath(source.path),  # noqa: PTH100 - Path has no such method
                "name": source.name,
                "gzipped": source.gzipped,
                "within": list(source.within),
                "page": source.page,
            },
            "options": _as_dict(options or self._options),
            "seconds": seconds + (STORING_SECONDS if tokens else 0),
            "silent": self._silent_seconds,
            "tokens": tokens,
        }
        stream = DocumentStream(self._ahead, on_wait, self._send_group)
        self._group.append(ReadRequest(request, stream))
        if not (grouped and source.size <= _GROUPED_BYTES and len(self._group) < _GROUPED_FILES):
            self._send_group()
        return stream

    def _send_group(self) -> None:
        """Give what was submitted so far to the threads; called before anything waits for it."""
        if not self._group:
            return
        group, self._group = deque(self._group), []

        def end(reading: Future[None]) -> None:
            for _, stream in group:  # of a closed pool
                stream.end(not_read() if reading.cancelled() else reading.exception())

        self._threads.submit(self._read, group).add_done_callback(end)

    def close(self) -> None:
        """End the workers; files not yet read are abandoned."""
        with self._lock:
            self._closed = True
        self._ahead.close()
        for _, stream in self._group:
            stream.end(not_read())
        self._group.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in tuple(self._workers):
            worker.kill()
        self._threads.shutdown(wait=True)
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def _read(self, group: deque[ReadRequest]) -> None:
        """Read the files of a group; a lost worker costs the file that it was reading."""
        while group:
            request, stream = group.popleft()
            error: BaseException | None = None
            try:
                self._read_one(request, stream, [each for each, _ in group])
            except BaseException as raised:  # noqa: BLE001 (the consumer gets it)
                error = raised
            stream.end(error)

    def _read_one(
        self, request: dict[str, Any], stream: DocumentStream, following: list[dict[str, Any]]
    ) -> None:
        worker = self._worker()
        packs = worker.packs(request, following)
        try:
            for pack in packs:
                if not stream.put(pack):
                    break
        finally:
            packs.close()  # type: ignore[attr-defined]  # a generator
            if not worker.usable:
                with self._lock:
                    self._workers.discard(worker)
                worker.stop()

    def _worker(self) -> WorkerProcess:
        """Return this thread's worker, a new one if it has none that is usable."""
        worker: WorkerProcess | None = getattr(self._own, "worker", None)
        if worker is None or not worker.usable:
            with self._lock:
                if self._closed:
                    raise not_read()
                worker = WorkerProcess(self._memory)
                if self._limits.seconds and hasattr(os, "setpriority"):
                    os.setpriority(os.PRIO_PROCESS, worker.pid, _LOW_PRIORITY)
                self._workers.add(worker)
            self._own.worker = worker
        return worker


_as_dict = lru_cache(16)(asdict)


class ReadRequest(NamedTuple):
    """A file to read, and where its documents go."""

    request: dict[str, Any]
    stream: DocumentStream


# A group fits in the buffer of a pipe: a worker that waits for its answers to be taken must not
# keep the parent waiting.
_GROUPED_FILES, _GROUPED_BYTES = 16, 64 * 1024
_GROUPED_REQUESTS = 16 * 1024
FILES_PER_WORKER = 1000  # then a worker is replaced: leaks of an extractor do not add up
_LOOK_SECONDS = 0.1 if IS_WATCHED else 0.5
_BUFFER_BYTES = 256 * 1024


class WorkerProcess:
    """One worker process and the exchange with it."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._files_left = FILES_PER_WORKER
        self._sent = 0  # requests whose answers have not come yet
        self._deadline = inf
        self._ended, self._too_late, self._grew = (threading.Event() for _ in range(3))
        # -P keeps modules in the current folder, which may hold anything, from being imported.
        # A separate session protects it from Ctrl-C: the parent ends it.
        self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
            [sys.executable, "-P", "-m", "lpisearch.readers.worker", str(memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=_BUFFER_BYTES,
            start_new_session=True,
        )
        self._requests = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether it can take another file."""
        return self._files_left > 0 and self._process.poll() is None

    def packs(
        self, request: dict[str, Any], following: Sequence[dict[str, Any]] = ()
    ) -> Iterator[Frame]:
        """Send a request, unless it was sent, and those that follow; yield the packs of its answer.

        After an error, or if the consumer stops early, the worker is no longer usable. Raises
        ReaderError, OSError.
        """
        self._files_left -= 1
        whole = False
        try:
            if not self._sent:
                self._send([request, *following[: self._files_left]])
            self._sent -= 1
            yield from self._receive(request)
            whole = True
        except _Failed as failed:
            whole = True
            raise failed.error from None
        except _WorkerLost as error:
            if self._too_late.is_set():
                raise ReaderError(f"gave no response in {request['silent']:g} s") from error
            if self._grew.is_set():
                raise self._too_large() from error
            raise ReaderError(_ending(self._process.wait(), request["seconds"])) from error
        finally:
            self._deadline = inf
            if self._too_late.is_set() or self._grew.is_set() or not whole:
                self._files_left = 0
                self.kill()

    def kill(self) -> None:
        """End the process at once; a thread waiting for its answer notices."""
        self._process.kill()

    def stop(self) -> None:
        """End the process and release its pipes."""
        self._ended.set()
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with suppress(OSError):  # part of a request may wait in the buffer
                pipe.close()

    def _watch(self) -> None:
        """End a process that is silent for too long while a thread waits for it, or too large."""
        while not self._ended.wait(
            min(_LOOK_SECONDS, max(0.01, self._deadline - time.monotonic()))
        ):
            if time.monotonic() > self._deadline:
                self._too_late.set()
                self.kill()
                return
            if IS_WATCHED and resident_bytes(self._process.pid) > self._memory_bytes:
                self._grew.set()
                self.kill()
                return

    def _too_large(self) -> ReaderError:
        return ReaderError(
            f"needs more than {self._memory_bytes // MEBIBYTE} MiB of memory to read"
        )

    def _send(self, requests: Sequence[dict[str, Any]]) -> None:
        lines = [json.dumps(request).encode() + b"\n" for request in requests]
        ends = accumulate(map(len, lines))
        self._sent = max(sum(end <= _GROUPED_REQUESTS for end in ends), 1)
        try:
            self._requests.write(b"".join(lines[: self._sent]))
            self._requests.flush()
        except OSError as error:
            raise _WorkerLost from error

    def _receive(self, request: dict[str, Any]) -> Iterator[Frame]:
        # JSON writes a control character of the metadata as six bytes, and pairs of characters are
        # longer than a text: no honest pack is longer.
        times = 10 if request["tokens"] else 6
        longest = times * request["options"]["max_document_bytes"] + MEBIBYTE
        while True:
            self._deadline = time.monotonic() + request["silent"]
            frame = self._frame(longest)
            self._deadline = inf
            if frame.is_pack:
                yield frame
                continue
            match frame.facts():
                case {"done": _}:
                    return
                case {"failed": [what, next_step]}:
                    raise _Failed(ReaderError(from_plain(what), next_step))
                case {"system": [number, message]}:
                    raise _Failed(OSError(number, message, request["source"]["path"]))
                case _:
                    raise self._too_large()  # its remaining memory is unknown

    def _frame(self, most_bytes: int) -> Frame:
        try:
            frame = receive(self._answers, most_bytes)
        except (OSError, ValueError) as error:  # ValueError: closed by another thread
            raise _WorkerLost from error
        if frame is None:
            self.kill()  # unless it is gone, it writes without end
            raise _WorkerLost
        return frame


class _WorkerLost(Exception):
    """The process ended in the middle of a file."""


class _Failed(Exception):
    """The reader reported a failure; its process is still usable."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _ending(status: int, seconds: float) -> str:
    """State how a worker ended: a negative status is the signal that ended it."""
    if status == -getattr(signal, "SIGPROF", 27):
        return f"needs more than {seconds:g} s of CPU time to read"
    if status == -getattr(signal, "SIGKILL", 9):
        return "could not be read: its extractor was killed (out of memory?)"
    if status < 0:
        return f"could not be read: its extractor crashed (signal {-status})"
    return f"could not be read: its extractor ended with status {status}"


AHEAD_BYTES = 8 * MEBIBYTE  # read by all workers together and not yet consumed
LONG_WAIT_SECONDS = 1.0  # after which `on_wait` is called


class DocumentStream:
    """The documents and problems of one file; iterate once.

    Iterating raises ReaderError if the file is unreadable or the reader crashed, hung or took too
    much memory, and OSError if the file cannot be opened; earlier documents remain valid. `seconds`
    is the processor time that the worker has spent on the consumed part, `consumed` the bytes it
    had read, `analysed` the tokens and traits of the last document, if they were wanted.
    """

    def __init__(
        self,
        ahead: ReadAhead,
        on_wait: Callable[[], object] | None = None,
        send: Callable[[], object] = lambda: None,
    ) -> None:
        self.seconds = 0.0
        self.consumed = 0
        self.analysed: tuple[str, Traits] | None = None
        self._ahead = ahead
        self._on_wait = on_wait
        self._send = send
        self._packs: deque[Frame] = deque()
        self._wanted = self._left = self._ended = False
        self._error: BaseException | None = None

    def __iter__(self) -> Iterator[Document | Problem]:
        self._send()
        try:
            while (pack := self._next()) is not None:
                facts = pack.facts()  # here, so that parsing does not contend with the consumer
                self.seconds, self.consumed = facts["seconds"], facts["consumed"]
                for record, self.analysed in pack.records(facts):
                    yield record
                del pack, facts
        finally:
            self._leave()
        if self._error is not None:
            raise self._error

    def put(self, pack: Frame) -> bool:
        """Add a pack as soon as there is room; return False if the consumer has left."""
        with self._ahead.changed:
            # The file being consumed always has room, so that others never block it.
            self._ahead.changed.wait_for(
                lambda: (
                    self._ahead.closed
                    or self._left
                    or self._ahead.held + len(pack) <= AHEAD_BYTES
                    or (self._wanted and not self._packs)
                )
            )
            if self._ahead.closed or self._left:
                return False
            self._packs.append(pack)
            self._ahead.held += len(pack)
            self._ahead.changed.notify_all()
            return True

    def end(self, error: BaseException | None) -> None:
        """Record that nothing more comes, and why."""
        with self._ahead.changed:
            self._error = error
            self._ended = True
            self._ahead.changed.notify_all()

    def _next(self) -> Frame | None:
        with self._ahead.changed:
            self._wanted = True
            self._ahead.changed.notify_all()
        self._wait()
        with self._ahead.changed:
            if not self._packs:
                return None
            pack = self._packs.popleft()
            self._ahead.held -= len(pack)
            self._ahead.changed.notify_all()
            return pack

    def _wait(self) -> None:
        """Wait for a pack or the end; call `on_wait` once if it takes long."""
        with self._ahead.changed:
            self._ahead.changed.wait_for(
                lambda: self._packs or self._ended, LONG_WAIT_SECONDS if self._on_wait else None
            )
            waited = not (self._packs or self._ended)
        if waited and self._on_wait:
            self._on_wait()
            self._on_wait = None
            self._wait()

    def _leave(self) -> None:
        with self._ahead.changed:
            self._left = True
            self._ahead.held -= sum(map(len, self._packs))
            self._packs.clear()
            self._ahead.changed.notify_all()


class ReadAhead:
    """The bytes that all streams of a pool have buffered, and their condition variable."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.held = 0
        self.closed = False

    def close(self) -> None:
        """Stop all waiting for room."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()


def not_read() -> ReaderError:
    """Return the error for a file that was abandoned before it was read."""
    return ReaderError("was not read: the run stopped")
