"""Threads, BLAS limits, long arrays in chunks.

SciPy and NumPy let go of the interpreter lock in their kernels. Callers cut their work in a way
that does not depend on the number of threads, so neither do the bits of the result.

Stretches begin at the same places whatever the number of threads, so results have the same bits.
An array that is not long is one stretch, and no thread is started for it. What is done in a stretch
must not cut its own work into chunks: all threads might wait for each other.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import TypeVar

    from numpy.typing import NDArray

    T = TypeVar("T")


THREADS = min(4, os.cpu_count() or 1)
_ONE_THREAD_DOCUMENTS = 2000


def map_threads(work: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
    """Call `work` for each of the arguments, as `map` does; give the results in their order."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, *arguments))


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread meanwhile.

    Where the threads are ours, those of BLAS below them would only wait for each other.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def one_thread_if_small(n_documents: int) -> AbstractContextManager[object]:
    """Keep small problems on one thread.

    BLAS threads wait for each other by spinning: on small matrices that brings nothing, and on
    a busy machine it was measured to cost twenty times the work itself.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(
        limits=1 if n_documents < _ONE_THREAD_DOCUMENTS else None
    )
    return limits


LONG = 150_000
"""From so many entries on an array is cut."""
CHUNK = 1 << 16
_SAMPLE = 1 << 13
_SPARE = 8


def chunks(length: int) -> list[slice]:
    """Return the chunks of an array."""
    if length < LONG:
        return [slice(0, length)]
    return [slice(at, min(at + CHUNK, length)) for at in range(0, length, CHUNK)]


def map_chunks(length: int, work: Callable[[slice], T]) -> list[T]:
    """Call `work` for each stretch, in threads where there are several; give the results in order.

    BLAS has one thread meanwhile: those of its own would wait for ours.
    """
    parts = chunks(length)
    if len(parts) == 1:
        return [work(parts[0])]
    with limited_numpy_blas():
        return list(_pool().map(work, parts))


def largest(values: NDArray[np.floating[Any]], count: int) -> NDArray[np.int64]:
    """Return the places of the largest values, in any order: as `argpartition`, but quicker.

    Of a long array every so many-th value says roughly where the border is; what is above that is
    looked at closely.
    """
    every = len(values)
    if count <= 0 or every <= count:
        return np.arange(every if count > 0 else 0)
    step = every // _SAMPLE
    if every >= LONG and count < every // 64:
        sample = values[::step]
        wanted = _SPARE + 2 * count // step
        guess = np.partition(sample, len(sample) - wanted)[len(sample) - wanted]
        above = np.flatnonzero(values >= guess)
        if len(above) >= count:
            best = np.argpartition(values[above], len(above) - count)[-count:]
            return np.asarray(above[best])
    return np.asarray(np.argpartition(values, every - count)[-count:])


_lock = Lock()
_inside = 0
_limit: Any = None


@contextmanager
def limited_numpy_blas() -> Iterator[None]:
    """Keep BLAS to one thread as long as anybody is inside; the last to leave lifts the limit."""
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
    """Return threads that wait for work: a question needs them a dozen times."""
    return ThreadPoolExecutor(THREADS, "chunks")


if hasattr(os, "register_at_fork"):
    # A copy of the process has none of its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _controller() -> Any:
    """Find the BLAS of NumPy once: that takes longer than a query of a small library."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
