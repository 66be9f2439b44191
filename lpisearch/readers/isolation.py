"""Worker pool seen from the parent.

A source file and the name of a reader go in; an answer that gives its documents comes out. Each
thread of the pool owns one worker process, started when first needed and replaced when it is lost.
Workers read ahead of whoever takes their documents, by so many bytes together and no more.

Packs of documents go in from the thread that talks with the worker; documents come out where they
are taken, which may be later.
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

from lpisearch.errors import ReaderError
from lpisearch.messages import from_plain
from lpisearch.options import MEBIBYTE
from lpisearch.readers.base import READING_SECONDS, SILENT_SECONDS, memory_bytes, reading_seconds
from lpisearch.readers.worker import receive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from types import TracebackType

    from lpisearch.model.documents import Document, Problem
    from lpisearch.options import ReadOptions
    from lpisearch.readers.base import SourceFile
    from lpisearch.readers.worker import Frame


MAX_WORKERS = 4


class IsolatedReaders:
    """A pool of worker processes; use it in a `with` statement.

    Leaving the block ends the workers at once, finished or not.

    Parameters
    ----------
    options
        Passed to the readers; `max_document_bytes` bounds each document.
    max_workers
        How many files are read at a time; None for one a processor, at most `MAX_WORKERS`.
    seconds
        Processor time for one small file; a large one has more.
    silent_seconds
        Time without an answer.
    memory
        Address space of one worker, where the system can limit it; None for the usual.
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
        self._silent_seconds = silent_seconds
        self._memory = memory or memory_bytes(options)
        self._threads = ThreadPoolExecutor(
            max_workers or min(MAX_WORKERS, os.cpu_count() or 1), "lpisearch-reader"
        )
        self._own = threading.local()
        self._workers: set[WorkerProcess] = set()
        self._lock = threading.Lock()
        self._room = Room()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def submit(
        self, source: SourceFile, reader: str, on_wait: Callable[[], object] | None = None
    ) -> Answer:
        """Read a file in a worker; the caller bounds how many answers it keeps.

        They are to be taken in the order of their files: who takes another first may wait for ever.

        Parameters
        ----------
        source
            The file.
        reader
            The name of a reader, or "module:attribute".
        on_wait
            Called once if whoever takes the documents has to wait, in the same thread.
        """
        request = {
            "reader": reader,
            "source": {
                "path": os.path.abspath(source.path),  # noqa: PTH100 - Path has no such method
                "name": source.name,
                "gzipped": source.gzipped,
            },
            "options": asdict(self._options),
            "seconds": reading_seconds(source.size, self._seconds),
            "silent": self._silent_seconds,
        }
        answer = Answer(self._room, on_wait)
        self._threads.submit(self._read, request, answer).add_done_callback(answer.end)
        return answer

    def close(self) -> None:
        """End the workers; files not yet read are given up."""
        with self._lock:
            self._closed = True
        self._room.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in tuple(self._workers):
            worker.kill()
        self._threads.shutdown(wait=True)
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def _read(self, request: dict[str, Any], answer: Answer) -> None:
        worker = self._worker()
        packs = worker.packs(request)
        try:
            for pack in packs:
                if not answer.put(pack):
                    break
        finally:
            packs.close()  # type: ignore[attr-defined]  # a generator
            if not worker.usable:
                with self._lock:
                    self._workers.discard(worker)
                worker.stop()

    def _worker(self) -> WorkerProcess:
        """Return this thread's worker, a new one if it has none that works."""
        worker: WorkerProcess | None = getattr(self._own, "worker", None)
        if worker is None or not worker.usable:
            with self._lock:
                if self._closed:
                    raise not_read()
                worker = WorkerProcess(self._memory)
                self._workers.add(worker)
            self._own.worker = worker
        return worker


FILES_PER_WORKER = 1000
"""A worker is then replaced, so that leaks of an extractor do not add up."""

_LOOK_SECONDS = 0.5
_BUFFER_BYTES = 256 * 1024


