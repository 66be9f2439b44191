"""A snapshot of a library in PostgreSQL, and a transaction on it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sqlalchemy import text

from lpisearch.storage.sql.snapshot import SQLSnapshot
from lpisearch.storage.sql.transaction import SQLTransaction

if TYPE_CHECKING:
    from lpisearch.storage.postgresql.changes import PostgreSQLChanges
    from lpisearch.storage.postgresql.health import PostgreSQLHealth
    from lpisearch.storage.postgresql.index_files import IndexFiles
    from lpisearch.storage.postgresql.lexical import PostgreSQLLexical
    from lpisearch.storage.postgresql.sources import PostgreSQLSources
    from lpisearch.storage.postgresql.vectors import ExportedVectors

# Which transactions it sees: what they left is the same as long as these are. Others of the server
# change it too, which costs no more than to work something out again. With its start, since after
# a power cut the numbers of transactions that were lost are used again.
_STATE = text(
    "SELECT concat(current_database(), ' ', current_schema(), ' ', "
    "extract(epoch FROM pg_postmaster_start_time()), ' ', pg_current_snapshot())"
)


class PostgreSQLSnapshot(SQLSnapshot):
    """One unchanging state of a library; the parts are those of `contract.Snapshot`."""

    @cached_property
    def lexical(self) -> PostgreSQLLexical:
        """The index over the tokens."""
        from lpisearch.storage.postgresql.lexical import PostgreSQLLexical

        return PostgreSQLLexical(self._connection)

    @cached_property
    def sources(self) -> PostgreSQLSources:
        """The files that documents came from, and on which machine each is."""
        from lpisearch.storage.postgresql.sources import PostgreSQLSources

        return PostgreSQLSources(self._connection)

    @cached_property
    def index_files(self) -> IndexFiles:
        """The files of indexes that are kept in the database."""
        from lpisearch.storage.postgresql.index_files import IndexFiles

        return IndexFiles(self._connection)

    @cached_property
    def vectors(self) -> ExportedVectors:
        """Vectors for other programs, by pgvector."""
        from lpisearch.storage.postgresql.vectors import ExportedVectors

        return ExportedVectors(self._connection)

    def state(self) -> str:
        """Return a mark of this state: two snapshots with the same mark hold the same."""
        return str(self._connection.execute(_STATE).scalar_one())


class PostgreSQLTransaction(SQLTransaction, PostgreSQLSnapshot):
    """Changes that are kept together; the parts are those of `contract.Transaction`."""

    @cached_property
    def changes(self) -> PostgreSQLChanges:
        """Writes of documents."""
        from lpisearch.storage.postgresql.changes import PostgreSQLChanges

        return PostgreSQLChanges(self._connection)

    @cached_property
    def health(self) -> PostgreSQLHealth:
        """Damage, and its repair."""
        from lpisearch.storage.postgresql.health import PostgreSQLHealth

        return PostgreSQLHealth(self._connection)
