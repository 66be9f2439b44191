"""State shared by all requests: library, options, caches and jobs."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import anyio
from anyio.to_thread import run_sync

from lpisearch.web.answers import KeptAnswers, SharedLook
from lpisearch.web.jobs.running import Jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import HTTPConnection

    from lpisearch.library import Library
    from lpisearch.settings.serving import ServeSettings

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
    answers: KeptAnswers = field(default_factory=KeptAnswers)
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
    def _marks(self) -> SharedLook:
        limiter = anyio.CapacityLimiter(1)
        return SharedLook(lambda: run_sync(self.library.state, limiter=limiter))

    @cached_property
    def _limiter(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(max(os.cpu_count() or 1, _LEAST_THREADS))


def state_of(request: HTTPConnection) -> WebState:
    """Return what a request shares with all others."""
    return cast("WebState", request.app.state.lpisearch)
