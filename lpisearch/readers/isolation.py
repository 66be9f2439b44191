"""Run readers in worker processes, so that no file can crash or hang the run.

A source file and the name of a reader go in; an answer that gives its documents comes out. Each
thread of the pool owns one worker process, started when first needed and replaced when it is lost.
Workers read ahead of whoever takes their documents, by so many bytes together and no more.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from lpisearch.readers.answer import Answer, Room, not_read
from lpisearch.readers.limits import READING_SECONDS, SILENT_SECONDS, memory_bytes, reading_seconds
from lpisearch.readers.process import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions

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
