"""Create, upgrade, back up, copy.

Opening is cheap: the revision is read by plain SQL, and Alembic is imported only where a
library has to be made or changed.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING

from sqlalchemy import insert, inspect, select, text

from lpisearch.errors import (
    LibraryDamaged,
    LibraryNotFound,
    LibraryTooNew,
    LibraryUnwritable,
    NotALibrary,
)
from lpisearch.files import mode_of, partial_beside, sync_folder
from lpisearch.location import real_path
from lpisearch.storage import tables as storage_tables
from lpisearch.storage.integrity import SCHEMA, seal, with_checksum
from lpisearch.storage.sqlite import fulltext
from lpisearch.storage.sqlite.database import (
    APPLICATION_ID,
    Database,
    connect_to_read,
    translate_errors,
)
from lpisearch.storage.tables import HEAD, INDEXES, METADATA, SETTINGS, alembic_config, revision

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection


_OWN_TABLES = {"documents", "document_tokens", "labels"}


def open_library(path: Path, *, writable: bool = False) -> Database:
    """Open an existing library, first bringing it to the schema of this program.

    A copy of an older library is kept beside it, as `NAME.before-REVISION`.
    """
    found = _revision_at(path)
    if found is None:  # cut off, or killed at the first moment: an ingest begins anew
        raise LibraryDamaged(path, "it is empty")
    if found != HEAD:
        upgrade(path)
    return Database.connect(path, writable=writable)


def create_library(path: Path) -> Database:
    """Open a library for writing; make it first if there is none."""
    if not path.exists():
        if not path.parent.is_dir():
            raise LibraryUnwritable(path, f"the folder {path.parent} does not exist")
        _make(path)
    else:
        upgrade(path)
    return open_library(path, writable=True)


def _make(path: Path) -> None:
    """Make a library; it appears whole, so that no moment leaves an empty file in its place."""
    place = real_path(path)
    try:
        with partial_beside(place) as partial:
            with Database.connect(path, writable=True, partial=partial.path) as database:
                _upgrade(database, HEAD)
            partial.save()
            partial.move_in()
    except OSError as error:
        raise LibraryUnwritable(path, error.strerror or str(error)) from error


def upgrade(path: Path, target: str = HEAD) -> Path | None:
    """Bring an existing library, or an empty file, to a revision in one transaction."""
    # Looked at before it is opened for writing: another program's file must stay as it is.
    if _revision_at(path) == target:
        return None
    with Database.connect(path, writable=True) as database:
        return _upgrade(database, target)


def _upgrade(database: Database, target: str) -> Path | None:
    from alembic import command

    path = database.path
    with database.writing() as connection:
        # Looked at again: another process may have done it while this one waited.
        before = _own_revision(path, connection)
        if before == target:
            return None

        kept = real_path(path)
        copy = back_up(path, kept.with_name(f"{kept.name}.before-{before}")) if before else None
        command.upgrade(alembic_config(connection), target)
        if target == HEAD:
            _note_schema(connection)
    return copy


def _note_schema(connection: Connection) -> None:
    """Give all rows their checksums, and note the schema, so that a change of it is found."""
    from lpisearch.storage.metadata import SQLSettings

    seal(connection)
    SQLSettings(connection).set(SCHEMA, {"digest": schema_digest(connection)})


def _revision_at(path: Path) -> str | None:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise LibraryNotFound(path) from None
    except OSError as error:
        raise NotALibrary(path, f"it cannot be read ({error.strerror})") from error
    with Database.connect(path, writable=False) as database, database.reading() as connection:
        return _own_revision(path, connection)


def _own_revision(path: Path, connection: Connection) -> str | None:
    """Return the revision of a library, or None for an empty file; refuse all else."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return None
    found = revision(connection)
    application = connection.execute(text("PRAGMA application_id")).scalar()
    if found is None or not found.isdigit() or application != APPLICATION_ID:
        if tables >= _OWN_TABLES:
            raise LibraryDamaged(path, "its schema version is damaged")
        raise NotALibrary(path, "it contains another program's tables")
    if found > HEAD:
        raise LibraryTooNew(path, found)
    return found


def downgrade(path: Path, target: str) -> None:
    """Take a library back to an earlier revision."""
    from alembic import command

    with Database.connect(path, writable=True) as database, database.writing() as connection:
        command.downgrade(alembic_config(connection), target)


def differences(path: Path) -> list[str]:
    """Return how the tables of a library differ from `tables`; nothing, where all is well."""
    with (
        Database.connect(path, writable=False) as database,
        translate_errors(path),
        database.reading() as connection,
    ):
        return storage_tables.differences(connection)


def schema_digest(connection: Connection) -> str:
    """Return a digest of all tables, indexes and triggers."""
    rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master")
    lines = sorted(" ".join(" ".join(map(str, row)).split()) for row in rows)
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def back_up(library: Path, target: Path) -> Path:
    """Write a consistent copy by SQLite's online backup; it appears whole or not at all."""
    try:
        with partial_beside(target, mode_of(library)) as partial:
            _copy(library, target, partial.path)
            partial.save()
            partial.move_in()
        sync_folder(target.parent)
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error
    return target


def _copy(library: Path, target: Path, partial: Path) -> None:
    with (
        _translate_errors(library, target),
        closing(connect_to_read(library.absolute())) as source,
        closing(sqlite3.connect(partial)) as copy,
    ):
        source.backup(copy)
        # The copy is one file: it needs no -wal beside it to be read.
        copy.execute("PRAGMA journal_mode = DELETE")


@contextmanager
def _translate_errors(library: Path, target: Path) -> Iterator[None]:
    """State an error under the name of the file that it is about."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        damage = error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
        with translate_errors(library if damage else target):
            raise


_AT_ONCE = 500


def copy_rows(source: Connection, copy: Connection) -> None:
    """Copy the rows of all tables but that of the indexes, which lie elsewhere."""
    for table in METADATA.sorted_tables:
        if table is INDEXES:
            continue
        every = select(*[column for column in table.columns if column.name != "checksum"])
        if table is SETTINGS:
            every = every.where(SETTINGS.c.name != SCHEMA)
        result = source.execute(every, execution_options={"yield_per": _AT_ONCE})
        for rows in result.mappings().partitions():
            copy.execute(insert(table), [with_checksum(copy, table, dict(row)) for row in rows])
    fulltext.rebuild(copy)
