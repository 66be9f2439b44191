"""Shared state, response cache."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import anyio
from anyio.to_thread import run_sync

from lpisearch.web.jobs import Jobs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import HTTPConnection

    from lpisearch.library import Library
    from lpisearch.options import ServeSettings


MOST_BYTES = 32 * 1024 * 1024
_LARGEST = 1024 * 1024


class CoalescedCall:
    """A look at something that changes, shared by all who ask while one is under way.

    Who asks gets what was looked at after he asked, never before: he waits for the next look.

    Parameters
    ----------
    look
        What gives the answer.
    """

    def __init__(self, look: Callable[[], Awaitable[str]]) -> None:
        self._look = look
        self._under_way: asyncio.Future[str] | None = None
        self._next: asyncio.Future[str] | None = None

    async def get(self) -> str:
        """Return what is seen from now on."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._after(self._under_way))
        return await asyncio.shield(self._next)

    async def _after(self, before: asyncio.Future[str] | None) -> str:
        if before is not None:
            await asyncio.wait([before])
        self._under_way, self._next = self._next, None
        return await self._look()


class ResponseCache:
    """Answers by their marks, those that were asked for last; used from the event loop alone.

    Parameters
    ----------
    most
        How many bytes are kept.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[str, asyncio.Future[bytes]] = {}

    async def of(self, mark: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the answer of a mark; who asks while it is made waits for it."""
        found = self._kept.get(mark)
        if found is not None:
            self._kept.move_to_end(mark)
            return found
        waiting = self._under_way.get(mark)
        if waiting is None:
            waiting = self._under_way[mark] = asyncio.ensure_future(make())
            waiting.add_done_callback(lambda made: self._keep(mark, made))
        return await asyncio.shield(waiting)

    def _keep(self, mark: str, made: asyncio.Future[bytes]) -> None:
        del self._under_way[mark]
        if made.cancelled() or made.exception() is not None:
            return
        content = made.result()
        if len(content) > _LARGEST:
            return
        self._kept[mark] = content
        self._bytes += len(content)
        while self._bytes > self._most:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= len(gone)


T = TypeVar("T")
# More threads than cores wait for each other: what is computed holds the interpreter. With two more
# than two cores, 50 clients who ask at once got a quarter fewer answers.
_LEAST_THREADS = 2


@dataclass(frozen=True, eq=False)
class WebState:
    """What all requests share; `request.app.state.lpisearch`.

    Attributes
    ----------
    library
        Open, and used by several threads.
    settings
        How it is served.
    answers
        Those that are kept.
    secret
        Of this process alone: cookies and tokens of forms are signed with it.
    """

    library: Library
    settings: ServeSettings
    answers: ResponseCache = field(default_factory=ResponseCache)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @property
    def read_only(self) -> bool:
        """Whether nothing may be changed."""
        return self.settings.read_only

    @cached_property
    def jobs(self) -> Jobs:
        """The jobs."""
        return Jobs(self.library.path, self.settings.limits.jobs_kept)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do what takes time in a thread, first come, first served."""
        return await run_sync(work, limiter=self._limiter)

    async def mark(self) -> str:
        """Return the mark of the library as it is now; it waits for no other work."""
        return await self._marks.get()

    @cached_property
    def _marks(self) -> CoalescedCall:
        limiter = anyio.CapacityLimiter(1)
        return CoalescedCall(lambda: run_sync(self.library.state, limiter=limiter))

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(max(os.cpu_count() or 1, _LEAST_THREADS))


def state_of(request: HTTPConnection) -> WebState:
    """Return what a request shares with all others."""
    return cast("WebState", request.app.state.lpisearch)
