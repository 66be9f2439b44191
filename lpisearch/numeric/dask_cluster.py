"""Dask cluster: find, start, check, run.

What goes to a worker is bytes of our own (`lpisearch.numeric.dask_cluster`): the work with its
part, small, and large arrays apart, each sent once for all parts. Results come back in the order of
the parts, a few of which are on their way at a time. Dask gives the parts of a worker that died to
another one; what this process had sent lies with the scheduler until its results are there.

In goes an address or a number of processes, out comes a `Cluster`. What cannot work is said before
anything is begun: nobody at the address, other versions than here, a folder that is not shared.

Large arrays are not part of the bytes. One that is mapped from a file becomes the file's name: who
reads the bytes maps it too, and may write to it if the sender may. Any other is named by a number
and sent apart, once, however often it is a part of what is sent.

Bytes of this form are code: only those of the user's own processes are read (SECURITY.md).
"""

from __future__ import annotations

import io
import logging
import pickle
import re
import secrets
import signal
import socket
import sys
import time
import warnings
from collections import OrderedDict, deque
from concurrent.futures import CancelledError as Cancelled
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from lpisearch.errors import (
    BadOption,
    ClusterLost,
    ClusterMismatch,
    ClusterMissing,
    ClusterUnreachable,
    FolderNotShared,
    LpiSearchError,
)
from lpisearch.files import ANYONE, create, folder_mode
from lpisearch.numeric.executor import TransferStats
from lpisearch.numeric.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from distributed import Client, Future
    from numpy.typing import NDArray

    Array = NDArray[Any]


T = TypeVar("T")

# Parts that wait for each thread that works: none of them is ever without work.
_AHEAD = 2
_LOOK_SECONDS = 2.0  # how often is looked whether anybody still works
_ALONE_SECONDS = 60.0  # so long may a cluster be without workers: they are started anew
_MOST_LOSSES = 10  # so often in a row may what was sent get lost
_CONSTANTS = 32


@dataclass(frozen=True, slots=True)
class Packet:
    """Work and a part as bytes. No log shows them: there may be a password in them."""

    content: bytes = field(repr=False)


class Done(NamedTuple):
    """What came of a part.

    Attributes
    ----------
    content
        The result as bytes, or the error.
    failed
        Whether it is an error.
    seconds
        Of the processor.
    """

    content: bytes
    failed: bool
    seconds: float


@dataclass(slots=True)
class _Sent:
    """A part on its way."""

    content: bytes
    arrays: list[Future[Any]]
    future: Future[Done]


