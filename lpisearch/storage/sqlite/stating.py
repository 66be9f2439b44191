"""Translate SQLite errors and damaged values into user errors."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DatabaseError

from lpisearch.errors import (
    LibraryDamaged,
    LibraryError,
    LibraryLocked,
    LibraryUnwritable,
    NotUnicode,
)
from lpisearch.storage.sql.tables import UNREADABLE as _UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNREADABLE = (sqlite3.DatabaseError, *_UNREADABLE)
_LOOKING_SECONDS = 20
_LEAST_FREE = 1 << 16


@contextmanager
def stated_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite raises, and what damage in a cell leads to, into one of our errors.

    An error that SQLite does not explain is a defect of this program, or damage that came to light
    further on: a string that is none, JSON that is none. So the library is looked at, and where it
    is not as it was written, that is said.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        raise NotUnicode(error.object) from error
    except UNREADABLE as error:
        cause = error.orig if isinstance(error, DatabaseError) else error
        stated = _stated(path, cause) or _damage(path)
        if stated is None:
            raise
        raise stated from error


def _damage(path: Path) -> LibraryError | None:
    """Look for damage, for a short while."""
    from lpisearch.storage.sqlite.health import first_damage

    found = first_damage(path, _LOOKING_SECONDS)
    return LibraryDamaged(path, found) if found else None


def _stated(path: Path, error: BaseException | None) -> LibraryError | None:
    """Return the error to state, or None for one that says nothing of its cause."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    reason = str(error)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LibraryLocked(path, "another program")
    if code == sqlite3.SQLITE_FULL:
        return LibraryUnwritable(path, "the disk is full")
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}:
        return LibraryUnwritable(path, "the disk is full" if _is_full(path) else reason)
    # FTS5 calls it a plain error where what it keeps of itself is damaged.
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB} or "invalid fts5" in reason:
        return LibraryDamaged(path, reason)
    return None


def _is_full(path: Path) -> bool:
    """Tell whether no room is left beside a file: SQLite calls that an input or output error."""
    try:
        return shutil.disk_usage(path.absolute().parent).free < _LEAST_FREE
    except OSError:
        return False
