"""Files to documents, read ahead in workers; the file in progress.

A slow file is read in every run until it succeeds or is refused. If a run is killed while it reads
one, the next run reads that file last, so that the others are not blocked.
"""

from __future__ import annotations

import base64
import json
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import ReaderError
from lpisearch.files import read_limits
from lpisearch.ingest.discovery import download, is_address
from lpisearch.ingest.ignore import is_own_file
from lpisearch.messages import system_reason
from lpisearch.model.documents import Document, Original, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import (
    IN_PROCESS_BYTES,
    SILENT_SECONDS,
    SourceFile,
    total_seconds,
    within_budget,
)
from lpisearch.readers.isolation import IsolatedReaders
from lpisearch.readers.pdf import OCR_SECONDS
from lpisearch.readers.registry import reader_for
from lpisearch.storage.metadata import IN_PROGRESS

if TYPE_CHECKING:
    from lpisearch.ingest.discovery import DiscoveredFile
    from lpisearch.model.documents import Traits
    from lpisearch.readers.base import Reader
    from lpisearch.storage.store import Store


_LOOK_AHEAD, _LOOK_A_LITTLE_AHEAD = 128, 16  # files
_DOWNLOADS = 8  # at once
_CLOCK_SECONDS = 0.05  # between readings of the CPU clock, which need a system call


class Analysed(NamedTuple):
    """Tokens and traits that a worker made, and by which settings of a tokeniser."""

    tokens: str
    traits: Traits
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Extracted:
    """A file that has been opened."""

    file: DiscoveredFile
    source: SourceFile | None  # None if it cannot be opened
    reader: Reader | None  # None for unknown formats and the program's own files
    items: Iterator[Document | Problem]  # a problem without `where` concerns the whole file
    consumed: Callable[[], int] = int  # bytes read so far
    analysed: Callable[[], Analysed | None] = lambda: None  # of the last document

    def leave(self) -> None:
        """Stop reading."""
        if isinstance(self.items, Generator):
            self.items.close()


@dataclass(frozen=True, slots=True)
class Work:
    """What the worker processes do: how many there are, and what each file asks of them."""

    workers: int | None = None
    reads_all: bool = False  # small plain files too
    # What `IsolatedReaders.submit` is told about the tokens of a file; None leaves them out.
    tokens: Callable[[DiscoveredFile, Reader], dict[str, Any] | None] = lambda _file, _reader: None


_ALONE = Work()


def extract(
    files: Iterable[DiscoveredFile],
    options: ReadOptions,
    on_wait: Callable[[DiscoveredFile], object] = lambda _file: None,
    options_at: Callable[[str], ReadOptions] | None = None,
    work: Work = _ALONE,
) -> Iterator[Extracted]:
    """Open each file and yield it with its documents; errors of one file do not affect others.

    `on_wait` is called once with a file whose documents are waited for; `options_at` returns the
    options for the files of a folder, if they differ.
    """
    window: deque[Extracted] = deque()
    silent = OCR_SECONDS if options.ocr else SILENT_SECONDS
    with (
        IsolatedReaders(options, work.workers, silent_seconds=silent) as workers,
        TemporaryDirectory(prefix="lpisearch-") as folder,
        closing(_downloads(files, Path(folder))) as arriving,  # before their folder is removed
    ):
        for file, arrival in arriving:
            own = options_at(file.root) if options_at else options
            window.append(_begin((file, arrival), own, workers, on_wait, work))
            is_wide = work.reads_all and arrival is None
            if len(window) > (_LOOK_AHEAD if is_wide else _LOOK_A_LITTLE_AHEAD):
                yield window[0]
                _forget(window.popleft())
        while window:
            yield window[0]
            _forget(window.popleft())


def _downloads(
    files: Iterable[DiscoveredFile], folder: Path
) -> Generator[tuple[DiscoveredFile, Future[None] | None], None, None]:
    """Yield files; of those at addresses, their bytes are on the way to a folder."""
    waiting: deque[tuple[DiscoveredFile, Future[None] | None]] = deque()
    pool = ThreadPoolExecutor(_DOWNLOADS, "lpisearch-download")
    try:
        for number, file in enumerate(files):
            if is_address(file.path):
                target = folder / str(number)
                begun = pool.submit(download, file.location, target)
                waiting.append((replace(file, location=str(target)), begun))
            else:
                waiting.append((file, None))
            if len(waiting) > _DOWNLOADS:
                yield waiting.popleft()
        yield from waiting
    finally:
        pool.shutdown(cancel_futures=True)


def _forget(extracted: Extracted) -> None:
    """Remove the bytes of a file at an address, which has been read."""
    if is_address(extracted.file.path):
        Path(extracted.file.location).unlink(missing_ok=True)


