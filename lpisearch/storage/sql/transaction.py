"""What is written to a library in SQL, in every database alike."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from lpisearch.storage.sql.snapshot import Snapshot

if TYPE_CHECKING:
    from lpisearch.storage.sql.changes import SQLChanges
    from lpisearch.storage.sql.health import SQLHealth
    from lpisearch.storage.sql.label_changes import SQLWritableLabels


class Transaction(Snapshot):
    """Changes that are kept together, or not at all; its room adds documents and health."""

    @property
    @abstractmethod
    def changes(self) -> SQLChanges:
        """Writes of documents."""

    @property
    @abstractmethod
    def health(self) -> SQLHealth:
        """Damage, and its repair."""

    @cached_property
    def labels(self) -> SQLWritableLabels:
        """Labels, to be written."""
        from lpisearch.storage.sql.label_changes import SQLWritableLabels

        return SQLWritableLabels(self._connection)

    def rollback(self) -> None:
        """Undo what was written so far; the transaction is over."""
        self._connection.rollback()
