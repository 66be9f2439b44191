"""The store in one SQLite file: what `storage.contract` asks for, put together."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from lpisearch.storage.sqlite import schema
from lpisearch.storage.sqlite.snapshot import SQLiteSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lpisearch.storage.sqlite.engine import Database
    from lpisearch.storage.sqlite.transaction import SQLiteTransaction


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
        from lpisearch.storage.sqlite.transaction import SQLiteTransaction

        with self._database.writing(durable=durable) as connection:
            yield SQLiteTransaction(connection)

    def size_bytes(self) -> int:
        """Return the bytes of the database with its write-ahead log."""
        return sum(part.stat().st_size for part in self._parts() if part.exists())

    def _parts(self) -> tuple[Path, Path]:
        return self.path, self.path.with_name(f"{self.path.name}-wal")
