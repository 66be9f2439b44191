"""Create, upgrade, back up.

A library fills one schema: that of `search_path`, "public" if the address names none.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from lpisearch.errors import (
    LibraryDamaged,
    LibraryError,
    LibraryNotFound,
    LibraryTooNew,
    LibraryUnwritable,
    NotALibrary,
    ServerTooOld,
)
from lpisearch.files import partial_beside, sync_folder
from lpisearch.storage import tables as storage_tables
from lpisearch.storage.integrity import SCHEMA, seal
from lpisearch.storage.postgres.database import (
    TRIGGER,
    Database,
    single,
    take_turn,
    translate_errors,
    watch,
)
from lpisearch.storage.tables import HEAD, METADATA, OWN_TABLES, alembic_config, revision

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from lpisearch.location import Address


LEAST_VERSION = 13
_FACTS = text(
    "SELECT current_setting('server_version_num')::INT, current_setting('server_encoding'), "
    "current_setting('server_version'), current_schema()"
)
# Not those of extensions, of which some put tables into “public”.
_OTHERS = text(
    "SELECT relname FROM pg_class c WHERE relnamespace = current_schema()::regnamespace "
    "AND relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT EXISTS "
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
_OWN = ("document_terms", "source_hosts", "index_files")  # beside those of every store
EXPORTED = "lpisearch_vectors"
"""The beginning of the names of tables that are for others to read."""


def open_library(place: Address, *, writable: bool = False) -> Database:
    """Open an existing library, first bringing it to the schema of this program."""
    found = _revision_at(place)
    if found is None:
        raise LibraryNotFound(place)
    if found != HEAD:
        upgrade(place)
    return Database.connect(place, writable=writable)


def create_library(place: Address) -> Database:
    """Open a library for writing; make its tables first if there are none."""
    if _revision_at(place) != HEAD:
        upgrade(place)
    return Database.connect(place, writable=True)


def upgrade(place: Address) -> None:
    """Bring a library, or an empty database, to the schema of this program in one transaction.

    PostgreSQL undoes all of it if it fails; a copy is made by whoever looks after the server.
    """
    from alembic import command

    with translate_errors(place), single(place).begin() as connection:
        take_turn(connection)
        if _own_revision(place, connection) == HEAD:  # another has done it meanwhile
            return
        command.upgrade(alembic_config(connection), HEAD)
        _note_schema(connection)


def exists(place: Address) -> bool:
    """Tell whether there is a library."""
    return _revision_at(place) is not None


def differences(place: Address) -> list[str]:
    """Return how the tables of a library differ from what this program expects."""
    with translate_errors(place), single(place).connect() as connection:
        return storage_tables.differences(connection)


def schema_digest(connection: Connection) -> str:
    """Return a digest of columns, keys, indexes and triggers, all of which a dump keeps."""
    given = {"exported": f"{EXPORTED}%"}
    rows = [
        *connection.execute(_COLUMNS, given),
        *connection.execute(_KEYS),
        *connection.execute(_INDEXES, given),
        *connection.execute(_TRIGGERS, {"trigger": TRIGGER}),
    ]
    lines = sorted(" ".join(map(str, row)) for row in rows if EXPORTED not in str(row[0]))
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def _note_schema(connection: Connection) -> None:
    from lpisearch.storage.metadata import SQLSettings

    seal(connection)
    watch(connection, [*METADATA.tables, *_OWN])
    SQLSettings(connection).set(SCHEMA, {"digest": schema_digest(connection)})


def _revision_at(place: Address) -> str | None:
    with translate_errors(place), single(place).connect() as connection:
        return _own_revision(place, connection)


def _own_revision(place: Address, connection: Connection) -> str | None:
    """Return the revision of a library, or None for an empty schema; refuse all else."""
    number, encoding, version, schema = connection.execute(_FACTS).one()
    _check_server(place, number // 10_000, encoding, version)
    if schema is None:
        raise _no_schema(place)
    found = revision(connection)
    tables = set(inspect(connection).get_table_names())
    if found is not None and found.isdigit() and tables >= OWN_TABLES:
        if found > HEAD:
            raise LibraryTooNew(place, found)
        return found
    if tables >= OWN_TABLES:
        raise LibraryDamaged(place, "its schema version is damaged")
    if connection.execute(_OTHERS).first() is not None:
        error = NotALibrary(place, "it contains another program's tables")
        error.next_step = (
            "use a separate database (createdb), or a separate schema: CREATE SCHEMA lpisearch, "
            "and …?options=-csearch_path%3Dlpisearch"
        )
        raise error
    return None


def _no_schema(place: Address) -> LibraryError:
    error = LibraryNotFound(place)
    error.next_step = "run CREATE SCHEMA for the name in its search_path, then try again"
    return error


def _check_server(place: Address, number: int, encoding: str, version: str) -> None:
    """Refuse a server that lacks what is needed."""
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


_FOR_ME_ALONE = 0o600


def back_up(library: Address, target: Path) -> Path:
    """Write one state of a library into a file of SQLite; it appears whole or not at all.

    Indexes are not part of it: they are built from it anew.
    """
    from lpisearch.storage.sqlite.schema import copy_rows, create_library

    try:
        with partial_beside(target, _FOR_ME_ALONE) as partial:
            with (
                Database.connect(library, writable=False) as server,
                server.reading() as source,
                create_library(partial.path) as file,
                file.writing(durable=True) as copy,
            ):
                copy_rows(source, copy)
            partial.save()
            partial.move_in()
        sync_folder(target.parent)
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error
    return target
