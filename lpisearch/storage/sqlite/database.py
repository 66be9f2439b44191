"""Connections, transactions, the store, errors and the file header of SQLite libraries.

A reader never waits for a writer and never changes a byte. A writer starts each transaction with
`BEGIN IMMEDIATE`, so that it cannot fail half-way for lack of the lock.

POSIX drops all locks of a process on a file, those of SQLite's connections included, when the
process closes any descriptor of it. So descriptors of a library that this program opens itself are
closed only when no connection is open.

To open a connection takes longer than to look up a word, so those of readers are kept for the next
question: while the file is the same, and no descriptor waits to be closed.

The state token is `user_version` in the file header: read without touching a table, part of the
transaction, and random, so that diverged copies differ.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from threading import Lock, local
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote
from weakref import WeakSet

from lpisearch.errors import (
    LibraryDamaged,
    LibraryError,
    LibraryLocked,
    LibraryNotFound,
    LibraryUnwritable,
    NotALibrary,
    NotUnicode,
    SeveralNames,
)
from lpisearch.storage.integrity import as_json, checksum
from lpisearch.storage.reading import CHECKSUM_FUNCTION, PATH_FUNCTION, Connection, plain_tokens
from lpisearch.storage.store import ReadTransaction, Store, Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import sqlalchemy

    from lpisearch.storage.sqlite.fulltext import SQLiteLexical
    from lpisearch.storage.sqlite.store import SQLiteChanges, SQLiteHealth

_STEPS = 10_000  # virtual machine instructions between two looks at the clock
_MOST_IDLE = 8  # connections that are kept


class FileConnection(Connection):
    """A transaction of a library in a file."""

    is_server = False

    def __init__(self, raw: CountedConnection, join: Callable[[], sqlalchemy.Connection]) -> None:
        self.raw, self._join = raw, join

    @cached_property
    def core(self) -> sqlalchemy.Connection:
        """The same transaction for SQLAlchemy."""
        return self._join()

    def rows(self, statement: str, *values: Any) -> Cursor:
        """Return the rows of a statement."""
        cursor: Cursor = self.raw.cursor()
        return cursor.execute(statement, values)

    def rollback(self) -> None:
        """Undo all writes so far; the transaction is over."""
        self.raw.rollback()


class _Joined:
    """A connection as SQLAlchemy sees it, which neither begins nor ends anything on it."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def commit(self, *_words: Any, **_options: Any) -> None:
        """Leave it to who began the transaction."""

    rollback = close = commit
    create_function = commit  # of expressions, which no statement has


