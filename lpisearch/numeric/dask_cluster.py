"""Dask cluster: connect or start, check, send work, serialise.

A worker receives bytes of our own format: the work with its part, which are small, and large
arrays apart, each sent once for all parts. A mapped array becomes the name of its file, which the
worker maps too. Results come back in the order of the parts; Dask repeats the parts of a worker
that died. Nobody at the address, other versions than here, or a folder that is not shared are
reported before any work begins. The bytes are code: only those of the user's own processes are
read (SECURITY.md).
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
from lpisearch.numeric.row_blocks import TransferStats
from lpisearch.numeric.row_files import map_region
from lpisearch.numeric.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from distributed import Client, Future
    from numpy.typing import NDArray

    Array = NDArray[Any]


T = TypeVar("T")

# Parts queued for each worker thread, so that none is ever idle.
_AHEAD = 2
_CHECK_SECONDS = 2.0  # interval between checks that workers are alive
_ALONE_SECONDS = 60.0  # a cluster may be without workers for so long while they restart
_MOST_LOSSES = 10  # messages lost in a row
_CONSTANTS = 32


@dataclass(frozen=True, slots=True)
class Task:
    """Work and a part as bytes; logs do not show them, as they may contain a password."""

    content: bytes = field(repr=False)


class Outcome(NamedTuple):
    """The result of a part, or its error, as bytes; and the processor time it took."""

    content: bytes
    failed: bool
    seconds: float


@dataclass(slots=True)
class _Submitted:
    """A part that waits for its result."""

    content: bytes
    arrays: list[Future[Any]]
    future: Future[Outcome]


class Cluster:
    """An `Executor` whose workers are those of a Dask cluster.

    `name` stands for the cluster in messages; a worker refuses to work if its `versions` differ.
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
        waiting: deque[_Submitted] = deque()
        try:
            for part in parts:
                waiting.append(self._send((work, part), constants))
                if len(waiting) > ahead:
                    yield self._result(waiting)
            while waiting:
                yield self._result(waiting)
        finally:
            self._cancel(waiting)

    def run_on_workers(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function once on each worker; return results, or errors, by worker address."""
        with self._translated_errors():
            results: dict[str, Any] = self.client.run(function, *arguments, on_error="return")
        return results

    def share(self, array: NDArray[Any]) -> Future[Any]:
        """Send an array that many parts need."""
        self._count(shared=array.nbytes)
        with self._translated_errors():
            return self.client.submit(_identity, array, pure=False)

    def _threads(self) -> dict[str, int]:
        with self._translated_errors():
            return dict(self.client.nthreads())

    def _send(self, task: Any, constants: _Constants) -> _Submitted:
        content, arrays = serialise(task)
        futures = [constants.future(array) for array in arrays]
        return _Submitted(content, futures, self._submit(content, futures))

    def _submit(self, content: bytes, arrays: list[Future[Any]]) -> Future[Outcome]:
        self._count(sent=len(content))
        with self._translated_errors():
            return self.client.submit(run, Task(content), self._versions, *arrays, pure=False)

    def _result(self, waiting: deque[_Submitted]) -> Any:
        """Wait for the first part in the queue; resubmit what was lost on the way."""
        for _ in range(_MOST_LOSSES):
            try:
                done = self._wait(waiting[0].future)
            except Cancelled:
                self._check()
                for part in waiting:
                    part.future = self._submit(part.content, part.arrays)
                continue
            waiting.popleft()
            self._count(parts=1, received=len(done.content), processor_seconds=done.seconds)
            result = deserialise(done.content)
            if done.failed:
                raise result
            return result
        raise ClusterLost(self.name, "messages to it keep getting lost")

    def _wait(self, future: Future[Outcome]) -> Outcome:
        from distributed import KilledWorker

        begun = time.monotonic()
        while True:
            try:
                return Outcome(*future.result(timeout=_CHECK_SECONDS))
            except TimeoutError:
                if self._check():
                    begun = time.monotonic()
                if time.monotonic() - begun > _ALONE_SECONDS:
                    raise ClusterLost(self.name, "it has no workers left") from None
            except KilledWorker as error:
                reason = f"{error.allowed_failures + 1} workers died on the same task"
                raise ClusterLost(self.name, f"{reason} (out of memory?)") from None

    def _check(self) -> int:
        """Return the number of workers, or raise ClusterLost."""
        if self.client.status != "running":
            raise ClusterLost(self.name, "lost the connection to its scheduler")
        return len(self._threads())

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Raise ClusterLost in place of the errors of a broken connection."""
        gone = ClusterLost(self.name, "lost the connection to its scheduler")
        if self.client.status != "running":
            raise gone
        try:
            yield
        except (OSError, RuntimeError, Cancelled) as error:
            if self.client.status == "running" and not isinstance(error, OSError):
                raise
            raise gone from error

    def _cancel(self, waiting: Iterable[_Submitted]) -> None:
        """Cancel the queue, but do not wait for a scheduler that is gone."""
        if self.client.status == "running":
            self.client.cancel([part.future for part in waiting])

    def _count(self, **more: Any) -> None:
        self.stats += TransferStats(**more)


class _Constants:
    """Large arrays that are sent once; the most recently used ones stay on the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sent: OrderedDict[int, tuple[NDArray[Any], Future[Any]]] = OrderedDict()

    def future(self, array: NDArray[Any]) -> Future[Any]:
        """Return the future of an array, sending it if necessary."""
        known = self._sent.pop(id(array), None)
        if known is None:
            known = array, self._cluster.share(array)
        self._sent[id(array)] = known
        while len(self._sent) > _CONSTANTS:
            self._sent.popitem(last=False)
        return known[1]


def run(packet: Task, versions: str, *arrays: Any) -> Outcome:
    """Work on a part: the only task that workers receive."""
    begun = time.thread_time()
    try:
        if versions != own_versions():
            raise ClusterMismatch("A worker", own_versions(), versions)  # noqa: TRY301
        work, part = deserialise(packet.content, arrays)
        with one_blas_thread():
            result = work(part)
        content, failed = serialise(result, apart=False)[0], False
    except Exception as error:  # noqa: BLE001 (it is raised by the caller)
        content, failed = _serialised_error(error), True
    return Outcome(content, failed, time.thread_time() - begun)


def _identity(array: Any) -> Any:
    return array


def _serialised_error(error: Exception) -> bytes:
    """Serialise an error so that it can be raised elsewhere, whatever it was built from."""
    if isinstance(error, LpiSearchError):
        return serialise(LpiSearchError(error.what, error.next_step))[0]
    try:
        content = pickle.dumps(error, protocol=5)
        pickle.loads(content)  # noqa: S301 (of this process)
    except Exception:  # noqa: BLE001 (its text is sent instead)
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"), protocol=5)
    return content


_CONNECT_SECONDS = 10.0
_WORKER_SECONDS = 60.0
_CLOSE_SECONDS = 5.0
_ADDRESS = re.compile(r"(tcp|tls)://\S+:\d{1,5}")
_COMPARED = ("lpisearch", "numpy", "scipy", "scikit-learn", "distributed")
_SETTINGS = {
    # Large messages are intended.
    "distributed.admin.large-graph-warning-threshold": "1TiB",
    "distributed.comm.timeouts.connect": f"{_CONNECT_SECONDS:g}s",
    # Pages of files that are mapped count as memory of a worker, and must not stop it.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    # No monitoring: it took more processor time than a small build.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    # No web pages.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


@cache
def own_versions() -> str:
    """Return the versions that must agree for identical results."""
    python = f"python {sys.version_info.major}.{sys.version_info.minor}"
    return ", ".join([python, *(f"{name} {version(name)}" for name in _COMPARED)])


@contextmanager
def cluster_at(address: str) -> Iterator[Cluster]:
    """Connect to the scheduler at an address such as tcp://HOST:8786."""
    _require_distributed()
    if not _ADDRESS.fullmatch(address):
        raise BadOption("cluster", f"“{address}” is not an address such as tcp://HOST:8786")
    from distributed import Client

    _check_reachable(address)
    with _quiet():
        try:
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = "no response" if isinstance(error, OSError) else str(error)
            raise ClusterUnreachable(address, reason) from error
        with _closing(client):
            yield _connected(client, address)


@contextmanager
def local_cluster(workers: int) -> Iterator[Cluster]:
    """Start a cluster of processes on this machine, which ends with the block."""
    _require_distributed()
    if workers < 1:
        raise BadOption("workers", f"must be at least 1, not {workers}")
    from distributed import Client, LocalCluster, Security

    with _quiet():
        try:
            with _deferred_interrupts():
                processes = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    memory_limit=None,
                    dashboard_address="127.0.0.1:0",
                    # Other users of this machine can reach the ports, but have no key.
                    security=Security.temporary(),
                    silence_logs=logging.CRITICAL,
                )
        except (OSError, RuntimeError, TimeoutError) as error:
            raise ClusterUnreachable("this machine", str(error)) from error
        with _closing(processes):
            client = Client(processes, set_as_default=False)
            with _closing(client):
                yield _connected(client, f"{workers} processes on this machine")


