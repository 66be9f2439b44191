"""SQLite changes and health."""

from __future__ import annotations

import json
import sqlite3
import time
from typing import TYPE_CHECKING

from sqlalchemy import Table, text, update

from lpisearch.errors import LpiSearchError
from lpisearch.model.documents import DocumentRow, Finding
from lpisearch.storage import tables
from lpisearch.storage.changes import SQLChanges
from lpisearch.storage.dialects import columns_of, seal, sealed
from lpisearch.storage.health import FULL_TEXT, UNREAD, Origin, SQLHealth, full_text_finding
from lpisearch.storage.integrity import HEAD, MEND, damaged
from lpisearch.storage.reading import packed_tokens
from lpisearch.storage.sqlite import fulltext, schema
from lpisearch.storage.sqlite.database import Database, unreadable
from lpisearch.storage.tables import SOURCES, TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lpisearch.storage.integrity import Cell


_FOUND = "SELECT d.id, d.external_id, d.source_id, d.position, d.content_hash "
_FIND_IDS = text(f"{_FOUND} FROM json_each(:ids) w JOIN documents d ON d.external_id = w.value")
_FIND_PLACES = text(
    f"{_FOUND} FROM json_each(:places) w JOIN documents d "
    "ON d.source_id = json_extract(w.value, '$[0]') "
    "AND d.position IN (json_extract(w.value, '$[1]'), -json_extract(w.value, '$[1]'))"
)


class SQLiteChanges(SQLChanges):
    """Writes of documents."""

    __slots__ = ()

    def at(self, ids: Iterable[str], places: Iterable[tuple[int, int]]) -> list[DocumentRow]:
        """Return the documents with any of the ids or (source, position) pairs."""
        at_ids = self.connection.execute(_FIND_IDS, {"ids": json.dumps(list(ids))})
        at_places = self.connection.execute(_FIND_PLACES, {"places": json.dumps(list(places))})
        return [DocumentRow(*row) for result in (at_ids, at_places) for row in result]

    def _put(self, table: Table, rows: Sequence[Sequence[Cell]]) -> None:
        # Not SQLAlchemy's `insert`: processing its parameters takes longer than SQLite's own work.
        if not rows:
            return
        if table is TOKENS:
            rows = [(key, packed_tokens(str(tokens))) for key, tokens in rows]
        columns = columns_of(table)
        named, marks = ", ".join(columns), ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table.name} ({named}) VALUES ({marks})"  # noqa: S608 (constants)
        self.connection.exec_driver_sql(statement, [*sealed(self.connection, table, rows)])

    def _index_tokens(self, tokens: Mapping[int, str]) -> None:
        fulltext.add(self.connection, tokens)


# An index that lists all rows of a table a second time.
_LISTED_IN = {
    "documents": ("documents", "ix_documents_source_id_position"),
    "manual labels": ("label_edits", "sqlite_autoindex_label_edits_1"),
    "predicted labels": ("predicted_labels", "ix_predicted_labels_name"),
    "indexes": ("indexes", "sqlite_autoindex_indexes_1"),
    "failed files": ("failures", "sqlite_autoindex_failures_1"),
}
_SHOWN = 3  # names that fit in a line
_TERMS = 1000  # that are looked up in the full-text index
_CANNOT_WRITE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
# As bytes, so that damaged UTF-8 can be decoded as far as possible.
_PLACE = """SELECT CAST(d.external_id AS BLOB), s.id,
CAST(d.position AS INTEGER), CAST(d.content_hash AS BLOB), CAST(s.path AS BLOB),
CAST(s.root AS BLOB), CAST(s.format AS BLOB), CAST(d.split AS BLOB)
FROM documents d LEFT JOIN sources s ON s.id = {source} WHERE d.id = :key"""
_SOURCE = "d.source_id"
_SOURCE_BY_PATH = "coalesce((SELECT id FROM sources WHERE path = d.path), d.source_id)"
_LABELS = "SELECT CAST(name AS BLOB) FROM labels WHERE document_id = :key ORDER BY position"


