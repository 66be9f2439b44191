"""Files to documents, read ahead in workers; the file in progress.

A slow file is read in every run until it succeeds or is refused. If a run is killed while it reads
one, the next run reads that file last, so that the others are not blocked.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import ClusterError, ReaderError
from lpisearch.files import read_limits
from lpisearch.ingest.discovery import DiscoveredFile, download, is_address
from lpisearch.messages import system_reason
from lpisearch.model.documents import Document, Original, Problem, Traits
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers.base import (
    IN_PROCESS_BYTES,
    SILENT_SECONDS,
    SourceFile,
    total_seconds,
    within_budget,
)
from lpisearch.readers.isolation import IsolatedReaders, ReadRequest, WorkerProcess
from lpisearch.readers.pdf import OCR_SECONDS
from lpisearch.readers.registry import reader_for
from lpisearch.storage import is_own_content
from lpisearch.storage.metadata import IN_PROGRESS

if TYPE_CHECKING:
    from lpisearch.numeric.dask_cluster import Cluster
    from lpisearch.readers.base import Reader
    from lpisearch.readers.worker import Frame
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
    cluster: Cluster | None = None  # whose workers have the processes


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
    readers = (
        IsolatedReaders(options, work.workers, silent_seconds=silent)
        if work.cluster is None
        else ClusterReaders(work.cluster, options, silent_seconds=silent)
    )
    with (
        readers as workers,
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
        name = os.path.basename(file.path)  # noqa: PTH119 (a Path takes longer)
        source = SourceFile.at(Path(file.location or file.path), name)
        reader = None if is_own_content(source.start) else reader_for(source, options)
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
    except ClusterError:  # the run ends: the next one goes on with this file
        raise
    except Exception as error:  # noqa: BLE001 (a defect in one reader must not stop the run)
        yield _problem(error)


def _problem(error: Exception) -> Problem:
    if isinstance(error, ReaderError):
        return Problem(error.what)
    if isinstance(error, OSError):  # of the system, not of the file
        return Problem(system_reason(error), passing=True)
    return Problem(f"the reader failed ({type(error).__name__}: {error})")


_MOST_SENT = 16 * MEBIBYTE
_PROCESSES: dict[tuple[str, int], WorkerProcess] = {}  # on a worker, by run and thread


class _Answer(NamedTuple):
    """The packs of a file as far as it could be read, and why no further."""

    packs: list[Frame]
    error: Exception | None


@dataclass(frozen=True, slots=True)
class _ReadThere:
    """Reads files in a process that a worker of a cluster has for one run."""

    run: str
    memory: int

    def __call__(self, part: _Part) -> list[_Answer] | None:
        """Return the answers; None if this machine does not have the files."""
        if part.contents is None:
            is_here = part.facts == [_facts(one) for one in part.requests]
            return self._answers(part.requests) if is_here else None
        with TemporaryDirectory(prefix="lpisearch-") as folder:
            requests = []
            for number, content in enumerate(part.contents):
                path = Path(folder) / str(number)
                path.write_bytes(content)
                source = part.requests[number]["source"] | {"path": str(path)}
                requests.append(part.requests[number] | {"source": source})
            return self._answers(requests)

    def _answers(self, requests: list[dict[str, Any]]) -> list[_Answer]:
        answers, thread = [], (self.run, threading.get_ident())
        for number, request in enumerate(requests):
            process = _PROCESSES.get(thread)
            if process is None or not process.usable:
                process = _PROCESSES[thread] = WorkerProcess(self.memory)
            answer = _Answer([], None)
            try:
                for pack in process.packs(request, requests[number + 1 :]):
                    answer.packs.append(pack)
            except (ReaderError, OSError) as error:
                answer = answer._replace(error=error)
            if not process.usable:
                _PROCESSES.pop(thread, None)
                process.stop()
            answers.append(answer)
        return answers


class _Part(NamedTuple):
    """What a worker of a cluster is asked to read: size and time of the files, or their bytes."""

    requests: list[dict[str, Any]]
    facts: list[tuple[int, int] | None]
    contents: list[bytes] | None = None


def _facts(request: dict[str, Any]) -> tuple[int, int] | None:
    try:
        status = os.stat(request["source"]["path"])  # noqa: PTH116 (a string)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _end_processes(run: str) -> None:
    """End the processes that a worker of a cluster had for one run."""
    for name in [name for name in _PROCESSES if name[0] == run]:
        _PROCESSES.pop(name).stop()


class ClusterReaders(IsolatedReaders):
    """Reads files in processes of the workers of a Dask cluster.

    A worker opens a file where it is, if it sees the same file there. Else it is sent its bytes, so
    addresses are only fetched by this machine; what is too large to be sent is read here.
    """

    def __init__(self, cluster: Cluster, options: ReadOptions, *, silent_seconds: float) -> None:
        threads = 2 * max(1, sum(cluster.client.nthreads().values()))  # so that none is idle
        super().__init__(options, threads, silent_seconds=silent_seconds)
        self._cluster = cluster
        self._there = _ReadThere(secrets.token_hex(8), self._memory)

    def close(self) -> None:
        """End the processes here and there, and what they are reading."""
        self._end()
        super().close()
        self._end()

    def _end(self) -> None:
        with suppress(ClusterError):
            self._cluster.run_on_workers(_end_processes, self._there.run)

    def _read(self, group: deque[ReadRequest]) -> None:
        requests = [request for request, _ in group]
        answers = self._answers(_Part(requests, [*map(_facts, requests)]))
        if answers is None:
            super()._read(group)
            return
        for answer in answers:
            _, stream = group.popleft()
            for pack in answer.packs:
                if not stream.put(pack):
                    break
            stream.end(answer.error)

    def _answers(self, part: _Part) -> list[_Answer] | None:
        (answers,) = self._cluster.map(self._there, [part])
        size = sum(one[0] if one else _MOST_SENT + 1 for one in part.facts)
        if answers is not None or size > _MOST_SENT:
            return answers
        with suppress(OSError):  # which is stated when it is read here
            paths = (Path(one["source"]["path"]) for one in part.requests)
            part = part._replace(contents=[path.read_bytes() for path in paths])
            (answers,) = self._cluster.map(self._there, [part])
        return answers


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
