"""A transaction on a library in SQLite, put together from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.storage.sql.transaction import SQLTransaction
from lpisearch.storage.sqlite.changes import SQLiteChanges
from lpisearch.storage.sqlite.health import SQLiteHealth
from lpisearch.storage.sqlite.snapshot import SQLiteSnapshot

if TYPE_CHECKING:
    from sqlalchemy import Connection


class SQLiteTransaction(SQLTransaction, SQLiteSnapshot):
    """Changes that are kept together; the parts are those of `contract.Transaction`."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.changes = SQLiteChanges(connection)
        self.health = SQLiteHealth(connection)