class SQLiteHealth(SQLHealth):
    """Damage and its repair."""

    __slots__ = ()

    def differences(self) -> Iterator[Finding]:
        """Yield the findings that need no writing, the quickest first."""
        yield self._integrity()
        if tables.revision(self.connection.core) == HEAD:
            yield self._schema()
            yield from self._cells()

    def repair(self) -> dict[str, int]:
        """Remove orphans and rebuild all indexes; return how many rows only an index still has."""
        lost = {noun: self._missing(noun) for noun in _LISTED_IN}
        # The trigger would make FTS5 delete rows that it may not have.
        self.connection.execute(text("DROP TRIGGER IF EXISTS document_tokens_deleted"))
        self.connection.execute(text("REINDEX"))
        self._delete_orphans()
        self.connection.execute(text(fulltext.DELETE_TRIGGER))
        fulltext.rebuild(self.connection)
        if any(lost.values()):
            self.connection.execute(update(SOURCES).values(**UNREAD))
            seal(self.connection, [SOURCES])
        return {noun: number for noun, number in lost.items() if number}

    def _missing(self, noun: str) -> int:
        """Return how many rows are in an index of a table but not in the table."""
        table, index = _LISTED_IN[noun]
        listed, stored = (
            self.connection.execute(text(f"SELECT count(*) FROM {table} {how}")).scalar_one()  # noqa: S608 (constant names)
            for how in (f"INDEXED BY {index}", "NOT INDEXED")
        )
        return max(int(listed - stored), 0)

    def _integrity(self) -> Finding:
        try:
            lines = self.connection.column("PRAGMA integrity_check(20)")
            lost = self.connection.rows("PRAGMA foreign_key_check").fetchall()
        except sqlite3.DatabaseError as error:
            return damaged(str(error))
        if lines != ["ok"]:
            return damaged("; ".join(map(str, lines[:_SHOWN])))
        if any(row[0] == "documents" for row in lost):
            return damaged("documents whose file record is missing")
        return Finding("database file", ok=True, detail="intact")

    def _schema(self) -> Finding:
        finding = super()._schema()
        if not finding.ok and not fulltext.follows_deletions(self.connection):
            return Finding("tables", ok=True, detail="intact")  # `_full_text` reports it
        return finding

    def _schema_digest(self) -> str:
        return schema.schema_digest(self.connection)

    def _origin(self, key: int, *, is_named: bool) -> Origin:
        statement = _PLACE.format(source=_SOURCE if is_named else _SOURCE_BY_PATH)
        row = self.connection.execute(text(statement), {"key": key}).one()
        name, source_id, position, stored_hash, *texts = row
        path, root, kind, split = map(_readable, texts)
        names = self.connection.execute(text(_LABELS), {"key": key}).scalars()
        labels = tuple(map(_readable, names))
        return Origin(
            _readable(name), source_id, position, stored_hash, path, root, kind, split, labels
        )

    def _full_text(self) -> Finding:
        if not fulltext.follows_deletions(self.connection):
            return Finding(FULL_TEXT, ok=False, detail="does not follow deletions", next_step=MEND)
        try:
            fulltext.check(self.connection)
            return full_text_finding(in_sync=fulltext.finds_its_terms(self.connection, _TERMS))
        except sqlite3.DatabaseError as error:
            # FTS5 can only compare a database that it may write.
            if error.sqlite_errorcode & 0xFF in _CANNOT_WRITE:
                return Finding(FULL_TEXT, ok=True, detail=f"not compared: {error}")
            return full_text_finding(in_sync=False)


def first_damage(path: Path, seconds: float) -> str:
    """Return the first damage that is found within some time; "" if there is none."""
    deadline = time.monotonic() + seconds
    try:
        with (
            Database.connect(path, writable=False) as database,
            database.interruptible(lambda: time.monotonic() > deadline) as connection,
        ):
            findings = SQLiteHealth(connection).differences()
            damage = next((finding.detail for finding in findings if not finding.ok), "")
    except LpiSearchError as error:
        damage = error.what
    except unreadable() as error:
        damage = f"it cannot be read ({error})"
    return "" if time.monotonic() > deadline else damage


def _readable(cell: bytes | None) -> str:
    return (cell or b"").decode(errors="replace")
