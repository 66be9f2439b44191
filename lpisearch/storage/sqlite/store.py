"""A store in one SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from lpisearch.storage.sql.store import Store
from lpisearch.storage.sqlite import schema
from lpisearch.storage.sqlite.snapshot import SQLiteSnapshot, SQLiteTransaction

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.storage.sqlite.engine import Database


class SQLiteStore(Store):
    """A library in one SQLite file."""

    path: Path

    def __init__(self, database: Database) -> None:
        super().__init__(database, SQLiteSnapshot, SQLiteTransaction)
        self.path = database.path

    @classmethod
    def open(cls, path: Path, *, writable: bool) -> Self:
        """Open an existing library, first bringing it to the schema of this program."""
        return cls(schema.open_library(path, writable=writable))

    @classmethod
    def create(cls, path: Path) -> Self:
        """Open a library for writing; make it first if there is none."""
        return cls(schema.create_library(path))

    def size_bytes(self) -> int:
        """Return the bytes of the database with its write-ahead log."""
        parts = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())
