"""A store in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from sqlalchemy import text

from lpisearch.storage.postgresql import schema
from lpisearch.storage.postgresql.snapshot import PostgreSQLSnapshot, PostgreSQLTransaction
from lpisearch.storage.sql.store import Store

if TYPE_CHECKING:
    from lpisearch.places import Address
    from lpisearch.storage.postgresql.engine import Database

_SIZE = text(
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class "
    "WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'm')"
)


class PostgreSQLStore(Store):
    """A library in PostgreSQL."""

    path: Address

    def __init__(self, database: Database) -> None:
        super().__init__(database, PostgreSQLSnapshot, PostgreSQLTransaction)
        self.path = database.place

    @classmethod
    def open(cls, place: Address, *, writable: bool) -> Self:
        """Open an existing library, first bringing it to the schema of this program."""
        return cls(schema.open_library(place, writable=writable))

    @classmethod
    def create(cls, place: Address) -> Self:
        """Open a library for writing; make its tables first if there are none."""
        return cls(schema.create_library(place))

    def size_bytes(self) -> int:
        """Return the bytes of its tables and indexes on the server."""
        with self._database.reading() as connection:
            return int(connection.execute(_SIZE).scalar_one())
