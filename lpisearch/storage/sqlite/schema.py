"""Create, upgrade, back up, copy.

Opening is cheap: the revision is read by plain SQL, and Alembic is imported only to create or
upgrade a library.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING

from lpisearch.errors import (
    LibraryDamaged,
    LibraryNotFound,
    LibraryTooNew,
    LibraryUnwritable,
    NotALibrary,
)
from lpisearch.files import ANYONE, mode_of, partial_beside, sync_folder
from lpisearch.location import real_path
from lpisearch.storage.integrity import HEAD, OWN_TABLES, SCHEMA
from lpisearch.storage.sqlite import fulltext
from lpisearch.storage.sqlite.database import (
    APPLICATION_ID,
    Database,
    connect_to_read,
    translate_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lpisearch.storage.reading import Connection


def open_library(path: Path, *, writable: bool = False) -> Database:
    """Open an existing library, upgrading an older schema first."""
    current = _revision_at(path)
    if current is None:  # truncated, or a run was killed at its very start
        raise LibraryDamaged(path, "it is empty")
    if current != HEAD:
        upgrade(path)
    return Database.connect(path, writable=writable)


def create_library(path: Path) -> Database:
    """Open a library for writing; create it first if it does not exist."""
    if not path.exists():
        if not path.parent.is_dir():
            raise LibraryUnwritable(path, f"the folder {path.parent} does not exist")
        _make(path)
    else:
        upgrade(path)
    return open_library(path, writable=True)


def _make(path: Path) -> None:
    """Create a library atomically: no crash leaves an empty file in its place."""
    with (
        new_file(real_path(path), path) as partial,
        Database.connect(path, writable=True, partial=partial) as database,
    ):
        _upgrade(database, HEAD)


@contextmanager
def new_file(target: Path, named: Path, mode: int = ANYONE) -> Iterator[Path]:
    """Yield a temporary path that is moved to `target` when the block ends without an error."""
    try:
        with partial_beside(target, mode) as partial:
            yield partial.path
            partial.save()
            partial.move_in()
        sync_folder(target.parent)
    except OSError as error:
        raise LibraryUnwritable(named, error.strerror or str(error)) from error


def upgrade(path: Path, target: str = HEAD) -> Path | None:
    """Migrate a library in one transaction; return the copy made before, None if it was empty."""
    # Checked before the file is opened for writing: another program's file must not change.
    if _revision_at(path) == target:
        return None
    with Database.connect(path, writable=True) as database:
        return _upgrade(database, target)


def _upgrade(database: Database, target: str) -> Path | None:
    from alembic import command

    from lpisearch.storage.tables import alembic_config

    path = database.path
    with database.writing() as connection:
        # Checked again: another process may have upgraded it while this one waited.
        before = _own_revision(path, connection)
        if before == target:
            return None

        real = real_path(path)
        copy = back_up(path, real.with_name(f"{real.name}.before-{before}")) if before else None
        command.upgrade(alembic_config(connection.core), target)
        if target == HEAD:
            _note_schema(connection)
    return copy


def _note_schema(connection: Connection) -> None:
    """Fill in the checksums of all rows, and store the digest of the schema."""
    from lpisearch.storage.dialects import seal
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
    """Return the revision of a library; None for an empty file; refuse other databases.

    Nothing is asked of a table before the schema is known to be ours: a view may be endless.
    """
    application = connection.value("PRAGMA application_id")
    foreign = foreign_part(connection)
    if foreign and application == APPLICATION_ID:
        raise LibraryDamaged(path, f"{foreign} is not of this program")
    tables = set(connection.column(_TABLES))
    if not tables and not foreign:
        return None
    current = ""
    if "alembic_version" in tables and not foreign:
        current = str(connection.value("SELECT version_num FROM alembic_version"))
    if not current.isdigit() or application != APPLICATION_ID:
        if tables >= OWN_TABLES:
            raise LibraryDamaged(path, "its schema version is damaged")
        raise NotALibrary(path, "it contains another program's tables")
    if current > HEAD:
        raise LibraryTooNew(path, current)
    if current < HEAD:
        from lpisearch.storage.tables import contradiction

        if reason := contradiction(connection.core, current):
            raise LibraryDamaged(path, reason)
    return current


_MOST_PARTS = 200
_PARTS = "SELECT type, name, tbl_name, sql FROM sqlite_master LIMIT ?"
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'"
# Indexes of an expression; tables with a generated column, or with one whose default is a call.
_COMPUTING = {
    "index": """SELECT value FROM json_each(?)
        WHERE EXISTS (SELECT 1 FROM pragma_index_xinfo(value) WHERE cid = -2)""",
    "table": """SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM pragma_table_xinfo(value)
        WHERE hidden OR instr(coalesce(dflt_value, ''), '('))""",
}


def foreign_part(connection: Connection) -> str:
    """Name a part of a schema that computes or does something, and is not ours; "" if none is.

    Views, triggers, virtual tables, generated columns, defaults that call something, indexes of
    expressions and partial ones.
    Read from the schema alone, without asking any table.
    """
    rows = connection.rows(_PARTS, _MOST_PARTS + 1).fetchall()
    if len(rows) > _MOST_PARTS:
        return f"a schema of more than {_MOST_PARTS} parts"
    plain: dict[str, list[str]] = {"table": [], "index": []}
    for kind, name, table, sql in rows:
        written = _plain(str(sql or ""))
        known = _KNOWN.get((kind, name, table), ())
        is_virtual = written.upper().startswith("CREATE VIRTUAL")
        if known or is_virtual or kind not in plain:
            if written not in known:
                return f"the {'virtual table' if is_virtual else kind} “{name}”"
        elif kind == "index" and " WHERE " in written.upper():
            return f"the index “{name}”"
        else:
            plain[kind].append(str(name))
    for kind, names in plain.items():
        if computing := connection.value(_COMPUTING[kind], json.dumps(names)):
            return f"{'the index' if kind == 'index' else 'a column of the table'} “{computing}”"
    return ""


def _plain(sql: str) -> str:
    return " ".join(sql.split())


def _known(sql: str) -> set[str]:
    """Return the SQL of a part as it is, and as it was before tokens were packed."""
    before = sql.replace("plain_document_tokens", "document_tokens")
    before = before.replace("plain_tokens(old.tokens)", "old.tokens")
    return {_plain(one).replace("( ", "(") for one in (sql, before)}


_KNOWN = {
    ("table", fulltext.TABLE, fulltext.TABLE): _known(fulltext.CREATE),
    ("view", "plain_document_tokens", "plain_document_tokens"): _known(fulltext.CREATE_VIEW),
    ("trigger", "document_tokens_deleted", "document_tokens"): _known(fulltext.DELETE_TRIGGER),
}


def differences(path: Path) -> list[str]:
    """Return how the tables of a library differ from the expected schema."""
    from lpisearch.storage import tables

    with (
        Database.connect(path, writable=False) as database,
        translate_errors(path),
        database.reading() as connection,
    ):
        return tables.differences(connection.core)


def schema_digest(connection: Connection) -> str:
    """Return a digest of all tables, indexes and triggers."""
    rows = connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_master")
    lines = sorted(" ".join(" ".join(map(str, row)).split()) for row in rows)
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def back_up(library: Path, target: Path) -> Path:
    """Write a consistent copy by SQLite's online backup, atomically."""
    try:
        with (
            new_file(target, target, mode_of(library)) as partial,
            closing(connect_to_read(library.absolute())) as source,
            closing(sqlite3.connect(partial)) as copy,
        ):
            source.backup(copy)
            # Without a log, so that the copy is a single file.
            copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.DatabaseError as error:  # reported for the file that it is about
        damage = error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
        with translate_errors(library if damage else target):
            raise
    return target


_AT_ONCE = 500


def copy_rows(source: Connection, copy: Connection) -> None:
    """Copy the rows of all tables but the index register, whose files are elsewhere."""
    from sqlalchemy import insert, select

    from lpisearch.storage.dialects import with_checksum
    from lpisearch.storage.tables import INDEXES, METADATA, SETTINGS

    for table in METADATA.sorted_tables:
        if table is INDEXES:
            continue
        statement = select(*[column for column in table.columns if column.name != "checksum"])
        if table is SETTINGS:
            statement = statement.where(SETTINGS.c.name != SCHEMA)
        result = source.execute(statement, execution_options={"yield_per": _AT_ONCE})
        for rows in result.mappings().partitions():
            copy.execute(insert(table), [with_checksum(copy, table, dict(row)) for row in rows])
    fulltext.rebuild(copy)
