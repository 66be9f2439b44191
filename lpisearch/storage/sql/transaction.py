"""What is written to a library in SQL, in every database alike."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lpisearch.storage.sql.snapshot import SQLSnapshot

if TYPE_CHECKING:
    from lpisearch.storage.sql.label_changes import SQLWritableLabels


class SQLTransaction(SQLSnapshot):
    """Changes that are kept together; its room adds documents and health."""

    @cached_property
    def labels(self) -> SQLWritableLabels:
        """Labels, to be written."""
        from lpisearch.storage.sql.label_changes import SQLWritableLabels

        return SQLWritableLabels(self._connection)

    def rollback(self) -> None:
        """Undo what was written so far; the transaction is over."""
        self._connection.rollback()
