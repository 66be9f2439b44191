"""The store in one SQLite file: what `storage.contract` asks for, put together."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from lpisearch.storage.sqlite import schema
from lpisearch.storage.sqlite.changes import SQLiteChanges
from lpisearch.storage.sqlite.corpus import SQLiteCorpus
from lpisearch.storage.sqlite.documents import SQLiteDocuments
from lpisearch.storage.sqlite.health import SQLiteHealth
from lpisearch.storage.sqlite.indexes import SQLiteIndexes
from lpisearch.storage.sqlite.labels import SQLiteLabels
from lpisearch.storage.sqlite.lexical import SQLiteLexical
from lpisearch.storage.sqlite.settings import SQLiteSettings
from lpisearch.storage.sqlite.sources import SQLiteSources

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from lpisearch.storage.sqlite.engine import Database


class SQLiteSnapshot:
    """One unchanging state of a library; the parts are those of `contract.Snapshot`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.documents = SQLiteDocuments(connection)
        self.labels = SQLiteLabels(connection)
        self.corpus = SQLiteCorpus(connection)
        self.lexical = SQLiteLexical(connection)
        self.indexes = SQLiteIndexes(connection)
        self.settings = SQLiteSettings(connection)
        self.sources = SQLiteSources(connection)

    def revision(self) -> str | None:
        """Return the revision of the schema."""
        return schema.revision(self._connection)


class SQLiteTransaction(SQLiteSnapshot):
    """Changes that are kept together; the parts are those of `contract.Transaction`."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.changes = SQLiteChanges(connection)
        self.health = SQLiteHealth(connection)

    def rollback(self) -> None:
        """Undo what was written so far; the transaction is over."""
        self._connection.rollback()


class SQLiteStore:
    """A library in one SQLite file; the methods are those of `contract.Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.path = database.path
        self.writable = database.writable

    @classmethod
    def open(cls, path: Path, *, writable: bool) -> Self:
        """Open an existing library, first bringing it to the schema of this program."""
        return cls(schema.open_library(path, writable=writable))

    @classmethod
    def create(cls, path: Path) -> Self:
        """Open a library for writing; make it first if there is none."""
        return cls(schema.create_library(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._database.close()

    @contextmanager
    def reading(self) -> Iterator[SQLiteSnapshot]:
        """Give a view of one unchanging state."""
        with self._database.reading() as connection:
            yield SQLiteSnapshot(connection)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[SQLiteTransaction]:
        """Give a transaction, kept when its block ends and undone when the block raises."""
        with self._database.writing(durable=durable) as connection:
            yield SQLiteTransaction(connection)

    def size_bytes(self) -> int:
        """Return the bytes of the database with its write-ahead log."""
        parts = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())