def check_shared(cluster: Cluster, folder: Path, mode: int = ANYONE) -> None:
    """Raise FolderNotShared unless every worker reads and writes files of this mode in a folder."""
    token = secrets.token_hex(8)
    mark = folder / f".{token}.shared"
    folder.mkdir(folder_mode(mode), parents=True, exist_ok=True)
    try:
        with create(mark, mode) as stream:
            stream.write(token.encode())
        answers = cluster.run_on_workers(_answer_mark, str(mark), token)
        for address, answer in answers.items():
            written = mark.with_name(f".{token}.{answer}")
            if not isinstance(answer, str) or not written.is_file():
                raise FolderNotShared(folder, address)
    finally:
        for path in folder.glob(f".{token}.*"):
            path.unlink(missing_ok=True)


def is_one_machine(cluster: Cluster) -> bool:
    """Whether all workers are on this machine, where SQLite lets them read its files."""
    return set(cluster.run_on_workers(_machine).values()) <= {_machine()}


def _check_reachable(address: str) -> None:
    """Try to connect once; Dask would keep trying for a while."""
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise ClusterUnreachable(address, "no response") from error


def _connected(client: Any, name: str) -> Cluster:
    """Wait for the first worker, and compare versions."""
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError as error:
        raise ClusterUnreachable(name, "it has no workers") from error
    own = own_versions()
    cluster = Cluster(client, name, own)
    for address, versions in cluster.run_on_workers(own_versions).items():
        if versions != own:
            other = versions if isinstance(versions, str) else "no lpisearch"
            raise ClusterMismatch(f"The worker {address}", other, own)
    return cluster


