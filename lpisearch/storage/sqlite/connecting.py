"""SQLite connections: pragmas and the write-ahead log."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from lpisearch.errors import LibraryUnwritable
from lpisearch.storage.globs import glob_of
from lpisearch.storage.sql.checksums import checksum
from lpisearch.storage.sql.dialects import CHECKSUM_FUNCTION, PATH_FUNCTION
from lpisearch.storage.sqlite.descriptors import Connection

if TYPE_CHECKING:
    from pathlib import Path

BUSY_SECONDS = 10
# A power cut may cost the last batches, which the next ingest brings back; it never damages the
# file.
SYNCHRONOUS = "NORMAL"
# Measured: pages of 8 KiB and rarer checkpoints make an ingest a fifth faster than the defaults.
_PAGE_BYTES = 8192
_PAGE_CACHE_KIB = 64 * 1024
_CHECKPOINT_PAGES = 8192
# What SQLite says where it cannot make the file that readers share.
_WITHOUT_SHM = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
}


def connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    """Open a file; one that is to be written is made, if it is not there."""
    if writable:
        connection = _open(f"{path.absolute().as_uri()}?mode=rwc")
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # heeded while the file is empty
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        connection.execute(f"PRAGMA cache_size = -{_PAGE_CACHE_KIB}")
        return connection
    return connect_to_read(path.absolute())


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open to read; where SQLite cannot make its -shm file, as on a full disk, as unchanging."""
    uri = path.as_uri()
    connection = _open(f"{uri}?mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in _WITHOUT_SHM:
            raise
        _refuse_unmerged_log(path)
        return _open(f"{uri}?mode=ro&immutable=1")
    return connection


def remove_empty_log(path: Path) -> None:
    """Let SQLite remove the -wal and -shm files that a reader has made, but may not remove.

    It does so when the last connection that may write is closed, and knows of those of others. A
    log with changes of a writer that was stopped is left for the next writer.
    """
    log, index = (path.with_name(f"{path.name}-{kind}") for kind in ("wal", "shm"))
    with suppress(OSError, sqlite3.Error):
        if index.exists() and not (log.exists() and log.stat().st_size):
            address = f"{path.as_uri()}?mode=rw"
            opened = sqlite3.connect(address, uri=True, timeout=0, factory=Connection)
            with closing(opened) as connection:
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def _refuse_unmerged_log(path: Path) -> None:
    """Refuse to pass over what a writer that was stopped left in the write-ahead log."""
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise LibraryUnwritable(
            path, f"its latest changes are in {log.name} and must be merged first"
        )


def _open(uri: str) -> sqlite3.Connection:
    # Autocommit off the driver: SQLAlchemy's "begin" event starts each transaction, DDL included.
    connection = sqlite3.connect(
        uri,
        uri=True,
        isolation_level=None,
        timeout=BUSY_SECONDS,
        check_same_thread=False,
        factory=Connection,
    )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.create_function(PATH_FUNCTION, 2, _lies_at, deterministic=True)
    connection.create_function(CHECKSUM_FUNCTION, -1, checksum, deterministic=True)
    return connection


def _lies_at(pattern: str, path: str) -> bool:
    return glob_of(pattern).means(path)
