"""Extract documents from files in order, with slow extractors running ahead."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.ingest.own_files import is_own_file
from lpisearch.readers.base import SourceFile
from lpisearch.readers.budget import within_budget
from lpisearch.readers.isolation import IsolatedReaders
from lpisearch.readers.limits import IN_PROCESS_BYTES, SILENT_SECONDS, total_seconds
from lpisearch.readers.ocr import OCR_SECONDS
from lpisearch.readers.registry import reader_for
from lpisearch.records import Problem
from lpisearch.wording import system_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lpisearch.ingest.discovery import FoundFile
    from lpisearch.readers.base import Reader
    from lpisearch.records import Document
    from lpisearch.settings import ReadOptions

_LOOK_AHEAD = 16

# The processor's clock takes a call of the system: not for each of a million small documents.
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Extracted:
    """A file that has been opened.

    Attributes
    ----------
    file, source
        What was found, and its bytes (None if it cannot be opened).
    reader
        None if the file is of no known format, or one of the program's own.
    items
        Its documents and problems; a problem without a place means the file as a whole.
    consumed
        Tells how many bytes of the file have been read.
    """

    file: FoundFile
    source: SourceFile | None
    reader: Reader | None
    items: Iterator[Document | Problem]
    consumed: Callable[[], int] = int

    def leave(self) -> None:
        """Read no further."""
        if isinstance(self.items, Generator):
            self.items.close()


def extract(
    files: Iterable[FoundFile],
    options: ReadOptions,
    on_wait: Callable[[FoundFile], object] = lambda _file: None,
) -> Iterator[Extracted]:
    """Open each file and yield it with its documents; no failure of a file goes beyond it.

    `on_wait` is called with a file whose documents are waited for, once, where they are taken.
    """
    window: deque[Extracted] = deque()
    silent = OCR_SECONDS if options.ocr else SILENT_SECONDS
    with IsolatedReaders(options, silent_seconds=silent) as workers:
        for file in files:
            window.append(_begin(file, options, workers, on_wait))
            if len(window) > _LOOK_AHEAD:
                yield window.popleft()
        while window:
            yield window.popleft()


def _begin(
    file: FoundFile,
    options: ReadOptions,
    workers: IsolatedReaders,
    on_wait: Callable[[FoundFile], object],
) -> Extracted:
    try:
        source = SourceFile.at(Path(file.location or file.path), PurePath(file.path).name)
        reader = None if is_own_file(source.path) else reader_for(source, options)
    except Exception as error:  # noqa: BLE001 (a defect in telling formats must not stop the run)
        return Extracted(file, None, None, iter([_problem(error)]))
    if reader is None:
        return Extracted(file, source, None, iter(()))
    most = total_seconds(source.size)
    if not needs_worker(reader, source):
        items = within_budget(reader.read(source, options), reader, options)
        return Extracted(file, source, reader, _safely(_in_time(items, most)), source.consumed)
    answer = workers.submit(source, reader.name, lambda: on_wait(file))
    items = _in_time(answer, most, lambda: answer.seconds)
    return Extracted(file, source, reader, _safely(items), lambda: answer.consumed)


def needs_worker(reader: Reader, source: SourceFile) -> bool:
    """Tell whether a file is read in a worker: all but small plain files of simple formats are."""
    return reader.isolated or source.gzipped or source.size > IN_PROCESS_BYTES


def _in_time(
    items: Iterable[Document | Problem], most: float, in_worker: Callable[[], float] = float
) -> Iterator[Document | Problem]:
    """Pass items on until they have taken too much processor time, storing them included."""
    begun, looked = time.thread_time(), time.monotonic()
    for item in items:
        yield item
        now = time.monotonic()
        if now - looked < _LOOK_SECONDS:
            continue
        looked = now
        if time.thread_time() - begun + in_worker() > most:
            raise ReaderError(f"gave up half-way: reading took more than {most:g} s")


def _safely(items: Iterable[Document | Problem]) -> Iterator[Document | Problem]:
    """Pass items on; turn whatever ends them early into a problem of the whole file."""
    try:
        yield from items
    except Exception as error:  # noqa: BLE001 (a defect in one reader must not stop the run)
        yield _problem(error)


def _problem(error: Exception) -> Problem:
    if isinstance(error, ReaderError):
        return Problem(error.what)
    if isinstance(error, OSError):  # of the system, not of the file
        return Problem(system_reason(error), passing=True)
    return Problem(f"the reader failed ({type(error).__name__}: {error})")
