"""Readers in worker processes, so that no file can crash, hang or swell the run.

A source file and the name of a reader go in; a future of its documents comes out. Each thread
of the pool owns one worker process, started when first needed and replaced when it is lost.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any, Self, cast

from lpisearch.errors import ReaderError
from lpisearch.messages import from_plain
from lpisearch.readers.worker import decode, encode
from lpisearch.records import Document, Problem, Section
from lpisearch.settings import MEBIBYTE

if TYPE_CHECKING:
    from types import TracebackType

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions

SECONDS = 60.0
"""Time for one file."""

MEMORY_BYTES = 2048 * MEBIBYTE
"""Address space of one worker, about a tenth of which its libraries take."""

MAX_WORKERS = 4

FILES_PER_WORKER = 1000
"""A worker is then replaced, so that leaks of an extractor do not add up."""


class IsolatedReaders:
    """A pool of worker processes; use it in a `with` statement.

    Leaving the block ends the workers at once, finished or not.

    Parameters
    ----------
    max_workers
        How many files are read at a time; None for one a processor, at most `MAX_WORKERS`.
    seconds
        Time for one file.
    memory_bytes
        Address space of one worker, where the system can limit it.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        seconds: float = SECONDS,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._threads = ThreadPoolExecutor(
            max_workers or min(MAX_WORKERS, os.cpu_count() or 1), "lpisearch-reader"
        )
        self._own = threading.local()
        self._workers: set[_Worker] = set()
        self._lock = threading.Lock()
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
        self, source: SourceFile, reader: str, options: ReadOptions
    ) -> Future[list[Document | Problem]]:
        """Read a file in a worker; the caller bounds how many futures it keeps.

        Parameters
        ----------
        source
            The file.
        reader
            The name of a reader, or "module:attribute".
        options
            Passed to the reader; `max_document_bytes` bounds the whole answer.

        Returns
        -------
        Future
            Of what the reader yields. It raises ReaderError if the file is of no use or the
            reader crashed, hung or took too much memory, and OSError if the file cannot be
            opened.
        """
        request = {
            "reader": reader,
            "source": {
                "path": os.path.abspath(source.path),  # noqa: PTH100 - Path has no such method
                "name": source.name,
                "gzipped": source.gzipped,
            },
            "options": asdict(options),
            "seconds": self._seconds,
        }
        return self._threads.submit(self._read, request)

    def close(self) -> None:
        """End the workers; files not yet read are given up."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in tuple(self._workers):
            worker.kill()
        self._threads.shutdown(wait=True)
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def _read(self, request: dict[str, Any]) -> list[Document | Problem]:
        worker = self._worker()
        try:
            return worker.read(request)
        finally:
            if not worker.usable:
                with self._lock:
                    self._workers.discard(worker)
                worker.stop()

    def _worker(self) -> _Worker:
        """Return this thread's worker, a new one if it has none that works."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is None or not worker.usable:
            with self._lock:
                if self._closed:
                    raise ReaderError("was not read: the run ended")
                worker = _Worker(self._memory_bytes)
                self._workers.add(worker)
            self._own.worker = worker
        return worker


class _Worker:
    """One worker process and the talk with it."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._files_left = FILES_PER_WORKER
        # -P keeps modules in the current folder, which may hold anything, from being imported.
        # A session of its own keeps Ctrl-C from it: the parent ends it.
        self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
            [sys.executable, "-P", "-m", "lpisearch.readers.worker", str(memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)

    @property
    def usable(self) -> bool:
        """Whether it can take another file."""
        return self._files_left > 0 and self._process.poll() is None

    def read(self, request: dict[str, Any]) -> list[Document | Problem]:
        """Send a request and gather the answer."""
        self._files_left -= 1
        too_late = threading.Event()

        def give_up() -> None:
            too_late.set()
            self.kill()

        watch = threading.Timer(request["seconds"], give_up)
        watch.start()
        try:
            self._send(request)
            return self._receive(request)
        except _WorkerLost as error:
            if too_late.is_set():
                raise ReaderError(f"gave no answer in {request['seconds']:g} s") from error
            raise ReaderError(_ending(self._process.wait())) from error
        finally:
            watch.cancel()
            watch.join()
            if too_late.is_set():  # perhaps a moment after the answer: it is lost all the same
                self._files_left = 0

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

    def _send(self, request: dict[str, Any]) -> None:
        try:
            self._requests.write(encode(request))
            self._requests.flush()
        except OSError as error:
            raise _WorkerLost from error

    def _receive(self, request: dict[str, Any]) -> list[Document | Problem]:
        # JSON writes a control character as six bytes: no honest line is longer.
        longest = 6 * request["options"]["max_document_bytes"] + MEBIBYTE
        records: list[Document | Problem] = []
        while True:
            match self._answer(longest):
                case {"document": fields}:
                    records.append(_document(fields))
                case {"problem": fields}:
                    records.append(Problem(**fields))
                case {"done": _}:
                    return records
                case {"failed": [what, next_step]}:
                    raise ReaderError(from_plain(what), next_step)
                case {"system": [number, message]}:
                    raise OSError(number, message, request["source"]["path"])
                case _:
                    self._files_left = 0  # what it holds is unknown
                    raise ReaderError(
                        f"needs more than {self._memory_bytes // MEBIBYTE} MiB of memory to read"
                    )

    def _answer(self, longest: int) -> Any:
        try:
            line = self._answers.readline(longest)
        except (OSError, ValueError) as error:  # ValueError: closed by another thread
            raise _WorkerLost from error
        if not line.endswith(b"\n"):
            self.kill()  # unless it is gone, it writes without end
            raise _WorkerLost
        return decode(line)


def _document(fields: dict[str, Any]) -> Document:
    sections = tuple(Section(*each) for each in fields["sections"])
    return Document(**fields | {"labels": tuple(fields["labels"]), "sections": sections})


class _WorkerLost(Exception):
    """The process ended in the middle of a file."""


def _ending(status: int) -> str:
    """Say how a worker ended: a negative status is the signal that ended it."""
    if status == -getattr(signal, "SIGKILL", 9):
        return "could not be read: its extractor was killed (out of memory?)"
    if status < 0:
        return f"could not be read: its extractor crashed (signal {-status})"
    return f"could not be read: its extractor ended with status {status}"