class Database:
    """An open library in a file."""

    def __init__(self, path: Path, file: Path, *, writable: bool) -> None:
        self.path, self.writable = path, writable
        self._file = file
        self._writer: CountedConnection | None = None
        self._thread = local()

    @classmethod
    def connect(cls, path: Path, *, writable: bool, partial: Path | None = None) -> Database:
        """Connect to the file, creating an empty one if it is writable.

        With `partial` the file is there for now, and errors name `path`.
        """
        file = partial or path
        refuse_other_files(file)
        if writable:
            refuse_hard_links(file)
        return cls(path, file.absolute(), writable=writable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file; the last process to do so removes the log files."""
        _OPEN.drop_idle(self._file)
        if self._writer is not None:
            with suppress(sqlite3.Error):  # no log is left to readers of other processes
                self._writer.execute("PRAGMA busy_timeout = 0")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._writer.close()
            self._writer = None
        if not self.writable:
            remove_empty_log(self.path.absolute())

    @cached_property
    def engine(self) -> sqlalchemy.Engine:
        """The engine of statements that SQLAlchemy puts together."""
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        engine = create_engine(
            "sqlite://",
            creator=lambda: _Joined(self._thread.raw),
            poolclass=NullPool,
            json_serializer=as_json,
            hide_parameters=True,  # an error that is logged shows no queries or texts
        )
        # SQLAlchemy rolls back on its first connection: that one is of no library.
        with closing(sqlite3.connect(":memory:")) as self._thread.raw:
            engine.connect().close()
        return engine

    def _join(self, raw: CountedConnection) -> sqlalchemy.Connection:
        engine = self.engine
        self._thread.raw = raw
        try:
            connection = engine.connect()
        finally:
            self._thread.raw = None
        connection.begin()
        return connection

    def store(self) -> LibraryStore:
        """Return the library in it."""
        return LibraryStore(self)

    @contextmanager
    def reading(self) -> Iterator[FileConnection]:
        """Yield a connection that sees one unchanging state of the library."""
        with translate_errors(self.path), self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def interruptible(self, until: Callable[[], bool]) -> Iterator[FileConnection]:
        """Yield a connection that aborts when `until` is true; it raises SQLite's own errors."""
        with self._transaction("BEGIN") as connection:
            connection.raw.identity = ()  # it is not kept
            connection.raw.set_progress_handler(until, _STEPS)
            yield connection

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[FileConnection]:
        """Yield a connection whose changes are committed as a whole or not at all.

        With `durable`, they and all earlier changes survive a power cut.
        """
        level = f"PRAGMA synchronous = {'FULL' if durable else SYNCHRONOUS}"
        with (
            translate_errors(self.path),
            self._transaction(level, "BEGIN IMMEDIATE") as connection,
        ):
            raw = connection.raw
            before = raw.total_changes
            yield connection
            if raw.in_transaction and raw.total_changes != before:
                token = secrets.randbelow(_LARGEST_TOKEN) + 1
                raw.execute(f"PRAGMA user_version = {token}")
            raw.commit()

    @contextmanager
    def _transaction(self, *first: str) -> Iterator[FileConnection]:
        """Yield a connection after some statements; what is not committed is rolled back."""
        kept = self._writer if self.writable else _OPEN.idle(self._file)
        raw = kept or connect(self._file, writable=self.writable)
        self._writer = raw if self.writable else None
        connection = FileConnection(raw, lambda: self._join(raw))
        succeeded = False
        try:
            for statement in first:
                raw.execute(statement)
            yield connection
            succeeded = True
        finally:
            if "core" in vars(connection):
                connection.core.close()
            raw.rollback()
            if not self.writable:
                (_OPEN.leave_idle if succeeded else CountedConnection.close)(raw)


class SQLiteReadTransaction(ReadTransaction):
    """One unchanging state of a library."""

    @cached_property
    def lexical(self) -> SQLiteLexical:
        """The FTS5 index over the tokens."""
        from lpisearch.storage.sqlite.fulltext import SQLiteLexical

        return SQLiteLexical(self._connection)

    def state(self) -> str:
        """Return a token of this state: equal tokens mean equal content."""
        return str(self._connection.value("PRAGMA user_version"))


class SQLiteTransaction(Transaction, SQLiteReadTransaction):
    """Changes that are committed as a whole or not at all."""

    @cached_property
    def changes(self) -> SQLiteChanges:
        """Writes of documents."""
        from lpisearch.storage.sqlite.store import SQLiteChanges

        return SQLiteChanges(self._connection)

    @cached_property
    def health(self) -> SQLiteHealth:
        """Damage and its repair."""
        from lpisearch.storage.sqlite.store import SQLiteHealth

        return SQLiteHealth(self._connection)


class LibraryStore(Store):
    """A library in one SQLite file."""

    path: Path
    _kinds = SQLiteReadTransaction, SQLiteTransaction

    def size_bytes(self) -> int:
        """Return the size of the database and its write-ahead log."""
        parts = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())


BUSY_SECONDS = 10
SYNCHRONOUS = "NORMAL"  # a power cut may lose the last batches, but never damages the file
# Measured: pages of 8 KiB and rarer checkpoints make an ingest a fifth faster than the defaults.
_PAGE_BYTES = 8192
_PAGE_CACHE_KIB = 64 * 1024
_CHECKPOINT_PAGES = 8192
# Errors of SQLite where it cannot create the file that readers share.
_WITHOUT_SHM = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
}


def connect(path: Path, *, writable: bool) -> CountedConnection:
    """Open a file; a writable one is created if it does not exist."""
    if writable:
        connection = _open(f"{path.absolute().as_uri()}?mode=rwc")
        try:
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # applies to an empty file only
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            connection.execute(f"PRAGMA cache_size = -{_PAGE_CACHE_KIB}")
        except BaseException:
            connection.close()
            raise
        return connection
    return connect_to_read(path.absolute())


def connect_to_read(path: Path) -> CountedConnection:
    """Open for reading; as immutable where SQLite cannot create its -shm file (a full disk)."""
    uri = path.as_uri()
    identity = _identity(path)
    connection = _open(f"{uri}?mode=ro")
    # Not for a writer: the trigger of deletions, known word by word, writes to FTS5.
    connection.execute("PRAGMA trusted_schema = OFF")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in _WITHOUT_SHM:
            raise
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            reason = f"its latest changes are in {log.name} and must be merged first"
            raise LibraryUnwritable(path, reason) from error
        return _open(f"{uri}?mode=ro&immutable=1")  # which would not see later changes
    connection.identity = identity
    return connection


