"""A snapshot of a library, put together from its parts.

Each part is loaded when it is first asked for: a listing does not wait for what a search needs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lpisearch.storage.sqlite import schema
from lpisearch.storage.sqlite.marks import marked

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from lpisearch.storage.sqlite.corpus import SQLiteCorpus
    from lpisearch.storage.sqlite.documents import SQLiteDocuments
    from lpisearch.storage.sqlite.indexes import SQLiteIndexes
    from lpisearch.storage.sqlite.labels import SQLiteLabels
    from lpisearch.storage.sqlite.lexical import SQLiteLexical
    from lpisearch.storage.sqlite.settings import SQLiteSettings
    from lpisearch.storage.sqlite.sources import SQLiteSources


class SQLiteSnapshot:
    """One unchanging state of a library; the parts are those of `contract.Snapshot`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def documents(self) -> SQLiteDocuments:
        """Documents as they are shown."""
        from lpisearch.storage.sqlite.documents import SQLiteDocuments

        return SQLiteDocuments(self._connection)

    @cached_property
    def labels(self) -> SQLiteLabels:
        """Labels and splits."""
        from lpisearch.storage.sqlite.labels import SQLiteLabels

        return SQLiteLabels(self._connection)

    @cached_property
    def corpus(self) -> SQLiteCorpus:
        """Tokens and content hashes."""
        from lpisearch.storage.sqlite.corpus import SQLiteCorpus

        return SQLiteCorpus(self._connection)

    @cached_property
    def lexical(self) -> SQLiteLexical:
        """The full-text index over the tokens."""
        from lpisearch.storage.sqlite.lexical import SQLiteLexical

        return SQLiteLexical(self._connection)

    @cached_property
    def indexes(self) -> SQLiteIndexes:
        """The register of subspace indexes."""
        from lpisearch.storage.sqlite.indexes import SQLiteIndexes

        return SQLiteIndexes(self._connection)

    @cached_property
    def settings(self) -> SQLiteSettings:
        """Settings of the library."""
        from lpisearch.storage.sqlite.settings import SQLiteSettings

        return SQLiteSettings(self._connection)

    @cached_property
    def sources(self) -> SQLiteSources:
        """The files that documents came from."""
        from lpisearch.storage.sqlite.sources import SQLiteSources

        return SQLiteSources(self._connection)

    def revision(self) -> str | None:
        """Return the revision of the schema."""
        return schema.revision(self._connection)

    def state(self) -> str:
        """Return a mark of this state: two snapshots with the same mark hold the same."""
        return str(marked(self._connection))
