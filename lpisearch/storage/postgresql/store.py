"""The store in PostgreSQL: what `storage.contract` asks for, put together."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from sqlalchemy import text

from lpisearch.storage.postgresql import schema
from lpisearch.storage.postgresql.snapshot import PostgreSQLSnapshot, PostgreSQLTransaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.places import Address
    from lpisearch.storage.postgresql.engine import Database

_SIZE = text(
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class "
    "WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'm')"
)


class PostgreSQLStore:
    """A library in PostgreSQL; the methods are those of `contract.Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.path = database.place
        self.writable = database.writable

    @classmethod
    def open(cls, place: Address, *, writable: bool) -> Self:
        """Open an existing library, first bringing it to the schema of this program."""
        return cls(schema.open_library(place, writable=writable))

    @classmethod
    def create(cls, place: Address) -> Self:
        """Open a library for writing; make its tables first if there are none."""
        return cls(schema.create_library(place))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the connections go."""
        self._database.close()

    @contextmanager
    def reading(self) -> Iterator[PostgreSQLSnapshot]:
        """Give a view of one unchanging state."""
        with self._database.reading() as connection:
            yield PostgreSQLSnapshot(connection)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[PostgreSQLTransaction]:
        """Give a transaction, kept when its block ends and undone when the block raises."""
        with self._database.writing(durable=durable) as connection:
            yield PostgreSQLTransaction(connection)

    def size_bytes(self) -> int:
        """Return the bytes of its tables and indexes on the server."""
        with self._database.reading() as connection:
            return int(connection.execute(_SIZE).scalar_one())
