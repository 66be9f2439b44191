"""A snapshot of a library, put together from its parts.

Each part is loaded when it is first asked for: a listing does not wait for what a search needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from lpisearch.storage.sql import migrating

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from lpisearch.storage.postgresql.index_files import IndexFiles
    from lpisearch.storage.postgresql.vectors import ExportedVectors
    from lpisearch.storage.sql.corpus import SQLCorpus
    from lpisearch.storage.sql.documents import SQLDocuments
    from lpisearch.storage.sql.indexes import SQLIndexes
    from lpisearch.storage.sql.labels import SQLLabels
    from lpisearch.storage.sql.lexical import SQLLexical
    from lpisearch.storage.sql.settings import SQLSettings
    from lpisearch.storage.sql.sources import SQLSources


class Snapshot(ABC):
    """One unchanging state of a library; its room adds the lexical index."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def documents(self) -> SQLDocuments:
        """Documents as they are shown."""
        from lpisearch.storage.sql.documents import SQLDocuments

        return SQLDocuments(self._connection)

    @cached_property
    def labels(self) -> SQLLabels:
        """Labels and splits."""
        from lpisearch.storage.sql.labels import SQLLabels

        return SQLLabels(self._connection)

    @cached_property
    def corpus(self) -> SQLCorpus:
        """Tokens and content hashes."""
        from lpisearch.storage.sql.corpus import SQLCorpus

        return SQLCorpus(self._connection)

    @property
    @abstractmethod
    def lexical(self) -> SQLLexical:
        """The store's own index over the tokens."""

    @cached_property
    def indexes(self) -> SQLIndexes:
        """The register of subspace indexes."""
        from lpisearch.storage.sql.indexes import SQLIndexes

        return SQLIndexes(self._connection)

    @cached_property
    def settings(self) -> SQLSettings:
        """Settings of the library."""
        from lpisearch.storage.sql.settings import SQLSettings

        return SQLSettings(self._connection)

    @cached_property
    def sources(self) -> SQLSources:
        """The files that documents came from."""
        from lpisearch.storage.sql.sources import SQLSources

        return SQLSources(self._connection)

    @property
    def index_files(self) -> IndexFiles | None:
        """The files of indexes; None where they lie in folders beside the library."""
        return None

    @property
    def vectors(self) -> ExportedVectors | None:
        """Vectors for other programs; None where no other program could ask for them."""
        return None

    @abstractmethod
    def state(self) -> str:
        """Return a mark of this state: two snapshots with the same mark hold the same.

        It is read at next to no cost; what was computed from a snapshot holds while it lasts.
        """

    def revision(self) -> str | None:
        """Return the revision of the schema."""
        return migrating.revision(self._connection)
