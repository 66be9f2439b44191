"""Open a library: its states and its transactions.

A library opened for reading never waits for a writer and never changes a byte. One opened for
writing begins each transaction at once (`BEGIN IMMEDIATE`), so that it cannot fail half-way
for want of the lock.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.pool import NullPool, StaticPool

from lpisearch.storage.sql.checksums import as_json
from lpisearch.storage.sqlite.connecting import SYNCHRONOUS, connect, remove_empty_log
from lpisearch.storage.sqlite.descriptors import Connection
from lpisearch.storage.sqlite.heads import refuse_hard_links, refuse_other_files
from lpisearch.storage.sqlite.marks import marking
from lpisearch.storage.sqlite.stating import stated_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection as Transaction

_STEPS = 10_000  # of SQLite, between two looks at the clock


@dataclass(frozen=True, slots=True)
class Database:
    """An open library.

    Attributes
    ----------
    path
        The database file.
    engine
        One connection, reused; closed by `close` or by leaving a `with` block.
    writable
        Whether `writing` may be called.
    """

    path: Path
    engine: Engine = field(repr=False)
    writable: bool

    @classmethod
    def connect(cls, path: Path, *, writable: bool, partial: Path | None = None) -> Database:
        """Connect to the file, creating an empty one if it is to be written.

        With `partial` the file is there, for now, and errors name the place that it is made for.
        """
        file = partial or path
        refuse_other_files(file)
        if writable:
            refuse_hard_links(file)
        engine = create_engine(
            "sqlite://",
            creator=lambda: connect(file, writable=writable),
            poolclass=StaticPool if writable else NullPool,
            json_serializer=as_json,
        )
        begin = "BEGIN IMMEDIATE" if writable else "BEGIN"
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        return cls(path, engine, writable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file; the last who does so leaves nothing beside it."""
        self.engine.dispose()
        if not self.writable:
            remove_empty_log(self.path.absolute())

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Give a connection that sees one unchanging state of the library."""
        with stated_errors(self.path), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def looking(self, until: Callable[[], bool]) -> Iterator[Transaction]:
        """Give a connection that stops when it is time; errors are as SQLite has them."""
        with self.engine.connect() as connection:
            raw = connection.connection.driver_connection
            if isinstance(raw, Connection):
                raw.set_progress_handler(until, _STEPS)
            yield connection

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Transaction]:
        """Give a connection whose changes are kept together when the block ends, or not at all.

        Parameters
        ----------
        durable
            Whether the changes, and all before them, are on disk when the block has ended: a
            power cut then takes none of them back.
        """
        with stated_errors(self.path):
            self._synchronise("FULL" if durable else SYNCHRONOUS)
            with self.engine.begin() as connection, marking(connection):
                yield connection

    def _synchronise(self, level: str) -> None:
        """Say how far commits are brought to disk; SQLite takes it between transactions alone."""
        with closing(self.engine.raw_connection()) as raw:
            raw.cursor().execute(f"PRAGMA synchronous = {level}")
