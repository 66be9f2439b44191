"""Connect to a server: sessions, transactions, and PostgreSQL's errors in the user's words.

A snapshot is one transaction of the level REPEATABLE READ: it sees one state, and waits for nobody.
Transactions that write take turns by a lock that is let go when each ends, whatever becomes of its
client. No text that comes from here holds a password.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import local
from typing import TYPE_CHECKING, Any, Self

import psycopg
from psycopg.types.json import set_json_dumps
from psycopg.types.string import StrDumper
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from lpisearch.errors import AddressRefused, NotUnicode
from lpisearch.storage.postgresql.stating import stated
from lpisearch.storage.sql.checksums import as_json
from lpisearch.storage.sql.tables import DamagedCell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from lpisearch.places import Address

_CONNECT_SECONDS = 15
_WRITE_SECONDS = 300  # another's batch is written in seconds
_MOST_READERS = 64
_NUL, _NO_NUL = "\0", "\N{REPLACEMENT CHARACTER}"
# A server that went away without a word is noticed after a minute.
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_WRITING = 1  # the second number of the lock of those who write
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('lpisearch ' || current_schema()), :kind)")


@dataclass(frozen=True, slots=True)
class Database:
    """A library of a server.

    Attributes
    ----------
    place
        Its address.
    engine
        One connection for each snapshot and transaction, used again.
    writable
        Whether `writing` may be called.
    """

    place: Address
    engine: Engine = field(repr=False)
    writable: bool

    @classmethod
    def connect(cls, place: Address, *, writable: bool) -> Database:
        """Prepare to connect; the first question does."""
        engine = create_engine(
            "postgresql+psycopg://",
            creator=partial(connect, place),
            poolclass=QueuePool,
            pool_size=4,
            max_overflow=_MOST_READERS,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED" if writable else "REPEATABLE READ",
        )
        if not writable:
            event.listen(engine, "begin", _read_only)
        return cls(place, engine, writable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the connections go."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one unchanging state of the library."""
        level: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if self.writable else {}
        with stated_errors(self.place), self.engine.connect() as connection:
            yield connection.execution_options(**level)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Connection]:
        """Give a connection whose changes are kept together when the block ends, or not at all.

        Parameters
        ----------
        durable
            Whether the changes, and all before them, are on disk when the block has ended.
        """
        with stated_errors(self.place), self.engine.begin() as connection:
            if not durable:
                # As in SQLite: a power cut may cost the last batches, and nothing else.
                connection.execute(text("SET LOCAL synchronous_commit = off"))
            take_turn(connection)
            yield connection


class _Held(local):
    """The sessions whose locks a thread writes under."""

    def __init__(self) -> None:
        self.sessions: list[psycopg.Connection[Any]] = []


HELD = _Held()


def take_turn(connection: Connection) -> None:
    """Wait until no other transaction writes to the library; let go when this one ends."""
    for session in HELD.sessions:
        session.execute("SELECT 1")  # whose lock went with a lost session may not go on writing
    connection.execute(text(f"SET LOCAL lock_timeout = '{_WRITE_SECONDS}s'"))
    connection.execute(_LOCK, {"kind": _WRITING})


def connect(place: Address, **settings: Any) -> psycopg.Connection[Any]:
    """Connect to a server.

    Raises
    ------
    LibraryError
        Stated by `stated_errors`, but for an address that cannot be understood.
    """
    try:
        known = psycopg.conninfo.conninfo_to_dict(place.url)
        port = str(known.get("port") or "0")
    except (psycopg.Error, UnicodeError):  # what is said of it may repeat the password
        raise AddressRefused(place) from None
    if not all(part.isdecimal() for part in port.split(",") if part):
        raise AddressRefused(place)
    given: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, **_ALIVE}
    given["application_name"] = "lpisearch"
    chosen = {name: value for name, value in given.items() if name not in known}
    connection = psycopg.connect(place.url, **chosen | settings)
    connection.adapters.register_dumper(str, _Text)
    set_json_dumps(as_json, connection)
    return connection


class _Text(StrDumper):
    """No string in PostgreSQL holds a NUL: what has one is found nowhere."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace(_NUL, _NO_NUL) if _NUL in obj else obj)


@contextmanager
def stated_errors(place: Address) -> Iterator[None]:
    """Turn what PostgreSQL says, or what damage leads to, into one of our errors."""
    from lpisearch.errors import LibraryDamaged

    try:
        yield
    except UnicodeEncodeError as error:
        raise NotUnicode(error.object) from error
    except DamagedCell as error:
        raise LibraryDamaged(place, str(error) or "a value is damaged") from error
    except (psycopg.Error, SQLAlchemyError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        found = stated(place, cause)
        if found is None:
            raise
        # Not “from”: the text of the driver may show what was sent.
        raise found from None


def single(place: Address) -> Engine:
    """Return an engine for one connection that is let go after use."""
    return create_engine(
        "postgresql+psycopg://", creator=partial(connect, place), poolclass=NullPool
    )


def _read_only(connection: Connection) -> None:
    connection.exec_driver_sql("SET TRANSACTION READ ONLY")