def _identity(path: Path) -> tuple[object, ...]:
    """Return what tells a file from one that is put in its place, or copied over it."""
    with suppress(OSError):
        at = os.stat(path)  # noqa: PTH116 (a question does it)
        return path, at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns
    return ()


def remove_empty_log(path: Path) -> None:
    """Let SQLite remove the -wal and -shm files that readers create but may not remove.

    It does so when the last writable connection of any process is closed. A log with changes of a
    killed writer is left for the next writer.
    """
    log, index = (path.with_name(f"{path.name}-{kind}") for kind in ("wal", "shm"))
    with suppress(OSError, sqlite3.Error):
        if index.exists() and not (log.exists() and log.stat().st_size):
            address = f"{path.as_uri()}?mode=rw"
            opened = sqlite3.connect(address, uri=True, timeout=0, factory=CountedConnection)
            with closing(opened) as connection:
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def _open(uri: str) -> CountedConnection:
    # The driver starts no transactions: `Database` does, for DDL too.
    connection = sqlite3.connect(
        uri,
        uri=True,
        isolation_level=None,
        timeout=BUSY_SECONDS,
        check_same_thread=False,
        factory=CountedConnection,
    )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.set_progress_handler(connection.steps.are_too_many, _STEPS_BETWEEN)
    connection.create_function(PATH_FUNCTION, 2, _lies_at, deterministic=True)
    connection.create_function(CHECKSUM_FUNCTION, -1, checksum, deterministic=True)
    connection.create_function("plain_tokens", 1, plain_tokens, deterministic=True)
    return connection


def _lies_at(pattern: str, path: str) -> bool:
    from lpisearch.storage.dialects import glob_of

    return glob_of(pattern).matches(path)


class _Connections:
    def __init__(self) -> None:
        self._lock = Lock()
        self._open: WeakSet[CountedConnection] = WeakSet()
        self._idle: list[CountedConnection] = []
        self._descriptors: list[int] = []

    def idle(self, path: Path) -> CountedConnection | None:
        """Take the connection of an earlier reader to the file that is at a path now."""
        identity = _identity(path)
        with self._lock:
            for at, one in enumerate(self._idle):
                if one.identity == identity:
                    return self._idle.pop(at)
        self.drop_idle(path if len(self._idle) < _MOST_IDLE else None)
        return None

    def leave_idle(self, connection: CountedConnection) -> None:
        """Keep a connection for the next reader of its file; close it if that may not be."""
        with self._lock:
            may_stay = connection.identity and not self._descriptors
            if keeps := bool(may_stay) and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
        if not keeps:
            connection.close()

    def drop_idle(self, path: Path | None = None) -> None:
        """Close the connections that are kept, or those to what was at a path."""
        with self._lock:
            dropped = [one for one in self._idle if path is None or path in one.identity]
            self._idle = [one for one in self._idle if one not in dropped]
        for one in dropped:
            one.close()

    def enter(self, connection: CountedConnection) -> None:
        with self._lock:
            self._open.add(connection)

    def leave(self, connection: CountedConnection) -> None:
        with self._lock:
            self._open.discard(connection)
            self._close()

    def close(self, descriptor: int) -> None:
        self._descriptors.append(descriptor)
        self.drop_idle()
        with self._lock:
            self._close()

    def _close(self) -> None:
        while not self._open and self._descriptors:
            os.close(self._descriptors.pop())


_OPEN = _Connections()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_OPEN.drop_idle)  # SQLite's must not cross a fork


class Cursor(sqlite3.Cursor):
    """A cursor that raises a database error also where a damaged name is not UTF-8."""

    def execute(self, *words: Any) -> Self:
        """Execute a statement."""
        if isinstance(self.connection, CountedConnection):
            self.connection.steps.taken = 0
        try:
            return super().execute(*words)
        except UnicodeDecodeError as error:
            damage = sqlite3.DatabaseError(error.object.decode(errors="replace"))
            damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damage from error


_STEPS_BETWEEN = 5_000_000
_STEPS_OF_ANY, _STEPS_A_BYTE = 500_000_000, 100


