"""Create, upgrade, back up.

A library occupies one schema: that of `search_path`, by default "public".
"""

from __future__ import annotations

import time
from hashlib import blake2b
from typing import TYPE_CHECKING

from sqlalchemy import Connection as CoreConnection
from sqlalchemy import inspect, text

from lpisearch.errors import (
    LibraryDamaged,
    LibraryError,
    LibraryLocked,
    LibraryNotFound,
    LibraryTooNew,
    NotALibrary,
    ServerTooOld,
)
from lpisearch.files import FOR_ME_ALONE
from lpisearch.storage import tables as storage_tables
from lpisearch.storage.dialects import seal
from lpisearch.storage.integrity import HEAD, OWN_TABLES, SCHEMA
from lpisearch.storage.postgres.database import (
    TRIGGER,
    Database,
    ServerConnection,
    single,
    take_turn,
    translate_errors,
    watch,
)
from lpisearch.storage.servers import TABLES
from lpisearch.storage.tables import METADATA, alembic_config, contradiction, revision

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.location import Address
    from lpisearch.storage.reading import Connection


LEAST_VERSION = 13
_UPGRADE_SECONDS, _PAUSE_SECONDS = 300.0, 1.0
_EXCLUDE = text(
    "SET LOCAL lock_timeout = '2s'; LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE"
)
_FACTS = text(
    "SELECT current_setting('server_version_num')::INT, current_setting('server_encoding'), "
    "current_setting('server_version'), current_schema(), array(SELECT relname FROM pg_class "
    "WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(:names) "
    "AND (relkind NOT IN ('r', 'p') OR relhasrules))"
)
# Without the tables of extensions, some of which are in “public”.
_OTHERS = text(
    "SELECT relname FROM pg_class c WHERE relnamespace = current_schema()::regnamespace "
    "AND relkind IN ('r', 'p', 'v', 'm', 'f') AND relname <> ALL(CAST(:own AS VARCHAR[])) "
    "AND NOT EXISTS "
    "(SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
_COLUMNS = text(
    "SELECT table_name, column_name, data_type, is_nullable, collation_name "
    "FROM information_schema.columns WHERE table_schema = current_schema() "
    "AND table_name NOT LIKE :exported"
)
_KEYS = text(
    "SELECT conrelid::regclass, conname, contype FROM pg_constraint "
    "WHERE connamespace = current_schema()::regnamespace AND contype IN ('p', 'u', 'f')"
)
_INDEXES = text(
    "SELECT tablename, indexname FROM pg_indexes "
    "WHERE schemaname = current_schema() AND tablename NOT LIKE :exported"
)
_TRIGGERS = text(
    "SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger "
    "JOIN pg_class c ON c.oid = tgrelid WHERE tgname = :trigger "
    "AND relnamespace = current_schema()::regnamespace"
)
_OWN = ("document_terms", "source_hosts", "index_files")  # tables of PostgreSQL only
EXPORTED = "lpisearch_vectors"
"""Prefix of the names of tables for other programs."""
_BESIDE = "lpisearch_"  # of these, of indexes that it searches, and of what servers share


def open_library(place: Address, *, writable: bool = False) -> Database:
    """Open an existing library, upgrading an older schema first."""
    current = _revision_at(place)
    if current is None:
        raise LibraryNotFound(place)
    if current != HEAD:
        upgrade(place)
    return Database.connect(place, writable=writable)


def create_library(place: Address) -> Database:
    """Open a library for writing; create its tables first if there are none."""
    if _revision_at(place) != HEAD:
        upgrade(place)
    return Database.connect(place, writable=True)


def upgrade(place: Address) -> None:
    """Migrate a library or an empty schema in one transaction.

    PostgreSQL rolls it back if it fails; backups are up to the server's administrator. It waits for
    those who read the library, but briefly at a time: new ones queue behind it.
    """
    from alembic import command

    deadline = time.monotonic() + _UPGRADE_SECONDS
    while True:
        try:
            with translate_errors(place), single(place).begin() as connection:
                take_turn(connection)
                before = _own_revision(place, connection)
                if before not in {None, HEAD}:
                    connection.execute(_EXCLUDE)
                if before != HEAD:  # else another process has upgraded it meanwhile
                    command.upgrade(alembic_config(connection), HEAD)
                    _note_schema(ServerConnection(connection))
            break
        except LibraryLocked:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)


