"""Bounded queue of items that a worker has read but that are not yet consumed.

Packs of documents go in from the thread that talks with the worker; documents come out where they
are taken, which may be later.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.settings import MEBIBYTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from lpisearch.readers.transport import Frame
    from lpisearch.records import Document, Problem

AHEAD_BYTES = 8 * MEBIBYTE
"""How much all workers together may have read that nobody has taken yet."""

LONG_WAIT_SECONDS = 1.0
"""Whoever waits longer for a file is told."""


class Answer:
    """What a worker gives of one file; iterating it takes the documents and problems, once.

    It raises ReaderError if the file is of no use or the reader crashed, hung or took too much
    memory, and OSError if the file cannot be opened. What came before is kept.

    Attributes
    ----------
    seconds
        Processor time that the worker has spent on what was taken.
    consumed
        How many bytes of the file it had read.
    """

    def __init__(self, room: Room, on_wait: Callable[[], object] | None = None) -> None:
        self.seconds = 0.0
        self.consumed = 0
        self._room = room
        self._on_wait = on_wait
        self._packs: deque[Frame] = deque()
        self._wanted = self._left = self._ended = False
        self._error: BaseException | None = None

    def __iter__(self) -> Iterator[Document | Problem]:
        try:
            while (pack := self._next()) is not None:
                facts = pack.facts()  # here, so that it does not contend with whoever takes it
                self.seconds, self.consumed = facts["seconds"], facts["consumed"]
                yield from pack.records(facts)
                del pack, facts
        finally:
            self._leave()
        if self._error is not None:
            raise self._error

    def put(self, pack: Frame) -> bool:
        """Add a pack as soon as there is room; return False if nobody wants more."""
        with self._room.changed:
            # The file that is waited for always finds room, so that it is never held up by others.
            self._room.changed.wait_for(
                lambda: (
                    self._room.closed
                    or self._left
                    or self._room.held + len(pack) <= AHEAD_BYTES
                    or (self._wanted and not self._packs)
                )
            )
            if self._room.closed or self._left:
                return False
            self._packs.append(pack)
            self._room.held += len(pack)
            self._room.changed.notify_all()
            return True

    def end(self, reading: Future[None]) -> None:
        """Note that nothing more comes, and why."""
        with self._room.changed:
            self._error = not_read() if reading.cancelled() else reading.exception()
            self._ended = True
            self._room.changed.notify_all()

    def _next(self) -> Frame | None:
        with self._room.changed:
            self._wanted = True
            self._room.changed.notify_all()
        self._wait()
        with self._room.changed:
            if not self._packs:
                return None
            pack = self._packs.popleft()
            self._room.held -= len(pack)
            self._room.changed.notify_all()
            return pack

    def _wait(self) -> None:
        """Wait for a pack or the end; say so once if it takes long."""
        with self._room.changed:
            self._room.changed.wait_for(
                lambda: self._packs or self._ended, LONG_WAIT_SECONDS if self._on_wait else None
            )
            waited = not (self._packs or self._ended)
        if waited and self._on_wait:
            self._on_wait()
            self._on_wait = None
            self._wait()

    def _leave(self) -> None:
        with self._room.changed:
            self._left = True
            self._room.held -= sum(map(len, self._packs))
            self._packs.clear()
            self._room.changed.notify_all()


class Room:
    """What all answers of a pool hold together, and how they tell each other of changes."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.held = 0
        self.closed = False

    def close(self) -> None:
        """Let nobody wait for room any more."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()


def not_read() -> ReaderError:
    """Say that a file was given up before it was read."""
    return ReaderError("was not read: the run stopped")
