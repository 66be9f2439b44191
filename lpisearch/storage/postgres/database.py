"""Connections, transactions, errors, state token and COPY of PostgreSQL libraries.

A read transaction is one REPEATABLE READ transaction: it sees one state and waits for nothing.
Write transactions take turns by an advisory lock that ends with each, whatever happens to its
client. No text from here contains a password.

Each session is pinned to the schema that has the library, so that a schema that someone names like
a user cannot shadow its tables, and has no limits of time but those in the address.

The state token is a row that triggers change, so that changes by other programs are noticed too; it
is transactional like any row, and random, so that a state lost in a power cut is never mistaken for
another.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from threading import local
from typing import TYPE_CHECKING, Any, Self

import psycopg
from psycopg import OperationalError
from psycopg.types.json import set_json_dumps
from psycopg.types.string import StrDumper
from sqlalchemy import Connection as CoreConnection
from sqlalchemy import Engine, create_engine, text
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
from lpisearch.storage.integrity import OWN_TABLES, DamagedCell, as_json
from lpisearch.storage.reading import AMONG, FILE_TIME, SENDER, Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lpisearch.location import Address
    from lpisearch.storage.store import Store


_CONNECT_SECONDS = 15
_WRITE_SECONDS = 300  # a batch of another process takes seconds
_MOST_READERS = 64
_NUL, _NO_NUL = "\0", "\N{REPLACEMENT CHARACTER}"
# A vanished server is noticed after a minute.
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_WRITING = 1  # the second key of the lock of writers
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('lpisearch ' || current_schema()), :kind)")


_READ_ONLY = "SET TRANSACTION READ ONLY"
# Before the first query, which decides what state is seen: an upgrade waits until it is free, since
# a table that it rewrites is empty to those who see an earlier state.
_HOLD = "LOCK TABLE alembic_version IN ACCESS SHARE MODE"
# What PostgreSQL writes differently in a statement of `reading`.
_PARTS = {
    # An array: its index is used.
    AMONG: "= ANY (ARRAY(SELECT json_array_elements_text(CAST(? AS JSON))::BIGINT))",
    FILE_TIME: """to_char(to_timestamp(sources.mtime_ns / 1000000000),
        'YYYY-MM-DD"T"HH24:MI:SS')""",
    SENDER: "documents.metadata->>'from'",
}


@lru_cache(maxsize=256)
def in_postgresql(statement: str) -> str:
    """Return a statement of `reading` in the dialect and with the parameters of PostgreSQL."""
    for ours, theirs in _PARTS.items():
        statement = statement.replace(ours, theirs)
    return statement.replace("%", "%%").replace("?", "%s")


class ServerConnection(Connection):
    """A transaction of a library on a server."""

    is_server = True

    def __init__(self, core: CoreConnection) -> None:
        self._core = core
        self._driver: psycopg.Connection[Any] = core.connection.driver_connection  # type: ignore[assignment]

    @property
    def core(self) -> CoreConnection:
        """The connection of SQLAlchemy."""
        return self._core

    def rows(self, statement: str, *values: Any) -> Any:
        """Return the rows of a statement."""
        # By the driver: SQLAlchemy takes longer over a short statement than the server.
        return self._driver.execute(in_postgresql(statement), values)

    def rollback(self) -> None:
        """Undo all writes so far; the transaction is over."""
        self.core.rollback()


@dataclass(frozen=True, slots=True)
class Database:
    """An open library on a server; each transaction has a connection of the pool."""

    path: Address
    engine: Engine = field(repr=False)
    writable: bool

    @classmethod
    def connect(cls, place: Address, *, writable: bool) -> Database:
        """Create the engine; the first query connects."""
        engine = create_engine(
            "postgresql+psycopg://",
            creator=partial(connect, place),
            poolclass=QueuePool,
            pool_size=4,
            max_overflow=_MOST_READERS,
            pool_pre_ping=True,
            hide_parameters=True,  # an error that is logged shows no queries or texts
            isolation_level="READ COMMITTED" if writable else "REPEATABLE READ",
        )
        return cls(place, engine, writable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def store(self) -> Store:
        """Return the library in it."""
        from lpisearch.storage.postgres.store import LibraryStore

        return LibraryStore(self)

    @contextmanager
    def reading(self) -> Iterator[ServerConnection]:
        """Yield a connection that sees one unchanging state of the library."""
        level: dict[str, Any] = {"isolation_level": "REPEATABLE READ"} if self.writable else {}
        with translate_errors(self.path), self.engine.connect() as connection:
            connection.execution_options(**level)
            connection.exec_driver_sql(_HOLD if self.writable else f"{_READ_ONLY}; {_HOLD}")
            yield ServerConnection(connection)

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[ServerConnection]:
        """Yield a connection whose changes are committed as a whole or not at all.

        With `durable`, they and all earlier changes survive a power cut.
        """
        with translate_errors(self.path), self.engine.begin() as connection:
            if not durable:
                # As in SQLite: a power cut may lose the last batches, and nothing else.
                connection.execute(text("SET LOCAL synchronous_commit = off"))
            take_turn(connection)
            yield ServerConnection(connection)


class _LockSessions(local):
    """The sessions whose advisory locks a thread holds."""

    def __init__(self) -> None:
        self.sessions: list[psycopg.Connection[Any]] = []


LOCKS = _LockSessions()


def take_turn(connection: CoreConnection) -> None:
    """Wait until no other transaction writes to the library; held until this one ends."""
    for session in LOCKS.sessions:
        session.execute("SELECT 1")  # a lost session lost its lock: stop writing
    connection.execute(text(f"SET LOCAL lock_timeout = '{_WRITE_SECONDS}s'"))
    connection.execute(_LOCK, {"kind": _WRITING})


def connect(place: Address, **settings: Any) -> psycopg.Connection[Any]:
    """Connect to a server; `translate_errors` handles all errors but AddressRefused."""
    try:
        known = psycopg.conninfo.conninfo_to_dict(place.url)
        port = str(known.get("port") or "0")
    except (psycopg.Error, UnicodeError):  # the message may contain the password
        raise AddressRefused(place) from None
    if not all(part.isdecimal() for part in port.split(",") if part):
        raise AddressRefused(place)
    defaults: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, **_ALIVE}
    defaults["application_name"] = "lpisearch"
    defaults = {name: value for name, value in defaults.items() if name not in known}
    connection = psycopg.connect(place.url, **defaults | settings)
    try:
        _settle(connection, place, str(known.get("options") or ""))
    except BaseException:
        connection.close()
        raise
    connection.adapters.register_dumper(str, _Text)
    set_json_dumps(as_json, connection)
    return connection


# The schema of the search path that has a library, before the temporary one; else the first.
_PIN = """WITH path AS (SELECT * FROM unnest(current_schemas(false)) WITH ORDINALITY AS p(name, n)),
held AS (SELECT name, n FROM path WHERE {number} = (SELECT count(*) FROM pg_catalog.pg_class
    WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = path.name)
    AND relkind = 'r' AND relname IN ({names})))
