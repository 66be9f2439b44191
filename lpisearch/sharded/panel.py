"""The pool of shards: parallel requests and unavailable shards."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from lpisearch.errors import (
    IndexDamaged,
    IndexUnreadable,
    LibraryDamaged,
    LpiSearchError,
    ServerRefused,
    ServerUnreachable,
    ShardsAway,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lpisearch.sharded.ends import End

T = TypeVar("T")

_AWAY_SECONDS = 5.0
"""For so long a shard that did not answer is not asked again: nobody waits for it twice."""
_MOST_THREADS = 64
_SERVER_ERROR = 500
_NO_ANSWER = (ServerUnreachable, IndexDamaged, IndexUnreadable, LibraryDamaged)


class Panel:
    """The shards of a library; any number of threads may ask.

    Parameters
    ----------
    ends
        In the order of their documents.
    """

    def __init__(self, ends: Sequence[End]) -> None:
        self.ends = tuple(ends)
        self._until: dict[int, float] = {}
        self._why: dict[int, str] = {}
        self._absences = 0
        self._lock = Lock()

    def close(self) -> None:
        """Release all shards; what is asked for afterwards opens them again."""
        with self._lock:
            threads = self.__dict__.pop("_threads", None)
        if threads is not None:
            threads.shutdown()
        for end in self.ends:
            end.close()

    @property
    def absences(self) -> int:
        """How often a shard has gone away: answers of before are no longer right."""
        return self._absences

    def here(self) -> list[int]:
        """Return the numbers of the shards that are to be asked."""
        now = time.monotonic()
        return [at for at in range(len(self.ends)) if self._until.get(at, 0.0) <= now]

    def names(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Return what shards are called."""
        return tuple(self.ends[at].name for at in numbers)

    def missing(self, here: Iterable[int]) -> tuple[str, ...]:
        """Return what all others are called."""
        return self.names(at for at in range(len(self.ends)) if at not in set(here))

    def each(
        self, work: Callable[[int, End], T], among: Sequence[int] | None = None
    ) -> dict[int, T]:
        """Ask shards at once; return the answers of those that gave one, in order.

        Parameters
        ----------
        work
            Asks one, given by its number.
        among
            The numbers of those to ask; all that are not away if not given.

        Raises
        ------
        ShardsAway
            None answered.
        LpiSearchError
            What one refused, but for being away.
        """
        asked = self.here() if among is None else list(among)
        found: dict[int, T] = {}

        def ask(at: int) -> None:
            try:
                found[at] = work(at, self.ends[at])
            except LpiSearchError as error:
                if not self.ends[at].is_remote or not _is_away(error):
                    raise
                self._lose(at, error)

        if len(asked) > 1 and any(self.ends[at].is_remote for at in asked):
            list(self._threads.map(ask, asked))
        else:
            for at in asked:
                ask(at)
        if not found:
            raise self.all_away()
        return {at: found[at] for at in asked if at in found}

    def any(self, work: Callable[[End], T]) -> T:
        """Ask one shard, whichever answers.

        Raises
        ------
        ShardsAway, LpiSearchError
        """
        for at in self.here():
            try:
                return self.each(lambda _at, end: work(end), [at])[at]
            except ShardsAway:
                continue
        raise self.all_away()

    def all_away(self) -> ShardsAway:
        """Return the error to raise where no shard answers."""
        reason = next(iter(self._why.values()), "away")
        return ShardsAway(self.names(range(len(self.ends))), reason)

    def _lose(self, at: int, error: LpiSearchError) -> None:
        with self._lock:
            self._until[at] = time.monotonic() + _AWAY_SECONDS
            self._why[at] = error.what
            self._absences += 1

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        """Threads that wait for shards; each keeps its connections open."""
        return ThreadPoolExecutor(min(4 * len(self.ends), _MOST_THREADS), "shards")


def _is_away(error: LpiSearchError) -> bool:
    """Tell whether a shard cannot answer now, whatever it is asked."""
    if isinstance(error, ServerRefused):
        return error.status >= _SERVER_ERROR
    return isinstance(error, _NO_ANSWER)