class Cluster:
    """Does work on parts on the workers of a cluster: it keeps the contract `Executor`.

    Parameters
    ----------
    client
        Connected to the scheduler.
    name
        How the cluster is called in texts.
    versions
        Of the libraries here: a worker that has others refuses to work.
    """

    is_remote = True

    def __init__(self, client: Client, name: str, versions: str) -> None:
        self.client = client
        self.name = name
        self._versions = versions
        self.stats = TransferStats()

    def map(self, work: Callable[[Any], T], parts: Iterable[Any]) -> Iterator[T]:
        """Call `work` for each part; yield the results in the order of the parts."""
        ahead = _AHEAD * max(1, sum(self._threads().values()))
        constants = _Constants(self)
        waiting: deque[_Sent] = deque()
        try:
            for part in parts:
                waiting.append(self._send((work, part), constants))
                if len(waiting) > ahead:
                    yield self._result(waiting)
            while waiting:
                yield self._result(waiting)
        finally:
            self._forget(waiting)

    def everywhere(self, function: Callable[..., Any], *given: Any) -> dict[str, Any]:
        """Call a function once on each worker; return results, or errors, by its address."""
        with self._stated():
            found: dict[str, Any] = self.client.run(function, *given, on_error="return")
        return found

    def share(self, array: NDArray[Any]) -> Future[Any]:
        """Send an array that many parts need."""
        self._count(shared=array.nbytes)
        with self._stated():
            return self.client.submit(_as_it_is, array, pure=False)

    def _threads(self) -> dict[str, int]:
        with self._stated():
            return dict(self.client.nthreads())

    def _send(self, task: Any, constants: _Constants) -> _Sent:
        content, arrays = packed(task)
        futures = [constants.future(array) for array in arrays]
        return _Sent(content, futures, self._submit(content, futures))

    def _submit(self, content: bytes, arrays: list[Future[Any]]) -> Future[Done]:
        self._count(sent=len(content))
        with self._stated():
            return self.client.submit(run, Packet(content), self._versions, *arrays, pure=False)

    def _result(self, waiting: deque[_Sent]) -> Any:
        """Wait for the first part that waits; what got lost on the way is sent again."""
        for _ in range(_MOST_LOSSES):
            try:
                done = self._wait(waiting[0].future)
            except Cancelled:
                self._check()
                for each in waiting:
                    each.future = self._submit(each.content, each.arrays)
                continue
            waiting.popleft()
            self._count(parts=1, received=len(done.content), processor_seconds=done.seconds)
            found = unpacked(done.content)
            if done.failed:
                raise found
            return found
        raise ClusterLost(self.name, "messages to it keep getting lost")

    def _wait(self, future: Future[Done]) -> Done:
        from distributed import KilledWorker

        begun = time.monotonic()
        while True:
            try:
                return Done(*future.result(timeout=_LOOK_SECONDS))
            except TimeoutError:
                if self._check():
                    begun = time.monotonic()
                if time.monotonic() - begun > _ALONE_SECONDS:
                    raise ClusterLost(self.name, "it has no workers left") from None
            except KilledWorker as error:
                reason = f"{error.allowed_failures + 1} workers died on the same task"
                raise ClusterLost(self.name, f"{reason} (out of memory?)") from None

    def _check(self) -> int:
        """Return how many workers there are.

        Raises
        ------
        ClusterLost
        """
        if self.client.status != "running":
            raise ClusterLost(self.name, "lost the connection to its scheduler")
        return len(self._threads())

    @contextmanager
    def _stated(self) -> Iterator[None]:
        """Turn the errors of a connection that broke into one of ours."""
        gone = ClusterLost(self.name, "lost the connection to its scheduler")
        if self.client.status != "running":
            raise gone
        try:
            yield
        except (OSError, RuntimeError, Cancelled) as error:
            if self.client.status == "running" and not isinstance(error, OSError):
                raise
            raise gone from error

    def _forget(self, waiting: Iterable[_Sent]) -> None:
        """Let go of what waits; who is asked to end must not wait for a scheduler that is gone."""
        if self.client.status == "running":
            self.client.cancel([each.future for each in waiting])

    def _count(self, **more: Any) -> None:
        self.stats += TransferStats(**more)


