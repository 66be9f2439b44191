"""A store in SQL: snapshots and transactions of an open database."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

Seen = TypeVar("Seen")
Changed = TypeVar("Changed")


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


class SQLStore(Generic[Seen, Changed]):
    """An open library; its room says where it is, and how large.

    Parameters
    ----------
    database
        Open.
    snapshot, transaction
        What is made of a connection to read, and of one to write.
    """

    def __init__(
        self,
        database: Database,
        snapshot: Callable[[Connection], Seen],
        transaction: Callable[[Connection], Changed],
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

    @contextmanager
    def reading(self) -> Iterator[Seen]:
        """Give a view of one unchanging state."""
        with self._database.reading() as connection:
            yield self._snapshot(connection)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Changed]:
        """Give a transaction, kept when its block ends and undone when the block raises."""
        with self._database.writing(durable=durable) as connection:
            yield self._transaction(connection)
