"""Sessions, errors, state token, COPY.

A snapshot is one transaction of the level REPEATABLE READ: it sees one state, and waits for nobody.
Transactions that write take turns by a lock that is let go when each ends, whatever becomes of its
client. No text that comes from here holds a password.

Triggers do it, so that what another program changes in the tables is noticed as well. It is a row
like any other: a snapshot sees the mark of its own state, and what is undone takes its mark with
it. It is drawn by chance, so that a state that a power cut took back shares its mark with no other.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import local
from typing import TYPE_CHECKING, Any, Self

import psycopg
from psycopg import OperationalError
from psycopg.types.json import set_json_dumps
from psycopg.types.string import StrDumper
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from lpisearch.errors import (
    AddressRefused,
    LibraryDamaged,
    LibraryError,
    LibraryLocked,
    LibraryNotFound,
    LibraryUnreachable,
    LibraryUnwritable,
    NotUnicode,
)
from lpisearch.storage.integrity import as_json
from lpisearch.storage.tables import DamagedCell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from lpisearch.location import Address


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
        with translate_errors(self.place), self.engine.connect() as connection:
            yield connection.execution_options(**level)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Connection]:
        """Give a connection whose changes are kept together when the block ends, or not at all."""
        with translate_errors(self.place), self.engine.begin() as connection:
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
    """Connect to a server."""
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
def translate_errors(place: Address) -> Iterator[None]:
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


_WHO = "check the user and password (set it in ~/.pgpass or PGPASSWORD)"
_START = "start the server or check its address, then run the same command again"
_GRANT = "ask the owner to GRANT access, or connect as another user"
_WAIT = "raise max_connections on the server, or wait"
_FREE = "free some disk space on the server, then run the same command again"
_FULL = ("could not write", "could not extend", "No space left")
_STANDBY = "the server is read-only (a standby)"
# By the codes of PostgreSQL, or what they begin with; the longest that fits goes before.
_STATED: dict[str, Callable[[Address, str], LibraryError]] = {
    "53100": lambda place, _: LibraryUnwritable(place, "the server's disk is full"),
    "53200": LibraryUnwritable,
    "58030": LibraryUnwritable,
    "25006": lambda place, _: LibraryUnwritable(place, _STANDBY),
    "42501": lambda place, said: LibraryUnreachable(place, said, _GRANT),
    "53300": lambda place, said: LibraryUnreachable(place, said, _WAIT),
    "28": lambda place, said: LibraryUnreachable(place, said, _WHO),
    "08": lambda place, said: LibraryUnreachable(place, said, _START),
    "57P": lambda place, said: LibraryUnreachable(place, said, _START),
    "55P03": lambda place, _: LibraryLocked(place, "another program"),
    "40P01": lambda place, _: LibraryLocked(place, "another program"),
    "3D000": lambda place, _: _no_database(place),
    "3F000": lambda place, _: LibraryNotFound(place),
    **dict.fromkeys(("XX001", "XX002", "42P01", "42703", "22P02", "22021"), LibraryDamaged),
}
_SHOWN = 300


def stated(place: Address, error: BaseException | None) -> LibraryError | None:
    """Return the error to state, or None for one that says nothing of its cause."""
    code = getattr(error, "sqlstate", None) or ""
    said = _said(place, error)
    for length in (5, 3, 2):
        if code[:length] in _STATED:
            return _STATED[code[:length]](place, said)
    # While it connects, the driver knows no codes.
    return _unconnected(place, said) if isinstance(error, OperationalError) and not code else None


def _unconnected(place: Address, said: str) -> LibraryError:
    if 'database "' in said and "does not exist" in said:
        return _no_database(place)
    if any(word in said for word in ("password", "authentication", 'role "')):
        return LibraryUnreachable(place, said, _WHO)
    if any(words in said for words in _FULL):
        return LibraryUnreachable(place, said, _FREE)
    return LibraryUnreachable(place, said, _START)


def _no_database(place: Address) -> LibraryError:
    name = place.name.partition(".")[0]
    return LibraryUnreachable(place, f"it has no database “{name}”", f"createdb {name}")


def _said(place: Address, error: BaseException | None) -> str:
    """Return the first line of what was said, without any password."""
    diagnosed = getattr(getattr(error, "diag", None), "message_primary", None)
    lines = str(diagnosed or error or "").strip().splitlines() or ["the connection was lost"]
    line = lines[0][:_SHOWN]
    for secret in place.secrets:
        line = line.replace(secret, "***")
    return line


TRIGGER = "state_changes"
_MARKED = text("SELECT CAST(mark AS VARCHAR) FROM state_mark")
_FIRST = "INSERT INTO state_mark SELECT gen_random_uuid() WHERE NOT EXISTS (SELECT FROM state_mark)"
# Not by the path of the session: whoever changes a table may have another.
_FUNCTION = f"""CREATE OR REPLACE FUNCTION {TRIGGER}() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'UPDATE ' || quote_ident(TG_TABLE_SCHEMA)
        || '.state_mark SET mark = gen_random_uuid()';
    RETURN NULL;
END $$"""  # noqa: S608 (a constant name)
# A transaction that has changed no row so far has no number.
_WATCH = f"""CREATE TRIGGER {TRIGGER} AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {{table}}
FOR EACH STATEMENT WHEN (pg_current_xact_id_if_assigned() IS NOT NULL)
EXECUTE FUNCTION {TRIGGER}()"""
_TABLES = text(
    "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
    "AND relkind = 'r' AND relname = ANY(CAST(:names AS VARCHAR[]))"
)


def state_token(connection: Connection) -> str:
    """Return the mark of the state that a connection sees."""
    return str(connection.execute(_MARKED).scalar_one())


def watch(connection: Connection, tables: list[str]) -> None:
    """Let every change of these tables draw the mark anew."""
    connection.exec_driver_sql(_FIRST)
    connection.exec_driver_sql(_FUNCTION)
    for table in connection.execute(_TABLES, {"names": tables}).scalars().all():
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {TRIGGER} ON {table}")
        connection.exec_driver_sql(_WATCH.format(table=table))


def copy_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write rows into a table, whose names are those of this program."""
    driver: Any = connection.connection.driver_connection
    named = ", ".join(columns)
    with driver.cursor() as cursor, cursor.copy(f"COPY {table} ({named}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
