"""Run work on threads.

SciPy and NumPy let go of the interpreter lock in their kernels. Callers cut their work in a way
that does not depend on the number of threads, so neither do the bits of the result.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from typing import TypeVar

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
