"""A snapshot of a library, put together from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.storage.sqlite import schema
from lpisearch.storage.sqlite.corpus import SQLiteCorpus
from lpisearch.storage.sqlite.documents import SQLiteDocuments
from lpisearch.storage.sqlite.indexes import SQLiteIndexes
from lpisearch.storage.sqlite.labels import SQLiteLabels
from lpisearch.storage.sqlite.lexical import SQLiteLexical
from lpisearch.storage.sqlite.settings import SQLiteSettings
from lpisearch.storage.sqlite.sources import SQLiteSources

if TYPE_CHECKING:
    from sqlalchemy import Connection


class SQLiteSnapshot:
    """One unchanging state of a library; the parts are those of `contract.Snapshot`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.documents = SQLiteDocuments(connection)
        self.labels = SQLiteLabels(connection)
        self.corpus = SQLiteCorpus(connection)
        self.lexical = SQLiteLexical(connection)
        self.indexes = SQLiteIndexes(connection)
        self.settings = SQLiteSettings(connection)
        self.sources = SQLiteSources(connection)

    def revision(self) -> str | None:
        """Return the revision of the schema."""
        return schema.revision(self._connection)
