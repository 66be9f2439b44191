"""A transaction on a library, put together from its parts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lpisearch.storage.sqlite.changes import SQLiteChanges
from lpisearch.storage.sqlite.health import SQLiteHealth
from lpisearch.storage.sqlite.label_changes import SQLiteWritableLabels
from lpisearch.storage.sqlite.snapshot import SQLiteSnapshot

if TYPE_CHECKING:
    from sqlalchemy import Connection


class SQLiteTransaction(SQLiteSnapshot):
    """Changes that are kept together; the parts are those of `contract.Transaction`."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.changes = SQLiteChanges(connection)
        self.health = SQLiteHealth(connection)

    @cached_property
    def labels(self) -> SQLiteWritableLabels:
        """Labels, to be written."""
        return SQLiteWritableLabels(self._connection)

    def rollback(self) -> None:
        """Undo what was written so far; the transaction is over."""
        self._connection.rollback()
