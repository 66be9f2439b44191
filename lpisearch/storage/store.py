"""Store, ReadTransaction, Transaction.

Each part is loaded when it is first asked for: a listing does not wait for what a search needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self

from lpisearch.storage import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from lpisearch.location import Location
    from lpisearch.storage.changes import SQLChanges, SQLWritableLabels
    from lpisearch.storage.corpus import SQLCorpus, SQLDocuments, SQLLabels
    from lpisearch.storage.filters import SQLLexical
    from lpisearch.storage.health import SQLHealth
    from lpisearch.storage.metadata import SQLIndexes, SQLSettings, SQLSources
    from lpisearch.storage.postgres.pgvector import ExportedVectors
    from lpisearch.storage.postgres.store import IndexFiles


class Database(Protocol):
    """What an open database of either room can do."""

    @property
    def writable(self) -> bool:
        """Whether `writing` may be called."""

    def reading(self) -> AbstractContextManager[Connection]:
        """Give a connection that sees one unchanging state."""

    def writing(self, *, durable: bool = False) -> AbstractContextManager[Connection]:
        """Give a connection whose changes are kept together, or not at all."""

    def close(self) -> None:
        """Release it."""


class Store(ABC):
    """An open library, and a context manager that closes it; its room says how large it is.

    Attributes
    ----------
    path
        Where it is.
    writable
        Whether `writing` may be called.
    """

    path: Location

    def __init__(
        self,
        database: Database,
        snapshot: Callable[[Connection], ReadTransaction],
        transaction: Callable[[Connection], Transaction],
    ) -> None:
        self.writable = database.writable
        self._database, self._snapshot, self._transaction = database, snapshot, transaction

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file, or the connections."""
        self._database.close()

    @abstractmethod
    def size_bytes(self) -> int:
        """Return what it takes on the disk."""

    @contextmanager
    def reading(self) -> Iterator[ReadTransaction]:
        """Give a view of one unchanging state."""
        with self._database.reading() as connection:
            yield self._snapshot(connection)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Transaction]:
        """Give a transaction, kept when its block ends and undone when the block raises."""
        with self._database.writing(durable=durable) as connection:
            yield self._transaction(connection)


class ReadTransaction(ABC):
    """One unchanging state of a library; subclasses add the lexical index."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def documents(self) -> SQLDocuments:
        """Documents as they are shown."""
        from lpisearch.storage.corpus import SQLDocuments

        return SQLDocuments(self._connection)

    @cached_property
    def labels(self) -> SQLLabels:
        """Labels and splits."""
        from lpisearch.storage.corpus import SQLLabels

        return SQLLabels(self._connection)

    @cached_property
    def corpus(self) -> SQLCorpus:
        """Tokens and content hashes."""
        from lpisearch.storage.corpus import SQLCorpus

        return SQLCorpus(self._connection)

    @property
    @abstractmethod
    def lexical(self) -> SQLLexical:
        """The store's own index over the tokens."""

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
        return tables.revision(self._connection)


class Transaction(ReadTransaction):
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
        from lpisearch.storage.changes import SQLWritableLabels

        return SQLWritableLabels(self._connection)

    def rollback(self) -> None:
        """Undo what was written so far; the transaction is over."""
        self._connection.rollback()
