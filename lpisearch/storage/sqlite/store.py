"""The store in one SQLite file: what `storage.contract` asks for, put together."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from lpisearch.storage.sqlite import schema
from lpisearch.storage.sqlite.snapshot import SQLiteSnapshot

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from pathlib import Path

    from lpisearch.storage.sqlite.engine import Database
    from lpisearch.storage.sqlite.transaction import SQLiteTransaction

# Steps of two seconds are the largest there are.
_UNSURE_NS = 3_000_000_000


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

    def state(self) -> Hashable | None:
        """Return what the system says of the database and its write-ahead log.

        Times of files go on in steps, so what was written a moment ago may be written again
        without a change of time.
        """
        facts = [_facts(part) for part in self._parts()]
        newest = max((each[-1] for each in facts if each), default=0)
        return tuple(facts) if newest < time.time_ns() - _UNSURE_NS else None

    def size_bytes(self) -> int:
        """Return the bytes of the database with its write-ahead log."""
        return sum(part.stat().st_size for part in self._parts() if part.exists())

    def _parts(self) -> tuple[Path, Path]:
        return self.path, self.path.with_name(f"{self.path.name}-wal")


def _facts(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    if not found.st_size:  # a log that a reader has made
        return ()
    return found.st_ino, found.st_size, found.st_ctime_ns, found.st_mtime_ns
