"""Run partitioned work on a Dask cluster.

What goes to a worker is bytes of our own (`lpisearch.compute.wire`): the work with its part, small,
and large arrays apart, each sent once for all parts. Results come back in the order of the parts, a
few of which are on their way at a time. Dask gives the parts of a worker that died to another one;
what this process had sent lies with the scheduler until its results are there.
"""

from __future__ import annotations

import pickle
import time
from collections import OrderedDict, deque
from concurrent.futures import CancelledError as Cancelled
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lpisearch.compute.spread import Traffic
from lpisearch.compute.threads import one_blas_thread
from lpisearch.compute.wire import packed, unpacked
from lpisearch.errors import ClusterLost, ClusterMismatch, LpiSearchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from distributed import Client, Future
    from numpy.typing import NDArray

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
    """Does work on parts on the workers of a cluster: it keeps the contract `Spread`.

    Parameters
    ----------
    client
        Connected to the scheduler.
    name
        How the cluster is called in texts.
    versions
        Of the libraries here: a worker that has others refuses to work.
    """

    is_elsewhere = True

    def __init__(self, client: Client, name: str, versions: str) -> None:
        self.client = client
        self.name = name
        self._versions = versions
        self.traffic = Traffic()

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
        self.traffic += Traffic(**more)


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
    from lpisearch.compute.joining import own_versions

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