class WorkerProcess:
    """One worker process and the talk with it.

    Parameters
    ----------
    memory_bytes
        Its address space, where the system can limit it.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._files_left = FILES_PER_WORKER
        self._deadline = inf
        # -P keeps modules in the current folder, which may hold anything, from being imported.
        # A session of its own keeps Ctrl-C from it: the parent ends it.
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

    @property
    def usable(self) -> bool:
        """Whether it can take another file."""
        return self._files_left > 0 and self._process.poll() is None

    def packs(self, request: dict[str, Any]) -> Iterator[Frame]:
        """Send a request; yield the packs of its answer.

        Whoever stops before the end, or meets an error, is left with a worker that is not usable.

        Raises
        ------
        ReaderError, OSError
        """
        self._files_left -= 1
        done, too_late = threading.Event(), threading.Event()
        watch = threading.Thread(target=self._watch, args=(done, too_late), daemon=True)
        watch.start()
        whole = False
        try:
            self._send(request)
            yield from self._receive(request)
            whole = True
        except _Failed as failed:
            whole = True
            raise failed.error from None
        except _WorkerLost as error:
            if too_late.is_set():
                raise ReaderError(f"gave no response in {request['silent']:g} s") from error
            raise ReaderError(_ending(self._process.wait(), request["seconds"])) from error
        finally:
            done.set()
            watch.join()
            if too_late.is_set() or not whole:
                self._files_left = 0
                self.kill()

    def kill(self) -> None:
        """End the process at once; whoever waits for its answer learns that it is gone."""
        self._process.kill()

    def stop(self) -> None:
        """End the process and free what it held."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with suppress(OSError):  # part of a request may wait in the buffer
                pipe.close()

    def _watch(self, done: threading.Event, too_late: threading.Event) -> None:
        """End a process that is silent for too long while somebody waits for it."""
        while not done.wait(min(_LOOK_SECONDS, max(0.01, self._deadline - time.monotonic()))):
            if time.monotonic() > self._deadline:
                too_late.set()
                self.kill()
                return

    def _send(self, request: dict[str, Any]) -> None:
        try:
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()
        except OSError as error:
            raise _WorkerLost from error

    def _receive(self, request: dict[str, Any]) -> Iterator[Frame]:
        # JSON writes a control character of the metadata as six bytes: no honest pack is longer.
        longest = 6 * request["options"]["max_document_bytes"] + MEBIBYTE
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
                    # What it still holds is unknown.
                    limit = self._memory_bytes // MEBIBYTE
                    raise ReaderError(f"needs more than {limit} MiB of memory to read")

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
    """The reader said that it failed; its process is as good as before."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _ending(status: int, seconds: float) -> str:
    """Say how a worker ended: a negative status is the signal that ended it."""
    if status == -getattr(signal, "SIGPROF", 27):
        return f"needs more than {seconds:g} s of CPU time to read"
    if status == -getattr(signal, "SIGKILL", 9):
        return "could not be read: its extractor was killed (out of memory?)"
    if status < 0:
        return f"could not be read: its extractor crashed (signal {-status})"
    return f"could not be read: its extractor ended with status {status}"


AHEAD_BYTES = 8 * MEBIBYTE
"""How much all workers together may have read that nobody has taken yet."""

LONG_WAIT_SECONDS = 1.0
"""Whoever waits longer for a file is told."""


class Answer:
    """What a worker gives of one file; iterating it takes the documents and problems, once.

    It raises ReaderError if the file is of no use or the reader crashed, hung or took too much
    memory, and OSError if the file cannot be opened. What came before is kept.

    Attributes
    ----------
    seconds
        Processor time that the worker has spent on what was taken.
    consumed
        How many bytes of the file it had read.
    """

    def __init__(self, room: Room, on_wait: Callable[[], object] | None = None) -> None:
        self.seconds = 0.0
        self.consumed = 0
        self._room = room
        self._on_wait = on_wait
        self._packs: deque[Frame] = deque()
        self._wanted = self._left = self._ended = False
        self._error: BaseException | None = None

    def __iter__(self) -> Iterator[Document | Problem]:
        try:
            while (pack := self._next()) is not None:
                facts = pack.facts()  # here, so that it does not contend with whoever takes it
                self.seconds, self.consumed = facts["seconds"], facts["consumed"]
                yield from pack.records(facts)
                del pack, facts
        finally:
            self._leave()
        if self._error is not None:
            raise self._error

    def put(self, pack: Frame) -> bool:
        """Add a pack as soon as there is room; return False if nobody wants more."""
        with self._room.changed:
            # The file that is waited for always finds room, so that it is never held up by others.
            self._room.changed.wait_for(
                lambda: (
                    self._room.closed
                    or self._left
                    or self._room.held + len(pack) <= AHEAD_BYTES
                    or (self._wanted and not self._packs)
                )
            )
            if self._room.closed or self._left:
                return False
            self._packs.append(pack)
            self._room.held += len(pack)
            self._room.changed.notify_all()
            return True

    def end(self, reading: Future[None]) -> None:
        """Note that nothing more comes, and why."""
        with self._room.changed:
            self._error = not_read() if reading.cancelled() else reading.exception()
            self._ended = True
            self._room.changed.notify_all()

    def _next(self) -> Frame | None:
        with self._room.changed:
            self._wanted = True
            self._room.changed.notify_all()
        self._wait()
        with self._room.changed:
            if not self._packs:
                return None
            pack = self._packs.popleft()
            self._room.held -= len(pack)
            self._room.changed.notify_all()
            return pack

    def _wait(self) -> None:
        """Wait for a pack or the end; say so once if it takes long."""
        with self._room.changed:
            self._room.changed.wait_for(
                lambda: self._packs or self._ended, LONG_WAIT_SECONDS if self._on_wait else None
            )
            waited = not (self._packs or self._ended)
        if waited and self._on_wait:
            self._on_wait()
            self._on_wait = None
            self._wait()

    def _leave(self) -> None:
        with self._room.changed:
            self._left = True
            self._room.held -= sum(map(len, self._packs))
            self._packs.clear()
            self._room.changed.notify_all()


class Room:
    """What all answers of a pool hold together, and how they tell each other of changes."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.held = 0
        self.closed = False

    def close(self) -> None:
        """Let nobody wait for room any more."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()


def not_read() -> ReaderError:
    """Say that a file was given up before it was read."""
    return ReaderError("was not read: the run stopped")
