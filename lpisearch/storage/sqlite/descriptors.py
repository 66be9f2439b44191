"""Count open connections, and keep files open while there are any.

POSIX takes from a process all its locks on a file when it closes any descriptor of that file, the
locks of SQLite's connections included: another process may then write below a reader that is under
way. So what this program itself opens of a library is closed when no connection is open.
"""

from __future__ import annotations

import os
import sqlite3
from threading import Lock
from typing import Any, Self


class _Connections:
    def __init__(self) -> None:
        self._lock = Lock()
        self._number = 0
        self._descriptors: list[int] = []

    def enter(self) -> None:
        with self._lock:
            self._number += 1

    def leave(self) -> None:
        with self._lock:
            self._number -= 1
            self._close()

    def close(self, descriptor: int) -> None:
        with self._lock:
            self._descriptors.append(descriptor)
            self._close()

    def _close(self) -> None:
        while not self._number and self._descriptors:
            os.close(self._descriptors.pop())


_OPEN = _Connections()


class Cursor(sqlite3.Cursor):
    """A cursor that raises an error of SQLite also where a damaged name in it is not UTF-8."""

    def execute(self, *words: Any) -> Self:
        """Execute a statement."""
        try:
            return super().execute(*words)
        except UnicodeDecodeError as error:
            stated = sqlite3.DatabaseError(error.object.decode(errors="replace"))
            stated.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise stated from error


class Connection(sqlite3.Connection):
    """A connection that is counted as long as it is open."""

    def __init__(self, *names: Any, **options: Any) -> None:
        self._counted = False
        super().__init__(*names, **options)
        self._counted = True
        _OPEN.enter()

    def cursor(self, factory: Any = Cursor) -> Any:
        """Return a cursor."""
        return super().cursor(factory)

    def execute(self, *words: Any) -> Any:
        """Execute a statement by a cursor of ours; the inherited method takes one of its own."""
        return self.cursor().execute(*words)

    def close(self) -> None:
        """Close it; as often as it is called, it is counted once."""
        super().close()
        if self._counted:
            self._counted = False
            _OPEN.leave()


def close_when_idle(descriptor: int) -> None:
    """Close a descriptor of a library as soon as this process has no connection open."""
    _OPEN.close(descriptor)