def _machine() -> str:
    """Return an identifier of this machine."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return socket.gethostname()


def _answer_mark(mark: str, token: str) -> str:
    """Write an answer next to a mark that this worker can read, and return its name; or ""."""
    path = Path(mark)
    own = secrets.token_hex(4)
    try:
        if path.read_text(encoding="utf-8") != token:
            return ""
        path.with_name(f".{token}.{own}").write_text(token)
    except OSError:
        return ""
    return own


def _require_distributed() -> None:
    try:
        import cryptography  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise ClusterMissing from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide Dask's log and warnings: what matters becomes an error of ours."""
    import dask
    import distributed  # noqa: F401 (its settings are set when it is imported)

    logger = logging.getLogger("distributed")
    before = logger.level
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_SETTINGS))
        stack.callback(logger.setLevel, before)
        logger.setLevel(logging.CRITICAL)
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", module="distributed")
        warnings.filterwarnings("ignore", category=ResourceWarning)
        yield


@contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """Defer Ctrl-C to the end of the block: half a cluster can neither work nor be closed.

    Threads and processes that are started inside never receive it; they end with this process.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # started later, it would unblock signals for what follows
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _closing(resource: Any) -> Iterator[None]:
    """Close a connection or a cluster, even if the other side is gone."""
    try:
        yield
    finally:
        with _deferred_interrupts(), suppress(OSError, TimeoutError, RuntimeError):
            resource.close(timeout=_CLOSE_SECONDS)


LARGE_BYTES = 1 << 16
"""Arrays from this size on are sent apart."""
_FILE, _APART = "file", "apart"


def serialise(value: Any, *, apart: bool = True) -> tuple[bytes, list[Array]]:
    """Return a value as bytes, and its large arrays unless `apart` is false."""
    stream = io.BytesIO()
    packer = _Serialiser(stream, apart=apart)
    packer.dump(value)
    return stream.getvalue(), packer.arrays


def deserialise(content: bytes, arrays: Sequence[Array] = ()) -> Any:
    """Return the value from the bytes and arrays of `serialise`."""
    return _Deserialiser(io.BytesIO(content), arrays).load()


class _Serialiser(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, *, apart: bool) -> None:
        super().__init__(stream, protocol=5)
        self.arrays: list[Array] = []
        self._apart = apart

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, np.ndarray) or obj.dtype.hasobject:
            return None
        if isinstance(obj, np.memmap):
            region = _file_region(obj)
            if region is not None:
                return _FILE, *region
        if not self._apart or obj.nbytes < LARGE_BYTES:
            return None
        for number, known in enumerate(self.arrays):
            if known is obj:
                return _APART, number
        self.arrays.append(obj)
        return _APART, len(self.arrays) - 1


class _Deserialiser(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, arrays: Sequence[Array]) -> None:
        super().__init__(stream)
        self._arrays = arrays

    def persistent_load(self, pid: Any) -> Any:
        kind, *address = pid
        if kind == _APART:
            return self._arrays[address[0]]
        path, mode, begin, shape, dtype = address
        return map_region(path, dtype, begin, shape, mode)


def _file_region(array: np.memmap[Any, Any]) -> tuple[str, str, int, tuple[int, ...], str] | None:
    """Return path, mode, offset, shape and type of a mapped array; None if it is a computed one."""
    import mmap

    mapped = array._mmap  # type: ignore[attr-defined]  # noqa: SLF001 (as joblib does)
    if mapped is None or array.filename is None or not array.flags.c_contiguous or not array.size:
        return None
    first = np.frombuffer(mapped, np.uint8).ctypes.data  # where the mapping begins in memory
    within = array.ctypes.data - first
    if not 0 <= within <= len(mapped) - array.nbytes:
        return None  # computed from a mapped array
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY + within
    mode = "r+" if array.flags.writeable else "r"
    return str(array.filename), mode, begin, array.shape, array.dtype.str
