"""Readers in worker processes, so that no file can crash, hang or swell the run.

A source file and the name of a reader go in; an answer that gives its documents comes out. Each
thread of the pool owns one worker process, started when first needed and replaced when it is lost.
Workers read ahead of whoever takes their documents, by so many bytes together and no more.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from lpisearch.errors import ReaderError
from lpisearch.readers.limits import READING_SECONDS, SILENT_SECONDS, memory_bytes, reading_seconds
from lpisearch.readers.process import WorkerProcess
from lpisearch.settings import MEBIBYTE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from types import TracebackType

    from lpisearch.readers.base import SourceFile
    from lpisearch.readers.transport import Frame
    from lpisearch.records import Document, Problem
    from lpisearch.settings import ReadOptions

MAX_WORKERS = 4

AHEAD_BYTES = 8 * MEBIBYTE
"""How much all workers together may have read that nobody has taken yet."""


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
        self._room = _Room()
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

    def submit(self, source: SourceFile, reader: str) -> Answer:
        """Read a file in a worker; the caller bounds how many answers it keeps.

        They are to be taken in the order of their files: who takes another first may wait for ever.

        Parameters
        ----------
        source
            The file.
        reader
            The name of a reader, or "module:attribute".
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
        answer = Answer(self._room)
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
                    raise _not_read()
                worker = WorkerProcess(self._memory)
                self._workers.add(worker)
            self._own.worker = worker
        return worker


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

    def __init__(self, room: _Room) -> None:
        self.seconds = 0.0
        self.consumed = 0
        self._room = room
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
            self._error = _not_read() if reading.cancelled() else reading.exception()
            self._ended = True
            self._room.changed.notify_all()

    def _next(self) -> Frame | None:
        with self._room.changed:
            self._wanted = True
            self._room.changed.notify_all()
            self._room.changed.wait_for(lambda: self._packs or self._ended)
            if not self._packs:
                return None
            pack = self._packs.popleft()
            self._room.held -= len(pack)
            self._room.changed.notify_all()
            return pack

    def _leave(self) -> None:
        with self._room.changed:
            self._left = True
            self._room.held -= sum(map(len, self._packs))
            self._packs.clear()
            self._room.changed.notify_all()


class _Room:
    """What all answers of a pool hold together."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.held = 0
        self.closed = False

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()


def _not_read() -> ReaderError:
    return ReaderError("was not read: the run ended")
