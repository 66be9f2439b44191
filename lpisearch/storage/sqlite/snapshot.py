"""A snapshot of a library in SQLite, and a transaction on it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lpisearch.storage.sql.snapshot import Snapshot
from lpisearch.storage.sql.transaction import Transaction
from lpisearch.storage.sqlite.marks import marked

if TYPE_CHECKING:
    from lpisearch.storage.sqlite.changes import SQLiteChanges
    from lpisearch.storage.sqlite.health import SQLiteHealth
    from lpisearch.storage.sqlite.lexical import SQLiteLexical


class SQLiteSnapshot(Snapshot):
    """One unchanging state of a library."""

    @cached_property
    def lexical(self) -> SQLiteLexical:
        """The full-text index over the tokens."""
        from lpisearch.storage.sqlite.lexical import SQLiteLexical

        return SQLiteLexical(self._connection)

    def state(self) -> str:
        """Return a mark of this state: two snapshots with the same mark hold the same."""
        return str(marked(self._connection))


class SQLiteTransaction(Transaction, SQLiteSnapshot):
    """Changes that are kept together."""

    @cached_property
    def changes(self) -> SQLiteChanges:
        """Writes of documents."""
        from lpisearch.storage.sqlite.changes import SQLiteChanges

        return SQLiteChanges(self._connection)

    @cached_property
    def health(self) -> SQLiteHealth:
        """Damage, and its repair."""
        from lpisearch.storage.sqlite.health import SQLiteHealth

        return SQLiteHealth(self._connection)
