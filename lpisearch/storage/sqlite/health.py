"""Check a SQLite library for damage and repair it."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from sqlalchemy import text, update
from sqlalchemy.exc import DatabaseError

from lpisearch.errors import LpiSearchError
from lpisearch.records import Finding
from lpisearch.storage.findings import MEND, damaged, unfinished
from lpisearch.storage.sql import migrating
from lpisearch.storage.sql.checksums import SCHEMA, seal
from lpisearch.storage.sql.health import PARTS, UNREAD, Origin, SQLHealth
from lpisearch.storage.sql.settings import SQLSettings
from lpisearch.storage.sql.sources import SQLSources
from lpisearch.storage.sql.tables import (
    SOURCES,
)
from lpisearch.storage.sqlite import fulltext, schema
from lpisearch.storage.sqlite.engine import Database
from lpisearch.storage.sqlite.stating import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# Where a table is listed a second time.
_LISTED_IN = {
    "documents": ("documents", "ix_documents_source_id_position"),
    "manual labels": ("label_edits", "sqlite_autoindex_label_edits_1"),
    "predicted labels": ("predicted_labels", "ix_predicted_labels_name"),
    "indexes": ("indexes", "sqlite_autoindex_indexes_1"),
    "failed files": ("failures", "sqlite_autoindex_failures_1"),
}
_SHOWN = 3  # names that fit in a line
_TERMS_ASKED = 1000
_CANNOT_WRITE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
# As bytes: what is no UTF-8 any more is read as well as it can be.
_PLACE = """SELECT CAST(d.external_id AS BLOB), s.id,
CAST(d.position AS INTEGER), CAST(d.content_hash AS BLOB), CAST(s.path AS BLOB),
CAST(s.root AS BLOB), CAST(s.format AS BLOB), CAST(d.split AS BLOB)
FROM documents d LEFT JOIN sources s ON s.id = {source} WHERE d.id = :key"""
_SOURCE = "d.source_id"
_SOURCE_BY_PATH = "coalesce((SELECT id FROM sources WHERE path = d.path), d.source_id)"
_LABELLED = "SELECT CAST(name AS BLOB) FROM labels WHERE document_id = :key ORDER BY position"


class SQLiteHealth(SQLHealth):
    """Damage and its repair."""

    __slots__ = ()

    def findings(self) -> list[Finding]:
        """Look at everything."""
        pages = list(self._pages())
        if not all(finding.ok for finding in pages):
            return [next(finding for finding in pages if not finding.ok)]
        return [
            *pages,
            *map(self._orphans, PARTS),
            *self._cells(),
            self._full_text(),
            unfinished(SQLSources(self.connection).unfinished()),
        ]

    def differences(self) -> Iterator[Finding]:
        """Yield what is looked at without writing, the quickest first."""
        yield self._integrity()
        if migrating.revision(self.connection) == migrating.HEAD:
            yield self._schema()
            yield from self._cells()

    def repair(self) -> dict[str, int]:
        """Remove what belongs to no document, and build all indexes of the database anew.

        Returns
        -------
        dict
            How many documents and labels are gone, of which no more than their names are left.
        """
        lost = {noun: self._missing(noun) for noun in _LISTED_IN}
        # The trigger would tell FTS5 to delete rows that it may not have.
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
        """Return how many rows are in an index of a table, and not in the table."""
        table, index = _LISTED_IN[noun]
        counts = (
            self.connection.execute(text(f"SELECT count(*) FROM {table} {how}")).scalar_one()  # noqa: S608 (constant names)
            for how in (f"INDEXED BY {index}", "NOT INDEXED")
        )
        listed, there = counts
        return max(int(listed - there), 0)

    def _pages(self) -> Iterator[Finding]:
        yield self._integrity()
        yield self._schema()

    def _integrity(self) -> Finding:
        try:
            lines = list(self.connection.execute(text("PRAGMA integrity_check(20)")).scalars())
            lost = list(self.connection.execute(text("PRAGMA foreign_key_check")))
        except DatabaseError as error:
            return damaged(str(error.orig))
        if lines != ["ok"]:
            return damaged("; ".join(map(str, lines[:_SHOWN])))
        if any(row[0] == "documents" for row in lost):
            return damaged("documents whose file record is missing")
        return Finding("database file", ok=True, detail="intact")

    def _schema(self) -> Finding:
        trigger = "document_tokens_deleted"
        stated = (SQLSettings(self.connection).get(SCHEMA) or {}).get("digest")
        if stated == schema.schema_digest(self.connection) or not self._has(trigger):
            return Finding("tables", ok=True, detail="intact")
        return damaged("its tables were altered", "tables")

    def _has(self, name: str) -> bool:
        statement = text("SELECT 1 FROM sqlite_master WHERE name = :name")
        return self.connection.execute(statement, {"name": name}).first() is not None

    def _origin(self, key: int, *, is_named: bool) -> Origin:
        statement = _PLACE.format(source=_SOURCE if is_named else _SOURCE_BY_PATH)
        facts = self.connection.execute(text(statement), {"key": key}).one()
        name, source_id, position, stated, path, root, kind, split = facts
        names = self.connection.execute(text(_LABELLED), {"key": key}).scalars()
        return Origin(
            id=_readable(name),
            source_id=source_id,
            position=position,
            content_hash=stated,
            path=_readable(path),
            root=_readable(root),
            format=_readable(kind),
            split=_readable(split),
            labels=tuple(map(_readable, names)),
        )

    def _full_text(self) -> Finding:
        check = "full-text index"
        if not fulltext.follows_deletions(self.connection):
            return Finding(check, ok=False, detail="does not follow deletions", next_step=MEND)
        try:
            fulltext.check(self.connection)
            sound = fulltext.finds_its_terms(self.connection, _TERMS_ASKED)
        except DatabaseError as error:
            if _code(error) in _CANNOT_WRITE:  # FTS5 compares in what it may write alone
                return Finding(check, ok=True, detail=f"not compared: {error.orig}")
            sound = False
        if not sound:
            return Finding(check, ok=False, detail="out of sync with the documents", next_step=MEND)
        return Finding(check, ok=True, detail="in sync with the documents")


def _code(error: DatabaseError) -> int:
    return int(getattr(error.orig, "sqlite_errorcode", 0)) & 0xFF


def first_damage(path: Path, seconds: float) -> str:
    """Return what is not as it was written, or "" if nothing is found within some time."""
    deadline = time.monotonic() + seconds
    try:
        with (
            Database.connect(path, writable=False) as database,
            database.looking(lambda: time.monotonic() > deadline) as connection,
        ):
            found = SQLiteHealth(connection).differences()
            damage = next((finding.detail for finding in found if not finding.ok), "")
    except (LpiSearchError, *UNREADABLE) as error:
        damage = error.what if isinstance(error, LpiSearchError) else f"it cannot be read ({error})"
    return "" if time.monotonic() > deadline else damage


def _readable(cell: bytes | None) -> str:
    return (cell or b"").decode(errors="replace")