def exists(place: Address) -> bool:
    """Tell whether there is a library."""
    return _revision_at(place) is not None


def differences(place: Address) -> list[str]:
    """Return how the tables of a library differ from the expected schema."""
    with translate_errors(place), single(place).connect() as connection:
        return storage_tables.differences(connection)


def schema_digest(connection: Connection) -> str:
    """Return a digest of columns, keys, indexes and triggers, all of which survive a dump."""
    exported = {"exported": f"{_BESIDE}%"}
    rows = [
        *connection.execute(_COLUMNS, exported),
        *connection.execute(_KEYS),
        *connection.execute(_INDEXES, exported),
        *connection.execute(_TRIGGERS, {"trigger": TRIGGER}),
    ]
    lines = sorted(" ".join(map(str, row)) for row in rows if _BESIDE not in str(row[0]))
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def _note_schema(connection: Connection) -> None:
    from lpisearch.storage.metadata import SQLSettings

    seal(connection)
    watch(connection, [*METADATA.tables, *_OWN])
    SQLSettings(connection).set(SCHEMA, {"digest": schema_digest(connection)})


def _revision_at(place: Address) -> str | None:
    with translate_errors(place), single(place).connect() as connection:
        return _own_revision(place, connection)


def _own_revision(place: Address, connection: CoreConnection) -> str | None:
    """Return the revision of a library; None for an empty schema; refuse everything else.

    Nothing is asked of what is not a plain table: a view may be endless.
    """
    names = ["alembic_version", "state_mark", *METADATA.tables, *_OWN]
    number, encoding, version, schema, computed = connection.execute(_FACTS, {"names": names}).one()
    _check_server(place, number // 10_000, encoding, version)
    if schema is None:
        error: LibraryError = LibraryNotFound(place)
        error.next_step = "run CREATE SCHEMA for the name in its search_path, then try again"
        raise error
    if computed:
        raise NotALibrary(place, f"“{computed[0]}” is not a plain table")
    current = revision(connection)
    tables = set(inspect(connection).get_table_names())
    if current is not None and current.isdigit() and tables >= OWN_TABLES:
        if current > HEAD:
            raise LibraryTooNew(place, current)
        if current < HEAD and (reason := contradiction(connection, current)):
            raise LibraryDamaged(place, reason)
        return current
    if tables >= OWN_TABLES:
        raise LibraryDamaged(place, "its schema version is damaged")
    if connection.execute(_OTHERS, {"own": TABLES}).first() is not None:
        error = NotALibrary(place, "it contains another program's tables")
        error.next_step = (
            "use a separate database (createdb), or a separate schema: CREATE SCHEMA lpisearch, "
            "and …?options=-csearch_path%3Dlpisearch"
        )
        raise error
    return None


def _check_server(place: Address, number: int, encoding: str, version: str) -> None:
    """Refuse a server that is too old or does not use UTF-8."""
    if number < LEAST_VERSION:
        raise ServerTooOld(
            place,
            f"its server runs PostgreSQL {version}; {LEAST_VERSION} or newer is required",
            "use a newer server, then run the same command again",
        )
    if encoding != "UTF8":
        raise ServerTooOld(
            place,
            f"its encoding is {encoding}, not UTF8",
            "create a UTF8 database from template0 and use that",
        )


def back_up(library: Address, target: Path) -> Path:
    """Write one state of a library to an SQLite file, atomically and without its indexes."""
    from lpisearch.storage.sqlite import schema as sqlite_schema

    with (
        sqlite_schema.new_file(target, target, FOR_ME_ALONE) as partial,
        Database.connect(library, writable=False) as server,
        server.reading() as source,
        sqlite_schema.create_library(partial) as file,
        file.writing(durable=True) as copy,
    ):
        sqlite_schema.copy_rows(source, copy)
    return target
