"""Connections, file header, errors, transactions.

A library opened for reading never waits for a writer and never changes a byte. One opened for
writing begins each transaction at once (`BEGIN IMMEDIATE`), so that it cannot fail half-way
for want of the lock.

POSIX takes from a process all its locks on a file when it closes any descriptor of that file, the
locks of SQLite's connections included: another process may then write below a reader that is under
way. So what this program itself opens of a library is closed when no connection is open.

It lies in the header of the file (`user_version`), so it is read without looking at a table, and
it is part of the transaction: a snapshot sees the mark of its own state. It is drawn by chance, so
that a copy that went other ways has another.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool, StaticPool

from lpisearch.errors import (
    LibraryDamaged,
    LibraryError,
    LibraryLocked,
    LibraryUnwritable,
    NotALibrary,
    NotUnicode,
    SeveralNames,
)
from lpisearch.storage.dialects import CHECKSUM_FUNCTION, PATH_FUNCTION, glob_of
from lpisearch.storage.integrity import as_json, checksum
from lpisearch.storage.tables import UNREADABLE as _UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection
    from sqlalchemy import Connection as Transaction


_STEPS = 10_000  # of SQLite, between two looks at the clock


@dataclass(frozen=True, slots=True)
class Database:
    """An open library.

    Attributes
    ----------
    path
        The database file.
    engine
        One connection, reused; closed by `close` or by leaving a `with` block.
    writable
        Whether `writing` may be called.
    """

    path: Path
    engine: Engine = field(repr=False)
    writable: bool

    @classmethod
    def connect(cls, path: Path, *, writable: bool, partial: Path | None = None) -> Database:
        """Connect to the file, creating an empty one if it is to be written.

        With `partial` the file is there, for now, and errors name the place that it is made for.
        """
        file = partial or path
        refuse_other_files(file)
        if writable:
            refuse_hard_links(file)
        engine = create_engine(
            "sqlite://",
            creator=lambda: connect(file, writable=writable),
            poolclass=StaticPool if writable else NullPool,
            json_serializer=as_json,
        )
        begin = "BEGIN IMMEDIATE" if writable else "BEGIN"
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        return cls(path, engine, writable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file; the last who does so leaves nothing beside it."""
        self.engine.dispose()
        if not self.writable:
            remove_empty_log(self.path.absolute())

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Give a connection that sees one unchanging state of the library."""
        with translate_errors(self.path), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def looking(self, until: Callable[[], bool]) -> Iterator[Transaction]:
        """Give a connection that stops when it is time; errors are as SQLite has them."""
        with self.engine.connect() as connection:
            raw = connection.connection.driver_connection
            if isinstance(raw, CountedConnection):
                raw.set_progress_handler(until, _STEPS)
            yield connection

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Transaction]:
        """Give a connection whose changes are kept together when the block ends, or not at all."""
        with translate_errors(self.path):
            self._synchronise("FULL" if durable else SYNCHRONOUS)
            with self.engine.begin() as connection, renew_state_token(connection):
                yield connection

    def _synchronise(self, level: str) -> None:
        """Say how far commits are brought to disk; SQLite takes it between transactions alone."""
        with closing(self.engine.raw_connection()) as raw:
            raw.cursor().execute(f"PRAGMA synchronous = {level}")


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
            opened = sqlite3.connect(address, uri=True, timeout=0, factory=CountedConnection)
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
        factory=CountedConnection,
    )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.create_function(PATH_FUNCTION, 2, _lies_at, deterministic=True)
    connection.create_function(CHECKSUM_FUNCTION, -1, checksum, deterministic=True)
    return connection


def _lies_at(pattern: str, path: str) -> bool:
    return glob_of(pattern).matches(path)


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


class CountedConnection(sqlite3.Connection):
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


APPLICATION_ID = int.from_bytes(b"lpis", "big")  # as migration 0001 writes it into the file
_APPLICATION_AT = slice(68, 72)  # where SQLite keeps it in the header
_SQLITE_MAGIC = b"SQLite format 3\x00"


def is_library(head: bytes) -> bool:
    """Tell from its header whether a file is a library, or a copy of one."""
    return head.startswith(_SQLITE_MAGIC) and _states_ours(head)


def refuse_other_files(path: Path) -> None:
    """Refuse what is no library; what is not there may become one."""
    if path.is_dir():
        raise NotALibrary(path, "it is a folder")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            head = os.read(descriptor, _APPLICATION_AT.stop)
        finally:
            close_when_idle(descriptor)
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotALibrary(path, f"it cannot be read ({error.strerror})") from error
    if head and not head.startswith(_SQLITE_MAGIC):
        if _states_ours(head):
            raise LibraryDamaged(path, "its header is damaged")
        raise NotALibrary(path, "it is not an SQLite database")


def refuse_hard_links(path: Path) -> None:
    """Refuse to write a file of several names: SQLite would keep a log of changes for each."""
    with suppress(OSError):
        names = path.stat().st_nlink
        if names > 1:
            raise SeveralNames(path, names)


def _states_ours(head: bytes) -> bool:
    return int.from_bytes(head[_APPLICATION_AT], "big") == APPLICATION_ID


_LARGEST = (1 << 31) - 1


def state_token(connection: Connection) -> int:
    """Return the mark of the state that a connection sees."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


@contextmanager
def renew_state_token(connection: Connection) -> Iterator[None]:
    """Set the mark anew at the end of a block, if the block changed anything and kept it."""
    before = _changes(connection)
    yield
    if connection.in_transaction() and _changes(connection) != before:
        mark = secrets.randbelow(_LARGEST) + 1
        connection.exec_driver_sql(f"PRAGMA user_version = {mark}")


def _changes(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT total_changes()").scalar_one())


UNREADABLE = (sqlite3.DatabaseError, *_UNREADABLE)
_LOOKING_SECONDS = 20
_LEAST_FREE = 1 << 16


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
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
    from lpisearch.storage.sqlite.store import first_damage

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