class _Constants:
    """Large arrays that are sent once, for as long as they come again and again."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sent: OrderedDict[int, tuple[NDArray[Any], Future[Any]]] = OrderedDict()

    def future(self, array: NDArray[Any]) -> Future[Any]:
        """Return what stands for an array on the workers."""
        known = self._sent.pop(id(array), None)
        if known is None:
            known = array, self._cluster.share(array)
        self._sent[id(array)] = known
        while len(self._sent) > _CONSTANTS:
            self._sent.popitem(last=False)
        return known[1]


def run(packet: Packet, versions: str, *arrays: Any) -> Done:
    """Do the work on a part: what a worker is asked to do, and all that it is asked to do."""
    begun = time.thread_time()
    try:
        if versions != own_versions():
            raise ClusterMismatch("A worker", own_versions(), versions)  # noqa: TRY301
        work, part = unpacked(packet.content, arrays)
        with one_blas_thread():
            found = work(part)
        result, failed = packed(found, apart=False)[0], False
    except Exception as error:  # noqa: BLE001 (it is raised where it was asked)
        result, failed = _error_as_bytes(error), True
    return Done(result, failed, time.thread_time() - begun)


def _as_it_is(array: Any) -> Any:
    return array


def _error_as_bytes(error: Exception) -> bytes:
    """Return an error so that it can be raised elsewhere, whatever it was built from."""
    if isinstance(error, LpiSearchError):
        return packed(LpiSearchError(error.what, error.next_step))[0]
    try:
        content = pickle.dumps(error, protocol=5)
        pickle.loads(content)  # noqa: S301 (of this process)
    except Exception:  # noqa: BLE001 (what cannot be sent is told)
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"), protocol=5)
    return content


_CONNECT_SECONDS = 10.0
_WORKER_SECONDS = 60.0
_CLOSE_SECONDS = 5.0
_ADDRESS = re.compile(r"(tcp|tls)://\S+:\d{1,5}")
_COMPARED = ("lpisearch", "numpy", "scipy", "scikit-learn", "distributed")
_SETTINGS = {
    # What is sent together is large, and meant to be.
    "distributed.admin.large-graph-warning-threshold": "1TiB",
    "distributed.comm.timeouts.connect": f"{_CONNECT_SECONDS:g}s",
    # Pages of files that are mapped count as memory of a worker, and must not stop it.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    # A cluster of our own is not watched: that took more of the processor than a small build.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    # It serves no pages either.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


@cache
def own_versions() -> str:
    """Return the versions that have to be the same for the same result."""
    python = f"python {sys.version_info.major}.{sys.version_info.minor}"
    return ", ".join([python, *(f"{name} {version(name)}" for name in _COMPARED)])


@contextmanager
def cluster_at(address: str) -> Iterator[Cluster]:
    """Give the cluster of a scheduler.

    Raises
    ------
    BadOption
        That is no address.
    ClusterMissing, ClusterUnreachable, ClusterMismatch
    """
    _need_distributed()
    if not _ADDRESS.fullmatch(address):
        raise BadOption("cluster", f"“{address}” is not an address such as tcp://HOST:8786")
    from distributed import Client

    _check_heard(address)
    with _quiet():
        try:
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = "no response" if isinstance(error, OSError) else str(error)
            raise ClusterUnreachable(address, reason) from error
        with _closing(client):
            yield _joined(client, address)


@contextmanager
def local_cluster(workers: int) -> Iterator[Cluster]:
    """Give a cluster of processes of this machine, which end when the block does, or this process.

    Raises
    ------
    ClusterMissing, ClusterUnreachable
    """
    _need_distributed()
    if workers < 1:
        raise BadOption("workers", f"must be at least 1, not {workers}")
    from distributed import Client, LocalCluster, Security

    with _quiet():
        try:
            with _interrupts_wait():
                processes = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    memory_limit=None,
                    dashboard_address="127.0.0.1:0",
                    # Others on this machine can reach its ports, and have no key.
                    security=Security.temporary(),
                    silence_logs=logging.CRITICAL,
                )
        except (OSError, RuntimeError, TimeoutError) as error:
            raise ClusterUnreachable("this machine", str(error)) from error
        with _closing(processes):
            client = Client(processes, set_as_default=False)
            with _closing(client):
                yield _joined(client, f"{workers} processes on this machine")


def check_shared(cluster: Cluster, folder: Path, mode: int = ANYONE) -> None:
    """Look whether every worker reads and writes the files of a folder, as they are of this mode.

    Raises
    ------
    FolderNotShared
    """
    token = secrets.token_hex(8)
    mark = folder / f".{token}.shared"
    folder.mkdir(folder_mode(mode), parents=True, exist_ok=True)
    try:
        with create(mark, mode) as stream:
            stream.write(token.encode())
        seen = cluster.everywhere(_answers, str(mark), token)
        for address, answered in seen.items():
            own = mark.with_name(f".{token}.{answered}")
            if not isinstance(answered, str) or not own.is_file():
                raise FolderNotShared(folder, address)
    finally:
        for each in folder.glob(f".{token}.*"):
            each.unlink(missing_ok=True)


def is_one_machine(cluster: Cluster) -> bool:
    """Tell whether all workers are on this machine, where SQLite lets them read its files."""
    own = _machine()
    return all(each == own for each in cluster.everywhere(_machine).values())


def _check_heard(address: str) -> None:
    """Knock once: Dask would go on knocking for a while where nobody listens."""
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise ClusterUnreachable(address, "no response") from error


def _joined(client: Any, name: str) -> Cluster:
    """Wait for the first worker, and compare versions."""
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError as error:
        raise ClusterUnreachable(name, "it has no workers") from error
    own = own_versions()
    cluster = Cluster(client, name, own)
    found = cluster.everywhere(own_versions)
    for address, there in found.items():
        if there != own:
            said = there if isinstance(there, str) else "no lpisearch"
            raise ClusterMismatch(f"The worker {address}", said, own)
    return cluster


def _machine() -> str:
    """Return what tells this machine from others."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return socket.gethostname()


