"""What all requests share: libraries, the response cache, files allowed, sent and shown."""

from __future__ import annotations

import asyncio
import hashlib
import mmap
import os
import secrets
import shutil
import stat
import struct
import sys
import tempfile
import weakref
import zlib
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from threading import Event
from typing import IO, TYPE_CHECKING, BinaryIO, TypeVar, cast

import anyio
from anyio.to_thread import run_sync

from lpisearch.agents.calls import LibraryTools
from lpisearch.agents.protocol import HttpFace
from lpisearch.files import limited_reading, make_folders, mode_of, path_below, whole_file
from lpisearch.library import server_records
from lpisearch.location import Address
from lpisearch.web.connections import Connections, most_connections
from lpisearch.web.jobs import Jobs, state_file
from lpisearch.web.metrics import Metrics
from lpisearch.web.problems import Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.requests import HTTPConnection, Request

    from lpisearch.library import Library, ServerRecords
    from lpisearch.options import ServeSettings


MOST_BYTES = 8 * 1024 * 1024
_LARGEST = 1024 * 1024


class CoalescedCall:
    """A call whose result changes, shared by all that wait for it.

    A caller never gets the result of a call that began before its request: it waits for the next.
    """

    def __init__(self, call: Callable[[], Awaitable[str]]) -> None:
        self._call = call
        self._under_way: asyncio.Future[str] | None = None
        self._next: asyncio.Future[str] | None = None

    async def get(self) -> str:
        """Return the result of a call that begins from now on."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._after(self._under_way))
        return await asyncio.shield(self._next)

    async def _after(self, before: asyncio.Future[str] | None) -> str:
        if before is not None:
            await asyncio.wait([before])
        self._under_way, self._next = self._next, None
        return await self._call()


class ResponseCache:
    """The responses used last, by ETag, compressed to at most `most` bytes; for one event loop."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._cached: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[str, asyncio.Future[bytes]] = {}

    async def get(self, etag: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return a response; concurrent requests for it wait for one computation."""
        cached = self._cached.get(etag)
        if cached is not None:
            self._cached.move_to_end(etag)
            return zlib.decompress(cached)
        waiting = self._under_way.get(etag)
        if waiting is None:
            waiting = self._under_way[etag] = asyncio.ensure_future(make())
            waiting.add_done_callback(lambda made: self._add(etag, made))
        return await asyncio.shield(waiting)

    def _add(self, etag: str, made: asyncio.Future[bytes]) -> None:
        del self._under_way[etag]
        if made.cancelled() or made.exception() is not None:
            return
        if len(made.result()) > _LARGEST:
            return
        content = zlib.compress(made.result(), 1)  # a quarter, in a tenth of a millisecond
        self._cached[etag] = content
        self._bytes += len(content)
        while self._bytes > self._most:
            _, gone = self._cached.popitem(last=False)
            self._bytes -= len(gone)


T = TypeVar("T")
# Computations hold the interpreter, so that more threads than cores wait for each other: with four
# on two cores, 50 concurrent clients got a quarter fewer answers.
_LEAST_THREADS = 2
FILE_SECONDS = 10.0  # of a processor, for a file that is sent to be classified or compared
_MOST_FILES = 16  # that are being received, read, or wait
_MOST_THREADS = 1000


_MOST_RECORDING = 8
_ALLOWED_SECONDS = 30 * 24 * 3600.0
_SALT = b"lpisearch sessions"
_SCRYPT = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 32}
_ADDRESSES, _WAYS = 1 << 14, 8
_BUCKET = struct.Struct("8sdd")


class RateTable:
    """Token buckets of addresses, in memory that the processes of a server share.

    An address has a place in one row of the table; the row gives the place that was used longest
    ago to an address that has none.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._table = mmap.mmap(-1, _ADDRESSES * _BUCKET.size)
        with tempfile.TemporaryFile() as file:
            self._lock = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._lock)

    def take(self, address: str, rate: float, burst: float, now: float) -> bool:
        """Take a token from the bucket of an address, which fills with time, if there is one."""
        digest = hashlib.blake2b(address.encode(), key=self._key, digest_size=16).digest()
        key, row = digest[:8], int.from_bytes(digest[8:], "big") % (_ADDRESSES // _WAYS)
        places = [(row * _WAYS + way) * _BUCKET.size for way in range(_WAYS)]
        with self._locked():
            found = [(_BUCKET.unpack_from(self._table, place), place) for place in places]
            (_, left, then), place = next(
                (one for one in found if one[0][0] == key),
                ((key, burst, now), min(found, key=lambda one: one[0][2])[1]),
            )
            left = min(left + max(0.0, now - then) * rate, burst)
            _BUCKET.pack_into(self._table, place, key, left - 1 if left >= 1 else left, now)
        return bool(left >= 1)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Exclude the other processes; the lock of one that dies ends with it."""
        if sys.platform == "win32":  # where a server has one process
            yield
            return
        import fcntl

        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)


@dataclass(frozen=True, eq=False)
class ServerMemory:
    """What the processes of one server share in memory; made before they begin.

    Attributes
    ----------
    secret
        Signs cookies where there is no token.
    rates
        How often each address may still send a request.
    metrics
        Counts of requests.
    folder
        Where records are, if not in the user's state folder.
    """

    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    rates: RateTable = field(default_factory=RateTable)
    metrics: Metrics = field(default_factory=Metrics)
    folder: Path | None = None


class Gone(Exception):
    """The client has closed its connection before its turn came."""


@dataclass(frozen=True, eq=False)
class WebState:
    """The state that all requests share: `request.app.state.lpisearch`."""

    library: Library  # open, and used by several threads
    settings: ServeSettings
    answers: ResponseCache = field(default_factory=ResponseCache)
    memory: ServerMemory = field(default_factory=ServerMemory, repr=False)
    # The libraries of this server, this one too: their names and ports.
    shelf: list[tuple[str, int]] = field(default_factory=list)
    worker: int = 0  # the number of this process
    starting: Event = field(default_factory=Event, repr=False)  # set until the index is open

    @cached_property
    def connections(self) -> Connections:
        """The open connections."""
        most = most_connections(self.settings.limits.connections)
        return Connections(most, self.settings.is_proxy)

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self.settings.read_only

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders whose files may be added."""
        return (*self.settings.roots, *self._allowed)

    @property
    def can_allow_home(self) -> bool:
        """Whether the page may ask for the home folder: on the machine of its reader."""
        return not self.roots and self.settings.is_local and not self.read_only

    def allow(self, folder: Path) -> None:
        """Allow a folder until the server ends, for a person at this machine."""
        self.records.set_value(self._allowing, str(folder), _ALLOWED_SECONDS)

    @property
    def _allowed(self) -> tuple[Path, ...]:
        if self.settings.roots or not self.settings.is_local:
            return ()
        folder = self.records.value(self._allowing)
        return () if folder is None else (Path(folder),)

    @property
    def _allowing(self) -> str:
        return f"allowed:{hashlib.sha256(self.memory.secret).hexdigest()[:32]}"

    @cached_property
    def secret(self) -> bytes:
        """What signs cookies and tokens of forms: the same for all servers with one token."""
        token = self.settings.token.encode("utf-8", "replace")
        # Slow, since a token of a form is shown to those who have not logged in: nobody can try
        # many secrets against it.
        return hashlib.scrypt(token, salt=_SALT, **_SCRYPT) if token else self.memory.secret

    @cached_property
    def records(self) -> ServerRecords:
        """What all servers of the library share."""
        path = self.library.path
        own = self.memory.folder or state_file(path, "servers").parent
        return server_records(path, own / f"{state_file(path, 'servers').name}.db")

    async def recorded(self, work: Callable[[], T]) -> T:
        """Read or write records in a thread, without waiting for other work."""
        return await run_sync(work, limiter=self._recording)

    @cached_property
    def jobs(self) -> Jobs:
        """The jobs."""
        return Jobs(self.records, self.settings.limits.jobs_kept)

    @cached_property
    def assistants(self) -> HttpFace:
        """The face for assistants; it changes nothing."""
        return HttpFace(LibraryTools({"library": self.library}))

    async def in_thread(self, work: Callable[[], T], request: Request | None = None) -> T:
        """Do slow work in one of a few threads, in the order of requests.

        Work for a client that has gone meanwhile is not begun: `Gone`.
        """
        async with self._limiter:
            if request is not None and await request.is_disconnected():
                raise Gone
            return await run_sync(work, limiter=self._unlimited)

    async def in_turn(self, work: Callable[[], T]) -> T:
        """Do a piece of long work in a thread, one piece at a time, beside `in_thread`."""
        return await run_sync(work, limiter=self._turns)

    async def with_file(self, work: Callable[[], T]) -> T:
        """Read a file of somebody else in a thread, one file at a time, in a limited time."""

        def limited() -> T:
            with limited_reading(seconds=FILE_SECONDS):
                return work()

        return await run_sync(limited, limiter=self._files)

    @contextmanager
    def file_place(self) -> Iterator[None]:
        """Keep a place for a file while it is received and read; refuse it if all are taken."""
        owner = object()
        try:
            self._file_places.acquire_on_behalf_of_nowait(owner)
        except anyio.WouldBlock:
            raise Refusal(503, "Too many files at once; try again later.") from None
        try:
            yield
        finally:
            self._file_places.release_on_behalf_of(owner)

    async def mark(self) -> str:
        """Return the current state of the library, without waiting for other work."""
        return await self._marks.get()

    @cached_property
    def _marks(self) -> CoalescedCall:
        limiter = anyio.CapacityLimiter(1)
        return CoalescedCall(lambda: run_sync(self.library.state, limiter=limiter))

    @cached_property
    def _recording(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(_MOST_RECORDING)

    @cached_property
    def _unlimited(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(_MOST_THREADS)

    @cached_property
    def _turns(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(1)

    @cached_property
    def _files(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(1)

    @cached_property
    def _file_places(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(_MOST_FILES)

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(max(os.cpu_count() or 1, _LEAST_THREADS))


def state_of(request: HTTPConnection) -> WebState:
    """Return the shared state of a request."""
    return cast("WebState", request.app.state.lpisearch)


_NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
LONGEST_NAME, _DEEPEST = 200, 10
_CHUNK = 1 << 18
_FORBIDDEN = "That path is outside the allowed folders."


def uploads_folder(state: WebState) -> Path:
    """Return the folder of uploads."""
    if state.settings.uploads is not None:
        return state.settings.uploads
    path = state.library.path
    if isinstance(path, Address):
        from platformdirs import user_data_path

        return user_data_path("lpisearch", appauthor=False) / "uploads" / path.key
    return path.with_name(f"{path.stem}.uploads")


def allowed_path(state: WebState, named: str) -> Path:
    """Return the real path of a file or folder that may be ingested."""
    if not named or "\0" in named:
        raise Refusal(422, "A path is missing.")
    path = path_below(named, allowed_folders(state))
    if path is None:
        raise Refusal(403, _FORBIDDEN)
    return path


def open_original(state: WebState, path: str) -> BinaryIO:
    """Open the original file of a document, if it may be downloaded.

    It must be below an allowed folder, or be ingested under its own path and not be a link.
    """
    try:
        real = Path(path).resolve(strict=True)
        below = any(real.is_relative_to(root) for root in allowed_folders(state))
        if not below and not (str(real) == path and state.library.is_source(path)):
            raise Refusal(403, "The original file is outside the allowed folders.")
        descriptor = os.open(real, os.O_RDONLY | _NOT_THROUGH_LINKS)
    except (OSError, ValueError, RuntimeError):
        raise Refusal(404, "The original file no longer exists.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refusal(403, "The original is not a regular file.")
    return os.fdopen(descriptor, "rb")


def chunks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield a file in chunks, and close it."""
    with stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def save_upload(state: WebState, name: str, sent: IO[bytes]) -> Path:
    """Save a file below the folder of uploads, over an earlier version; return its path."""
    parts = name.replace("\\", "/").split("/")
    if not 0 < len(parts) <= _DEEPEST or not all(map(_is_plain, parts)):
        raise Refusal(422, "Invalid file name.")
    folder = uploads_folder(state)
    target, mode = folder.joinpath(*parts), mode_of(state.library.path)
    try:
        make_folders(target.parent, mode)
        if not target.parent.resolve().is_relative_to(folder.resolve()):
            raise Refusal(403, _FORBIDDEN)
        with whole_file(target, mode) as stream:
            shutil.copyfileobj(sent, stream)
    except (FileExistsError, IsADirectoryError, NotADirectoryError):
        raise Refusal(409, "The name is that of a folder, or below that of a file.") from None
    except OSError:
        raise Refusal(507, "The file could not be saved.") from None
    return target


def _is_plain(part: str) -> bool:
    return (
        part not in {"", ".", ".."}
        and len(part.encode("utf-8", "replace")) <= LONGEST_NAME
        and part.isprintable()
        and not part.startswith((".", "~"))
        and part == part.encode("utf-8", "replace").decode()
    )


def subfolders(state: WebState, named: str) -> tuple[Path, list[Path], int]:
    """Return an allowed folder, its folders that are not hidden, and the number of its files."""
    folder = allowed_path(state, named)
    try:
        inside = sorted(folder.iterdir(), key=lambda path: path.name.casefold())
    except OSError:
        raise Refusal(403, "The folder cannot be read.") from None
    plain = [path for path in inside if not path.name.startswith(".") and not path.is_symlink()]
    return folder, [path for path in plain if path.is_dir()], sum(map(Path.is_file, plain))


def allowed_folders(state: WebState) -> list[Path]:
    """Return the real paths of the folders whose files may be ingested and downloaded."""
    folders = (*state.roots, uploads_folder(state))
    return [Path(os.path.realpath(folder)) for folder in folders]


@contextmanager
def named_file(sent: Path | None, name: str) -> Iterator[Path]:
    """Provide a sent file under its name, which tells readers its format."""
    plain = PurePosixPath(name.replace("\\", "/")).name
    is_name = plain not in {"", ".."} and len(plain.encode()) <= LONGEST_NAME
    if sent is None or not is_name or not plain.isprintable():
        raise Refusal(422, "name is not the name of a file.")
    with tempfile.TemporaryDirectory(prefix="lpisearch-file-") as folder:
        target = Path(folder) / plain
        shutil.copyfile(sent, target)
        yield target
