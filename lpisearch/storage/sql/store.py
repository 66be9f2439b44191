"""A store in SQL: snapshots and transactions of an open database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from lpisearch.places import Place
    from lpisearch.storage.sql.snapshot import Snapshot
    from lpisearch.storage.sql.transaction import Transaction


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

    Parameters
    ----------
    database
        Open.
    snapshot, transaction
        What is made of a connection to read, and of one to write.

    Attributes
    ----------
    path
        Where it is.
    writable
        Whether `writing` may be called.
    """

    path: Place

    def __init__(
        self,
        database: Database,
        snapshot: Callable[[Connection], Snapshot],
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
    def reading(self) -> Iterator[Snapshot]:
        """Give a view of one unchanging state."""
        with self._database.reading() as connection:
            yield self._snapshot(connection)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Transaction]:
        """Give a transaction, kept when its block ends and undone when the block raises.

        Parameters
        ----------
        durable
            Whether it, and all before it, are on disk when the block has ended: a power cut then
            takes none of it back.
        """
        with self._database.writing(durable=durable) as connection:
            yield self._transaction(connection)