def _answers(mark: str, token: str) -> str:
    """Write an answer beside a mark that this worker can read; "" if it cannot."""
    path = Path(mark)
    own = secrets.token_hex(4)
    try:
        if path.read_text(encoding="utf-8") != token:
            return ""
        path.with_name(f".{token}.{own}").write_text(token)
    except OSError:
        return ""
    return own


def _need_distributed() -> None:
    try:
        import cryptography  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise ClusterMissing from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's notes from the screen: what matters is an error of ours."""
    import dask
    import distributed  # noqa: F401 (its settings are set when it is imported)

    logger = logging.getLogger("distributed")
    before = logger.level
    with ExitStack() as held:
        held.enter_context(dask.config.set(_SETTINGS))
        held.callback(logger.setLevel, before)
        logger.setLevel(logging.CRITICAL)
        held.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", module="distributed")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        yield


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Have Ctrl-C wait until the block ends: half a cluster can neither work nor be closed.

    Threads and processes that are begun meanwhile, and theirs, never hear it: they end with us.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # if it came later, those after it would hear again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _closing(each: Any) -> Iterator[None]:
    """Close a connection or a cluster, also where what it speaks with is gone already."""
    try:
        yield
    finally:
        with _interrupts_wait(), suppress(OSError, TimeoutError, RuntimeError):
            each.close(timeout=_CLOSE_SECONDS)


APART_FROM = 1 << 16
"""From so many bytes on an array is sent apart."""
_FILE, _APART = "file", "apart"


def packed(value: Any, *, apart: bool = True) -> tuple[bytes, list[Array]]:
    """Return a value as bytes, and the large arrays that belong to it.

    With `apart` false all arrays but those of files are in the bytes.
    """
    stream = io.BytesIO()
    packer = _Packer(stream, apart=apart)
    packer.dump(value)
    return stream.getvalue(), packer.arrays


def unpacked(content: bytes, arrays: Sequence[Array] = ()) -> Any:
    """Return the value of bytes that `packed` gave, and of the arrays."""
    return _Unpacker(io.BytesIO(content), arrays).load()


class _Packer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, *, apart: bool) -> None:
        super().__init__(stream, protocol=5)
        self.arrays: list[Array] = []
        self._apart = apart

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, np.ndarray) or obj.dtype.hasobject:
            return None
        if isinstance(obj, np.memmap):
            place = _in_file(obj)
            if place is not None:
                return _FILE, *place
        if not self._apart or obj.nbytes < APART_FROM:
            return None
        for number, known in enumerate(self.arrays):
            if known is obj:
                return _APART, number
        self.arrays.append(obj)
        return _APART, len(self.arrays) - 1


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, arrays: Sequence[Array]) -> None:
        super().__init__(stream)
        self._arrays = arrays

    def persistent_load(self, pid: Any) -> Any:
        kind, *place = pid
        if kind == _APART:
            return self._arrays[place[0]]
        path, mode, begin, shape, dtype = place
        return np.memmap(path, dtype, mode, begin, shape)


def _in_file(array: np.memmap[Any, Any]) -> tuple[str, str, int, tuple[int, ...], str] | None:
    """Return where the numbers of a mapped array lie; None of what is not a piece of a file."""
    import mmap

    mapped = array._mmap  # type: ignore[attr-defined]  # noqa: SLF001 (as joblib does)
    if mapped is None or array.filename is None or not array.flags.c_contiguous or not array.size:
        return None
    first = np.frombuffer(mapped, np.uint8).ctypes.data  # where the mapping begins in memory
    within = array.ctypes.data - first
    if not 0 <= within <= len(mapped) - array.nbytes:
        return None  # worked out from what is mapped, and no longer a piece of it
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY + within
    mode = "r+" if array.flags.writeable else "r"
    return str(array.filename), mode, begin, array.shape, array.dtype.str
