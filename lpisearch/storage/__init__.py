"""The store of a library: the one door to it, and the only place that knows which store it is.

What may be asked of a store is in `storage/contract/`; `storage/sqlite/` keeps it. Each function
imports its store when it is called: help and completion never wait for a database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.storage.contract import (
    TOKENISER,
    UNDER_WAY,
    IndexEntry,
    Prefix,
    Snapshot,
    Store,
    Transaction,
)
from lpisearch.storage.digests import content_hash, fingerprint
from lpisearch.storage.findings import damaged

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

__all__ = [
    "OWN_HEAD_BYTES",
    "TOKENISER",
    "UNDER_WAY",
    "IndexEntry",
    "Prefix",
    "Snapshot",
    "Store",
    "Transaction",
    "back_up",
    "content_hash",
    "create_store",
    "damaged",
    "fingerprint",
    "is_own_content",
    "open_store",
    "schema_differences",
    "schema_revision",
    "upgrade_store",
    "writer_lock",
    "writer_of",
]

OWN_HEAD_BYTES = 4096
"""How much of a file `is_own_content` wants to see."""


def is_own_content(head: bytes) -> bool:
    """Tell from the beginning of a file whether a store wrote it: a library, a copy, a lock."""
    from lpisearch.storage.sqlite.engine import is_library
    from lpisearch.storage.sqlite.lock import is_signature

    return is_library(head) or is_signature(head)


def open_store(path: Path, *, writable: bool = False) -> Store:
    """Open an existing library, first bringing it to the schema of this program.

    A copy of an older library is kept beside it, as `NAME.before-REVISION`.

    Raises
    ------
    LibraryNotFound, NotALibrary, LibraryTooNew, LibraryUnwritable
    """
    from lpisearch.storage.sqlite.store import SQLiteStore

    return SQLiteStore.open(path, writable=writable)


def create_store(path: Path) -> Store:
    """Open a library for writing; make it first if there is none.

    Raises
    ------
    NotALibrary, LibraryTooNew, LibraryUnwritable
    """
    from lpisearch.storage.sqlite.store import SQLiteStore

    return SQLiteStore.create(path)


def writer_lock(path: Path, purpose: str, wait_seconds: float) -> AbstractContextManager[None]:
    """Hold the right to write to a library, which need not be there yet.

    Raises
    ------
    LibraryLocked
        Another process still holds it after `wait_seconds`; the message names it.
    LibraryUnwritable
        Nothing can be written there.
    """
    from lpisearch.storage.sqlite import lock

    return lock.writer_lock(path, purpose, wait_seconds)


def writer_of(path: Path) -> str:
    """Return who holds the right to write to a library; "" if nobody does."""
    from lpisearch.storage.sqlite import lock

    return lock.writer_of(path)


def back_up(path: Path, target: Path) -> Path:
    """Write a consistent copy of a library in use; it appears whole or not at all.

    Raises
    ------
    LibraryUnwritable, LibraryDamaged
    """
    from lpisearch.storage.sqlite import backup

    return backup.back_up(path, target)


def upgrade_store(path: Path) -> Path | None:
    """Bring an older library to the schema of this program, in one transaction.

    Returns
    -------
    pathlib.Path or None
        The copy of the library as it was, or None if there was nothing to do.

    Raises
    ------
    LibraryNotFound, NotALibrary, LibraryTooNew, LibraryUnwritable
    """
    from lpisearch.storage.sqlite import schema

    return schema.upgrade(path)


def schema_revision() -> str:
    """Return the revision of the schema that this program writes."""
    from lpisearch.storage.sqlite import schema

    return schema.HEAD


def schema_differences(path: Path) -> list[str]:
    """Return how the tables of a library differ from what this program expects."""
    from lpisearch.storage.sqlite import schema

    return schema.differences(path)