class StepLimit:
    """Ends a statement whose steps no file of its size can need: damaged pages may be endless.

    Steps are counted, not seconds: a statement may wait for who takes its rows.
    """

    def __init__(self, address: str) -> None:
        self._path = Path(unquote(address.removeprefix("file://").partition("?")[0]))
        self.taken = 0

    def are_too_many(self) -> bool:
        """Count steps; tell whether the statement is to end."""
        self.taken += _STEPS_BETWEEN
        if self.taken <= _STEPS_OF_ANY:
            return False
        with suppress(OSError):
            size = self._path.stat().st_size
            log = self._path.with_name(f"{self._path.name}-wal")
            size += log.stat().st_size if log.exists() else 0
            return self.taken > _STEPS_OF_ANY + _STEPS_A_BYTE * size
        return False


class CountedConnection(sqlite3.Connection):
    """A connection that is counted while it is open; `identity` is its file if it may be kept."""

    identity: tuple[object, ...] = ()

    def __init__(self, *names: Any, **options: Any) -> None:
        self.steps = StepLimit(str(names[0]))
        super().__init__(*names, **options)
        _OPEN.enter(self)

    def cursor(self, factory: Any = Cursor) -> Any:
        """Return a cursor."""
        return super().cursor(factory)

    def execute(self, *words: Any) -> Any:
        """Execute a statement by our cursor; the inherited method uses its own."""
        return self.cursor().execute(*words)

    def close(self) -> None:
        """Close the connection."""
        super().close()
        _OPEN.leave(self)


def close_when_idle(descriptor: int) -> None:
    """Close a descriptor of a library once this process has no connection open."""
    _OPEN.close(descriptor)


APPLICATION_ID = int.from_bytes(b"lpis", "big")  # written by migration 0001
_APPLICATION_AT = slice(68, 72)  # its offset in the header
_SQLITE_MAGIC = b"SQLite format 3\x00"


def is_library(head: bytes) -> bool:
    """Tell from the header of a file whether it is a library or a copy of one."""
    return head.startswith(_SQLITE_MAGIC) and _has_application_id(head)


def refuse_other_files(path: Path) -> None:
    """Refuse files that are not libraries; a missing file may become one."""
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
        if _has_application_id(head):
            raise LibraryDamaged(path, "its header is damaged")
        raise NotALibrary(path, "it is not an SQLite database")


def refuse_hard_links(path: Path) -> None:
    """Refuse to write a file with several names: SQLite would keep a log for each name."""
    with suppress(OSError):
        names = path.stat().st_nlink
        if names > 1:
            raise SeveralNames(path, names)


def _has_application_id(head: bytes) -> bool:
    return int.from_bytes(head[_APPLICATION_AT], "big") == APPLICATION_ID


_LARGEST_TOKEN = (1 << 31) - 1
_CHECK_SECONDS = 20
_LEAST_FREE_BYTES = 1 << 16


def unreadable() -> tuple[type[Exception], ...]:
    """Return the exceptions that damage may cause; imports SQLAlchemy."""
    from lpisearch.storage.tables import UNREADABLE

    return (sqlite3.DatabaseError, *UNREADABLE)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite, and those that damaged cells cause, into our own.

    An error that SQLite does not explain is a bug, or damage that shows further on (a string that
    is not one, invalid JSON). So the library is checked, and damage is reported where it is found.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        raise NotUnicode(error.object) from error
    except unreadable() as error:
        from lpisearch.storage.sqlite.store import first_damage

        cause = getattr(error, "orig", error)
        known = _translated(path, cause)
        if known is None and (damage := first_damage(path, _CHECK_SECONDS)):
            known = LibraryDamaged(path, damage)
        if known is None:
            raise
        raise known from error


def _translated(path: Path, error: BaseException | None) -> LibraryError | None:
    """Return our error for one of SQLite, or None if its code does not tell the cause."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    reason = str(error)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LibraryLocked(path, "another program")
    if code == sqlite3.SQLITE_FULL:
        return LibraryUnwritable(path, "the disk is full")
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}:
        if code == sqlite3.SQLITE_CANTOPEN and not path.exists():
            known: LibraryError = LibraryNotFound(path)  # it was moved or removed
        else:
            known = LibraryUnwritable(path, "the disk is full" if _is_full(path) else reason)
        return known
    if code == sqlite3.SQLITE_INTERRUPT:
        return LibraryDamaged(path, "reading it does not end")
    # FTS5 reports damage to its own tables as a plain error.
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB} or "invalid fts5" in reason:
        return LibraryDamaged(path, reason)
    return None


def _is_full(path: Path) -> bool:
    """Tell whether the disk is full, which SQLite may report as an I/O error."""
    with suppress(OSError):
        return shutil.disk_usage(path.absolute().parent).free < _LEAST_FREE_BYTES
    return False
