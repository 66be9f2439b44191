"""Threads, limits on BLAS threads, and long arrays in chunks.

SciPy and NumPy release the interpreter lock in their kernels. Work is cut in ways that do not
depend on the number of threads, so neither do the bits of the result. Work on a chunk must not use
chunks itself: all threads might wait for each other.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    T = TypeVar("T")


THREADS = min(4, os.cpu_count() or 1)
_ONE_THREAD_DOCUMENTS = 2000


def map_threads(work: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
    """Call `work` for each of the arguments, as `map` does, in threads."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, *arguments))


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread: below threads of our own, more would wait for each other."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def one_thread_if_small(n_documents: int) -> AbstractContextManager[object]:
    """Limit BLAS to one thread for small problems.

    BLAS threads wait by spinning, which does not pay on small matrices; on a busy machine it took
    twenty times as long as the work itself.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(
        limits=1 if n_documents < _ONE_THREAD_DOCUMENTS else None
    )
    return limits


LONG = 150_000
"""Arrays from this length on are cut into chunks."""
CHUNK = 1 << 16
_SAMPLE = 1 << 13
_SPARE = 8


def chunks(length: int) -> list[slice]:
    """Return the chunks of an array: a single one unless it is long."""
    if length < LONG:
        return [slice(0, length)]
    return [slice(at, min(at + CHUNK, length)) for at in range(0, length, CHUNK)]


def map_chunks(length: int, work: Callable[[slice], T]) -> list[T]:
    """Call `work` for each chunk, in threads if there are several; return the results in order."""
    parts = chunks(length)
    if len(parts) == 1:
        return [work(parts[0])]
    with limited_numpy_blas():
        return list(_pool().map(work, parts))


def largest(values: NDArray[np.floating[Any]], count: int) -> NDArray[np.int64]:
    """Return the positions of the largest values, in any order: `argpartition`, but faster.

    For a long array, a sample gives a threshold, and only the values above it are partitioned.
    """
    length = len(values)
    if count <= 0 or length <= count:
        return np.arange(length if count > 0 else 0)
    step = length // _SAMPLE
    if step > 1 and count < length // 16:
        sample = values[::step]
        rank = _SPARE + 2 * count // step
        threshold = np.partition(sample, len(sample) - rank)[len(sample) - rank]
        above = np.flatnonzero(values >= threshold)
        if len(above) >= count:
            best = np.argpartition(values[above], len(above) - count)[-count:]
            return np.asarray(above[best])
    return np.asarray(np.argpartition(values, length - count)[-count:])


_lock = Lock()
_inside = 0
_limit: Any = None


@contextmanager
def limited_numpy_blas() -> Iterator[None]:
    """Limit NumPy's BLAS to one thread while any thread is inside; the last one lifts the limit."""
    global _inside, _limit  # noqa: PLW0603 (the number of BLAS threads is one for the process, too)
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limit.restore_original_limits()


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the pool of idle threads; a search uses it a dozen times."""
    return ThreadPoolExecutor(THREADS, "chunks")


if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _controller() -> Any:
    """Find NumPy's BLAS once: it takes longer than a search of a small library."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