SELECT array(SELECT name FROM held ORDER BY n), set_config('search_path', (SELECT quote_ident(
    coalesce((SELECT name FROM held ORDER BY n LIMIT 1), current_schema())) || ', pg_temp'), false)
""".format(number=len(OWN_TABLES), names=", ".join(f"'{name}'" for name in sorted(OWN_TABLES)))  # noqa: S608 (constant names)
# LZ4 where the server has it: each query unpacks a lot.
_COMPRESS = """SELECT set_config(name, 'lz4', false) FROM pg_catalog.pg_settings
WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals); """
_LIMITS = {  # with the server's version that has them
    "statement_timeout": 0,
    "idle_in_transaction_session_timeout": 0,
    "transaction_timeout": 170_000,
}


def _settle(connection: psycopg.Connection[Any], place: Address, options: str) -> None:
    """Pin the schema of a session, and lift the limits of time that the address does not set."""
    before, connection.autocommit = connection.autocommit, True
    version = connection.info.server_version
    limits = [name for name, since in _LIMITS.items() if name not in options and version >= since]
    lifted = "".join(f"SET {name} = 0; " for name in limits) + _COMPRESS
    try:
        cursor = connection.execute(lifted + _PIN)
    except psycopg.errors.QueryCanceled:  # by the limit, which counts until these have ended
        connection.execute(lifted)
        cursor = connection.execute(_PIN)
    while cursor.nextset():
        pass
    ((held, _),) = cursor.fetchall()
    connection.autocommit = before
    if len(held) > 1:
        names = f"the schemas {' and '.join(held)} of its search path have a library each"
        raise LibraryUnreachable(place, names, _NAME_SCHEMA)


class _Text(StrDumper):
    """Replaces NULs, which PostgreSQL cannot store: a string with one matches nothing."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace(_NUL, _NO_NUL) if _NUL in obj else obj)