def _begin(
    found: tuple[DiscoveredFile, Future[None] | None],
    options: ReadOptions,
    workers: IsolatedReaders,
    on_wait: Callable[[DiscoveredFile], object],
    work: Work,
) -> Extracted:
    file, arrival = found
    try:
        if arrival is not None:
            arrival.result()
        source = SourceFile.at(Path(file.location or file.path), PurePath(file.path).name)
        reader = None if is_own_file(source.path) else reader_for(source, options)
    except Exception as error:  # noqa: BLE001 (a defect in telling formats must not stop the run)
        return Extracted(file, None, None, iter([_problem(error)]))
    if reader is None:
        return Extracted(file, source, None, iter(()))
    limited = read_limits().seconds
    most = 2 * limited or total_seconds(source.size)
    if not limited and not work.reads_all and not needs_worker(reader, source):
        items = within_budget(reader.read(source, options), reader, options)
        return Extracted(file, source, reader, _safely(_in_time(items, most)), source.consumed)
    tokens = work.tokens(file, reader)
    wanted = (source, reader.name, lambda: on_wait(file), options, tokens)
    answer = workers.submit(*wanted, grouped=work.reads_all and not options.ocr)
    items = _safely(_in_time(answer, most, lambda: answer.seconds))

    def analysed() -> Analysed | None:
        own = answer.analysed
        return Analysed(*own, tokens["settings"]) if own and tokens else None

    return Extracted(file, source, reader, items, lambda: answer.consumed, analysed)


def needs_worker(reader: Reader, source: SourceFile) -> bool:
    """Tell whether a file is read in a worker, as all but small plain files are."""
    return reader.isolated or source.gzipped or source.size > IN_PROCESS_BYTES


def _in_time(
    items: Iterable[Document | Problem], most: float, in_worker: Callable[[], float] = float
) -> Iterator[Document | Problem]:
    """Pass items on until they have used too much processor time, storing included."""
    begun, checked = time.thread_time(), time.monotonic()
    for item in items:
        yield item
        now = time.monotonic()
        if now - checked < _CLOCK_SECONDS:
            continue
        checked = now
        if time.thread_time() - begun + in_worker() > most:
            raise ReaderError(f"gave up half-way: reading took more than {most:g} s")


def _safely(items: Iterable[Document | Problem]) -> Iterator[Document | Problem]:
    """Pass items on; turn an exception into a problem of the whole file."""
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


class InProgressFiles:
    """Stores the path of a slow file in the library while it is being read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.reading() as snapshot:
            stored = snapshot.settings.get(IN_PROGRESS) or {}
        self._path = str(stored.get("path", ""))

    def last(self, files: Iterable[DiscoveredFile]) -> list[DiscoveredFile]:
        """Return the files in order, with the one at which an earlier run ended last."""
        return sorted(files, key=lambda file: file.path == self._path)

    def begin(self, file: DiscoveredFile) -> None:
        """Record that a file makes the run wait."""
        self._keep(file.path)

    def end(self, file: DiscoveredFile) -> None:
        """Record that a file has been read or refused."""
        if self._path == file.path:
            self._keep("")

    def _keep(self, path: str) -> None:
        self._path = path
        with self._store.writing() as transaction:
            transaction.settings.set(IN_PROGRESS, {"path": path})


_PAGE, _WEB_PAGE = "PAGE", "WEB_PAGE"
_VIEWERS = {"application/pdf": _PAGE, "text/html": _WEB_PAGE, "application/xhtml+xml": _WEB_PAGE}


def original_of(path: str, media_type: str, page: int) -> Original:
    """Return how a file looks, which a worker finds out; raises `ReaderError` or `OSError`."""
    view = _VIEWERS.get(media_type)
    if view is None:
        raise ReaderError("has no look but its text")
    source = SourceFile.at(Path(path), page=page)
    if source.gzipped:
        raise ReaderError("is compressed")
    with IsolatedReaders(ReadOptions(), 1) as workers:
        (read,) = workers.submit(source, f"lpisearch.readers.originals:{view}")
    assert isinstance(read, Document)  # noqa: S101 (as these readers yield)
    if view == _WEB_PAGE:
        pairs = tuple((str(tag), str(value)) for tag, value in json.loads(read.text))
        return Original(elements=pairs)
    facts = read.metadata
    edges = iter(facts["boxes"])
    return Original(
        page=max(min(page, facts["pages"]), 1),
        pages=facts["pages"],
        width=facts["width"],
        height=facts["height"],
        image=base64.b64decode(facts["image"]),
        text=read.text,
        boxes=tuple(zip(edges, edges, edges, edges, strict=True)),
    )
