"""Store, ReadTransaction, Transaction: what both backends share.

Each part is imported on first use: a listing does not load what a search needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from lpisearch.errors import LibraryDamaged, LibraryTooNew
from lpisearch.storage.integrity import HEAD
from lpisearch.storage.reading import SQLDocuments, SQLLabels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.location import Location
    from lpisearch.storage.changes import SQLChanges, SQLWritableLabels
    from lpisearch.storage.corpus import SQLCorpus
    from lpisearch.storage.health import SQLHealth
    from lpisearch.storage.metadata import SQLIndexes, SQLSettings, SQLSources
    from lpisearch.storage.postgres.pgvector import ExportedVectors
    from lpisearch.storage.postgres.search_tables import SearchTables
    from lpisearch.storage.postgres.store import IndexFiles
    from lpisearch.storage.reading import Connection, SQLLexical


class Database(Protocol):
    """An open database of either backend."""

    @property
    def path(self) -> Any:
        """Where it is."""

    @property
    def writable(self) -> bool:
        """Whether `writing` may be called."""

    def reading(self) -> AbstractContextManager[Connection]:
        """Yield a connection that sees one unchanging state."""

    def writing(self, *, durable: bool = False) -> AbstractContextManager[Connection]:
        """Yield a connection whose changes are committed as a whole or not at all."""

    def close(self) -> None:
        """Release the database."""


class Store(ABC):
    """An open library, and a context manager that closes it."""

    path: Location
    _kinds: ClassVar[tuple[type[ReadTransaction], type[Transaction]]]

    def __init__(self, database: Database) -> None:
        self.path, self.writable, self._database = database.path, database.writable, database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file or the connections."""
        self._database.close()

    @abstractmethod
    def size_bytes(self) -> int:
        """Return the size on disk."""

    def vacuum(self) -> None:  # noqa: B027 (a file needs none)
        """Do after many writes what a server would only do some minutes later, if it can."""

    @contextmanager
    def reading(self) -> Iterator[ReadTransaction]:
        """Yield a view of one unchanging state."""
        with self._database.reading() as connection:
            self._refuse_other_schema(connection)
            yield self._kinds[0](connection)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Transaction]:
        """Yield a transaction, committed when its block ends and rolled back when it raises.

        With `durable`, it and all transactions before it survive a power cut.
        """
        with self._database.writing(durable=durable) as connection:
            self._refuse_other_schema(connection)
            yield self._kinds[1](connection)

    def _refuse_other_schema(self, connection: Connection) -> None:
        """Refuse a library whose schema changed since it was opened, as a newer program does."""
        found = str(connection.value("SELECT version_num FROM alembic_version"))
        if found > HEAD:
            raise LibraryTooNew(self.path, found)
        if found != HEAD:
            raise LibraryDamaged(self.path, f"its schema became {found} while it was in use")


class ReadTransaction(ABC):
    """One unchanging state of a library; subclasses add the lexical index."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def documents(self) -> SQLDocuments:
        """Documents by key."""
        return SQLDocuments(self._connection)

    @cached_property
    def labels(self) -> SQLLabels:
        """Labels."""
        return SQLLabels(self._connection)

    @cached_property
    def corpus(self) -> SQLCorpus:
        """Documents by a filter, and the input of an index."""
        from lpisearch.storage.corpus import SQLCorpus

        return SQLCorpus(self._connection)

    @property
    @abstractmethod
    def lexical(self) -> SQLLexical:
        """The database's own full-text index over the tokens."""

    @cached_property
    def indexes(self) -> SQLIndexes:
        """The register of subspace indexes."""
        from lpisearch.storage.metadata import SQLIndexes

        return SQLIndexes(self._connection)

    @cached_property
    def settings(self) -> SQLSettings:
        """Settings of the library."""
        from lpisearch.storage.metadata import SQLSettings

        return SQLSettings(self._connection)

    @cached_property
    def sources(self) -> SQLSources:
        """The files that documents came from."""
        from lpisearch.storage.metadata import SQLSources

        return SQLSources(self._connection)

    @property
    def index_files(self) -> IndexFiles | None:
        """Index files stored in the database; None where they are in folders."""
        return None

    @property
    def vectors(self) -> ExportedVectors | None:
        """Tables of vectors for other programs; None where the backend has none."""
        return None

    @property
    def search_tables(self) -> SearchTables | None:
        """Tables with which the database searches; None where the backend has none."""
        return None

    @abstractmethod
    def state(self) -> str:
        """Return a token of this state, cheaply: equal tokens mean equal content."""

    def revision(self) -> str | None:
        """Return the revision of the schema."""
        from lpisearch.storage.tables import revision

        return revision(self._connection.core)


class Transaction(ReadTransaction):
    """Changes that are committed as a whole or not at all."""

    @property
    @abstractmethod
    def changes(self) -> SQLChanges:
        """Writes of documents."""

    @property
    @abstractmethod
    def health(self) -> SQLHealth:
        """Damage and its repair."""

    @cached_property
    def labels(self) -> SQLWritableLabels:
        """Labels, writable."""
        from lpisearch.storage.changes import SQLWritableLabels

        return SQLWritableLabels(self._connection)

    def rollback(self) -> None:
        """Undo all writes so far; the transaction is over."""
        self._connection.rollback()
