"""Connect to a cluster, or start a local one, and check that it is usable.

In goes an address or a number of processes, out comes a `Cluster`. What cannot work is said before
anything is begun: nobody at the address, other versions than here, a folder that is not shared.
"""

from __future__ import annotations

import logging
import re
import secrets
import signal
import socket
import sys
import warnings
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.errors import (
    BadOption,
    ClusterMismatch,
    ClusterMissing,
    ClusterUnreachable,
    FolderNotShared,
)
from lpisearch.files import ANYONE, create, folder_mode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.compute.cluster import Cluster

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
    from lpisearch.compute.cluster import Cluster

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
