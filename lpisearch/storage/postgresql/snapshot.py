"""A snapshot of a library in PostgreSQL, and a transaction on it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lpisearch.storage.postgresql.marks import marked
from lpisearch.storage.sql.snapshot import Snapshot
from lpisearch.storage.sql.transaction import Transaction

if TYPE_CHECKING:
    from lpisearch.storage.postgresql.changes import PostgreSQLChanges
    from lpisearch.storage.postgresql.health import PostgreSQLHealth
    from lpisearch.storage.postgresql.index_files import IndexFiles
    from lpisearch.storage.postgresql.lexical import PostgreSQLLexical
    from lpisearch.storage.postgresql.sources import PostgreSQLSources
    from lpisearch.storage.postgresql.vectors import ExportedVectors


class PostgreSQLSnapshot(Snapshot):
    """One unchanging state of a library."""

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
        return marked(self._connection)


class PostgreSQLTransaction(Transaction, PostgreSQLSnapshot):
    """Changes that are kept together."""

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
