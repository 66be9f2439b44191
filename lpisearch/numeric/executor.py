"""The boundary to parallel work: threads of this process, or a Dask cluster.

Everything that runs over very many documents is `map_parts(work, parts)`. The caller adds, writes
or joins the results in the order of the parts, so the bits depend on how the documents are cut
into parts and on nothing else. A part is a small handle that reads its documents where they are
needed; `work` is a module-level function or a frozen dataclass with `__call__`, so both can be sent
to other processes. `use_executor` replaces the threads, for instance by
`lpisearch.numeric.dask_cluster.Cluster`.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lpisearch.numeric.threads import THREADS, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TransferStats:
    """What this process exchanged with its workers.

    `parts` counts parts that were worked on, repeated ones again; `sent` and `received` are bytes
    of work and results, `shared` bytes of large arrays that are sent once for all parts;
    `processor_seconds` are those of the workers.
    """

    parts: int = 0
    sent: int = 0
    received: int = 0
    shared: int = 0
    processor_seconds: float = 0.0

    def __sub__(self, before: TransferStats) -> TransferStats:
        earlier = asdict(before)
        return TransferStats(**{name: now - earlier[name] for name, now in asdict(self).items()})

    def __add__(self, more: TransferStats) -> TransferStats:
        added = asdict(more)
        return TransferStats(**{name: now + added[name] for name, now in asdict(self).items()})


class Executor(Protocol):
    """Works on parts, in threads or in other processes."""

    @property
    def is_remote(self) -> bool:
        """Whether other processes work, which share files with this one, but no memory."""

    @property
    def stats(self) -> TransferStats:
        """What was exchanged so far."""

    def map(self, work: Callable[[Any], T], parts: Iterable[Any]) -> Iterator[T]:
        """Call `work` for each part; yield the results in the order of the parts.

        Parts are taken only a few ahead of the results, so that waiting results do not fill the
        memory.
        """


class ThreadExecutor:
    """Distributes parts over threads of this process."""

    is_remote = False
    stats = TransferStats()

    def map(self, work: Callable[[Any], T], parts: Iterable[Any]) -> Iterator[T]:
        """Call `work` for each part; yield the results in the order of the parts."""
        with one_blas_thread(), ThreadPoolExecutor(THREADS) as pool:
            waiting: deque[Any] = deque()
            try:
                for part in parts:
                    waiting.append(pool.submit(work, part))
                    if len(waiting) > THREADS:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


_EXECUTOR: ContextVar[Executor] = ContextVar("executor", default=ThreadExecutor())  # noqa: B039 (it has no state)


def map_parts(work: Callable[[Any], T], parts: Iterable[Any]) -> Iterator[T]:
    """Call `work` for each part on the current executor; yield the results in order."""
    return _EXECUTOR.get().map(work, parts)


def is_remote() -> bool:
    """Whether other processes work on parts now, which share no memory with this one."""
    return _EXECUTOR.get().is_remote


def transfer_stats() -> TransferStats:
    """Return what was exchanged with other processes so far."""
    return _EXECUTOR.get().stats


@contextmanager
def use_executor(executor: Executor) -> Iterator[None]:
    """Work on parts with this executor inside the block."""
    token = _EXECUTOR.set(executor)
    try:
        yield
    finally:
        _EXECUTOR.reset(token)
