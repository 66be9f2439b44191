"""Work on parts: boundary to threads or Dask.

All that an index does with very many documents is `map_parts(work, parts)`, with the results
added up, written or joined by the caller in the order of the parts. So the bits depend on how the
documents are cut into parts and on nothing else: not on threads, processes or machines.

- A part is some documents in a row: it says where they lie, and reads them where it is worked on.
- Work is a function of a module, or a frozen dataclass with `__call__`: it can be sent elsewhere,
  as a part can, and says with its arguments all that it needs.
- A result is small beside its part, or as large as the rows that it is written to.

Here parts are shared out among threads. `spread_by` puts something else in their place for a
while, such as a cluster (`lpisearch.numeric.dask_cluster`): it does what `Spread` says.
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
class Traffic:
    """What went between this process and others that did the work.

    Attributes
    ----------
    parts
        Parts that were worked on; those that had to be done again count again.
    sent, received
        Bytes of work and parts on their way there, and of results on their way back.
    shared
        Bytes of large arrays that all parts of a step have in common, sent once.
    processor_seconds
        Of the processes that did the work.
    """

    parts: int = 0
    sent: int = 0
    received: int = 0
    shared: int = 0
    processor_seconds: float = 0.0

    def __sub__(self, before: Traffic) -> Traffic:
        return Traffic(**{name: each - asdict(before)[name] for name, each in asdict(self).items()})

    def __add__(self, more: Traffic) -> Traffic:
        return Traffic(**{name: each + asdict(more)[name] for name, each in asdict(self).items()})


class Spread(Protocol):
    """Does work on parts, wherever that is."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether other processes work, which share files with this one, and no memory."""

    @property
    def traffic(self) -> Traffic:
        """What went to and fro by now."""

    def map(self, work: Callable[[Any], T], parts: Iterable[Any]) -> Iterator[T]:
        """Call `work` for each part; yield the results in the order of the parts.

        Parts are taken only a few ahead of the results that were asked for, so that results which
        wait do not fill the memory.
        """


class Threads:
    """Shares parts out among the threads of this process."""

    is_elsewhere = False
    traffic = Traffic()

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
                for each in waiting:
                    each.cancel()


_SPREAD: ContextVar[Spread] = ContextVar("spread", default=Threads())  # noqa: B039 (it has no state)


def map_parts(work: Callable[[Any], T], parts: Iterable[Any]) -> Iterator[T]:
    """Call `work` for each part, wherever work is done now; yield the results in order."""
    return _SPREAD.get().map(work, parts)


def works_elsewhere() -> bool:
    """Tell whether work on parts is done now by processes that share no memory with this one."""
    return _SPREAD.get().is_elsewhere


def traffic() -> Traffic:
    """Return what went to and from other processes by now."""
    return _SPREAD.get().traffic


@contextmanager
def spread_by(spread: Spread) -> Iterator[None]:
    """Do work on parts elsewhere meanwhile."""
    token = _SPREAD.set(spread)
    try:
        yield
    finally:
        _SPREAD.reset(token)