@contextmanager
def translate_errors(place: Address) -> Iterator[None]:
    """Turn errors of PostgreSQL, and those that damaged cells cause, into our own."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise NotUnicode(error.object) from error
    except DamagedCell as error:
        raise LibraryDamaged(place, str(error) or "a value is damaged") from error
    except (psycopg.Error, SQLAlchemyError) as error:
        known = translated(place, error.orig if isinstance(error, DBAPIError) else error)
        if known is None:
            raise
        raise known from None  # the driver's text may show what was sent


def single(place: Address) -> Engine:
    """Return an engine for a single connection, closed after use."""
    return create_engine(
        "postgresql+psycopg://",
        creator=partial(connect, place),
        poolclass=NullPool,
        hide_parameters=True,
        isolation_level="READ COMMITTED",  # who waited for a lock sees what was done meanwhile
    )


_WHO = "check the user and password (set it in ~/.pgpass or PGPASSWORD)"
_START = "start the server or check its address, then run the same command again"
_GRANT = "ask the owner to GRANT access, or connect as another user"
_WAIT = "raise max_connections on the server, or wait"
_FREE = "free some disk space on the server, then run the same command again"
_NAME_SCHEMA = "name one of them in the address: ?options=-csearch_path%3DSCHEMA"
_LONGER = "raise statement_timeout in the address, or run the same command again"
_FULL = ("could not write", "could not extend", "No space left")
_STANDBY = "it is read-only (a standby, or default_transaction_read_only is on)"
# By PostgreSQL's error codes or their prefixes; the longest match wins.
_TRANSLATIONS: dict[str, Callable[[Address, str], LibraryError]] = {
    "53100": lambda place, _: LibraryUnwritable(place, "the server's disk is full"),
    "53200": LibraryUnwritable,
    "58030": LibraryUnwritable,
    "25006": lambda place, _: LibraryUnwritable(place, _STANDBY),
    "42501": lambda place, reason: LibraryUnreachable(place, reason, _GRANT),
    "53300": lambda place, reason: LibraryUnreachable(place, reason, _WAIT),
    "28": lambda place, reason: LibraryUnreachable(place, reason, _WHO),
    "08": lambda place, reason: LibraryUnreachable(place, reason, _START),
    "57P": lambda place, reason: LibraryUnreachable(place, reason, _START),
    "55P03": lambda place, _: LibraryLocked(place, "another program"),
    **dict.fromkeys(("40P01", "40001"), lambda place, _: LibraryLocked(place, "another program")),
    "57014": lambda place, reason: LibraryUnreachable(place, reason, _LONGER),
    "25P0": lambda place, reason: LibraryUnreachable(place, reason, _START),
    "3D000": lambda place, _: _no_database(place),
    "3F000": lambda place, _: LibraryNotFound(place),
    **dict.fromkeys(("XX001", "XX002", "42P01", "42703", "22P02", "22021"), LibraryDamaged),
}
_SHOWN = 300


def translated(place: Address, error: BaseException | None) -> LibraryError | None:
    """Return our error for one of PostgreSQL, or None if it does not tell its cause."""
    code = getattr(error, "sqlstate", None) or ""
    reason = _first_line(place, error)
    for length in (5, 4, 3, 2):
        if code[:length] in _TRANSLATIONS:
            return _TRANSLATIONS[code[:length]](place, reason)
    # Errors while connecting have no codes.
    return _unconnected(place, reason) if isinstance(error, OperationalError) and not code else None


def _unconnected(place: Address, reason: str) -> LibraryError:
    if 'database "' in reason and "does not exist" in reason:
        return _no_database(place)
    if any(word in reason for word in ("password", "authentication", 'role "')):
        return LibraryUnreachable(place, reason, _WHO)
    if any(words in reason for words in _FULL):
        return LibraryUnreachable(place, reason, _FREE)
    return LibraryUnreachable(place, reason, _START)


def _no_database(place: Address) -> LibraryError:
    name = place.name.partition(".")[0]
    return LibraryUnreachable(place, f"it has no database “{name}”", f"createdb {name}")


def _first_line(place: Address, error: BaseException | None) -> str:
    """Return the first line of an error message, without any password."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    lines = str(primary or error or "").strip().splitlines() or ["the connection was lost"]
    line = lines[0][:_SHOWN]
    for secret in place.secrets:
        line = line.replace(secret, "***")
    return line


TRIGGER = "state_changes"
_STATE_TOKEN = text("SELECT CAST(mark AS VARCHAR) FROM state_mark")
_FIRST = "INSERT INTO state_mark SELECT gen_random_uuid() WHERE NOT EXISTS (SELECT FROM state_mark)"
# With the schema of the table: the session that changes it may have another search path.
_FUNCTION = f"""CREATE OR REPLACE FUNCTION {TRIGGER}() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'UPDATE ' || quote_ident(TG_TABLE_SCHEMA)
        || '.state_mark SET mark = gen_random_uuid()';
    RETURN NULL;
END $$"""  # noqa: S608 (a constant name)
# A transaction without changes has no id.
_WATCH = f"""CREATE TRIGGER {TRIGGER} AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {{table}}
FOR EACH STATEMENT WHEN (pg_current_xact_id_if_assigned() IS NOT NULL)
EXECUTE FUNCTION {TRIGGER}()"""
_TABLES = text(
    "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
    "AND relkind = 'r' AND relname = ANY(CAST(:names AS VARCHAR[]))"
)


def state_token(connection: Connection) -> str:
    """Return the token of the state that a connection sees."""
    return str(connection.execute(_STATE_TOKEN).scalar_one())


def watch(connection: Connection, tables: list[str]) -> None:
    """Create triggers that renew the state token at every change of these tables."""
    connection.exec_driver_sql(_FIRST)
    connection.exec_driver_sql(_FUNCTION)
    for table in connection.execute(_TABLES, {"names": tables}).scalars().all():
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {TRIGGER} ON {table}")
        connection.exec_driver_sql(_WATCH.format(table=table))


def copy_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write rows into a table by COPY; table and column names are ours."""
    driver: Any = connection.core.connection.driver_connection
    names = ", ".join(columns)
    with driver.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
