"""Look for damage in a library, and mend what can be mended from the documents themselves."""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, text, update
from sqlalchemy.exc import DatabaseError

from lpisearch.errors import LpiSearchError
from lpisearch.records import UNFINISHED, DamagedDocument, Finding, StoredPlace
from lpisearch.storage.findings import MEND, damaged, unfinished
from lpisearch.storage.sqlite import fulltext, schema
from lpisearch.storage.sqlite.checksums import (
    SCHEMA,
    changed_rows,
    differs,
    schema_digest,
    seal,
)
from lpisearch.storage.sqlite.documents import SQLiteDocuments
from lpisearch.storage.sqlite.engine import UNREADABLE, Database
from lpisearch.storage.sqlite.settings import SQLiteSettings
from lpisearch.storage.sqlite.sources import SQLiteSources
from lpisearch.storage.sqlite.tables import (
    DOCUMENTS,
    FAILURES,
    INDEXES,
    LABEL_EDITS,
    LABELS,
    PREDICTED_LABELS,
    SECTIONS,
    SETTINGS,
    SOURCES,
    TOKENS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Table

_PARTS = {
    "labels": "labels",
    "label_edits": "labels by hand",
    "predicted_labels": "predicted labels",
    "document_sections": "sections",
    "document_tokens": "tokens",
}
_NOUNS = {
    SOURCES: "files",
    SETTINGS: "settings",
    INDEXES: "register of indexes",
    LABEL_EDITS: "labels by hand",
    PREDICTED_LABELS: "predicted labels",
    FAILURES: "files that failed",
}
# Where a table is listed a second time.
_LISTED_IN = {
    "documents": ("documents", "ix_documents_source_id_position"),
    "labels by hand": ("label_edits", "sqlite_autoindex_label_edits_1"),
    "predicted labels": ("predicted_labels", "ix_predicted_labels_name"),
    "indexes": ("indexes", "sqlite_autoindex_indexes_1"),
    "files that failed": ("failures", "sqlite_autoindex_failures_1"),
}
_OF_DOCUMENTS = (DOCUMENTS, LABELS, SECTIONS)
_SHOWN = 3  # names that fit in a line
_TERMS_ASKED = 1000
_CANNOT_WRITE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
_AT_ONCE = 500
_UNREAD: dict[str, Any] = {"size": UNFINISHED, "mtime_ns": UNFINISHED}
# As bytes: what is no UTF-8 any more is read as well as it can be.
_PLACE = """SELECT CAST(d.external_id AS BLOB), s.id,
CAST(d.position AS INTEGER), CAST(d.content_hash AS BLOB), CAST(s.path AS BLOB),
CAST(s.root AS BLOB), CAST(s.format AS BLOB), CAST(d.split AS BLOB)
FROM documents d LEFT JOIN sources s ON s.id = {source} WHERE d.id = :key"""
_SOURCE = "d.source_id"
_SOURCE_BY_PATH = "coalesce((SELECT id FROM sources WHERE path = d.path), d.source_id)"
_LABELLED = "SELECT CAST(name AS BLOB) FROM labels WHERE document_id = :key ORDER BY position"


@dataclass(frozen=True, slots=True)
class SQLiteHealth:
    """Damage and its repair; the methods are those of `contract.Health`."""

    connection: Connection

    def findings(self) -> list[Finding]:
        """Look at everything."""
        pages = list(self._pages())
        if not all(finding.ok for finding in pages):
            return [next(finding for finding in pages if not finding.ok)]
        return [
            *pages,
            *(self._orphans(table, noun) for table, noun in _PARTS.items()),
            *self._cells(),
            self._full_text(),
            unfinished(SQLiteSources(self.connection).unfinished()),
        ]

    def differences(self) -> Iterator[Finding]:
        """Yield what is looked at without writing, the quickest first."""
        yield self._integrity()
        if schema.revision(self.connection) == schema.HEAD:
            yield self._schema()
            yield from self._cells()

    def damaged_documents(self) -> list[DamagedDocument]:
        """Return the documents that are not as they were written, and where they came from."""
        changed = {table: set(changed_rows(self.connection, table)) for table in _OF_DOCUMENTS}
        keys = set(SQLiteDocuments(self.connection).keys())
        found = set().union(*changed.values()) & keys
        found |= self._of_other_content(sorted(keys - found))
        return [self._place(key, key not in changed[DOCUMENTS]) for key in sorted(found)]

    def untokenised(self) -> list[int]:
        """Return the keys of documents that have no tokens, or not those that were written."""
        statement = (
            "SELECT id FROM documents WHERE id NOT IN (SELECT document_id FROM document_tokens)"
        )
        missing = list(self.connection.execute(text(statement)).scalars())
        return sorted({*missing, *changed_rows(self.connection, TOKENS)})

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
        for table in _PARTS:
            self.connection.execute(
                text(f"DELETE FROM {table} WHERE document_id NOT IN (SELECT id FROM documents)")  # noqa: S608 (a constant)
            )
        self.connection.execute(text(fulltext.DELETE_TRIGGER))
        fulltext.rebuild(self.connection)
        if any(lost.values()):
            self.connection.execute(update(SOURCES).values(**_UNREAD))
            seal(self.connection, [SOURCES])
        return {noun: number for noun, number in lost.items() if number}

    def repair_rows(self) -> list[str]:
        """Let files be read again, and indexes be forgotten, whose rows are not as written.

        Returns
        -------
        list of str
            The indexes that are to be built anew.
        """
        for key in changed_rows(self.connection, SOURCES):
            self._repair_source(key)
        gone = changed_rows(self.connection, INDEXES)
        for table in (INDEXES, LABEL_EDITS, PREDICTED_LABELS, FAILURES):
            self.connection.execute(delete(table).where(text(differs(table))))
        seal(self.connection, [SOURCES])
        return [str(name) for name in gone]

    def give_up(self, documents: Iterable[DamagedDocument]) -> None:
        """Note that documents are not as written: what their files have now takes their place."""
        for each in documents:
            key, source = each.place.key, each.place.source_id
            unknown = update(DOCUMENTS).where(DOCUMENTS.c.id == key).values(content_hash=b"")
            self.connection.execute(unknown)
            self.connection.execute(update(SOURCES).where(SOURCES.c.id == source).values(**_UNREAD))
        seal(self.connection, [SOURCES])

    def _missing(self, noun: str) -> int:
        """Return how many rows are in an index of a table, and not in the table."""
        table, index = _LISTED_IN[noun]
        counts = (
            self.connection.execute(text(f"SELECT count(*) FROM {table} {how}")).scalar_one()  # noqa: S608 (constant names)
            for how in (f"INDEXED BY {index}", "NOT INDEXED")
        )
        listed, there = counts
        return max(int(listed - there), 0)

    def _repair_source(self, key: int) -> None:
        """Let a file be read again; its documents know its path."""
        named = select(DOCUMENTS.c.path).where(DOCUMENTS.c.source_id == key).distinct().limit(2)
        paths = list(self.connection.execute(named).scalars())
        if not paths:  # it may be a row of another table: a file of no document is found anew
            self.connection.execute(delete(SOURCES).where(SOURCES.c.id == key))
            return
        values = {"root": "", "format": "", "read_options": "", "read_at": ""} | _UNREAD
        if len(paths) == 1:
            values |= {"path": paths[0], "root": os.path.dirname(paths[0])}  # noqa: PTH120 (a string)
        self.connection.execute(update(SOURCES).where(SOURCES.c.id == key).values(**values))

    def _of_other_content(self, keys: list[int]) -> set[int]:
        """Return the documents that lack a label or a section, whose rows are gone altogether."""
        edited = set(self.connection.execute(select(LABEL_EDITS.c.document_id)).scalars())
        wanted = [key for key in keys if key not in edited]
        documents = SQLiteDocuments(self.connection)
        found: set[int] = set()
        for start in range(0, len(wanted), _AT_ONCE):
            found.update(documents.of_other_content(wanted[start : start + _AT_ONCE]))
        return found

    def _pages(self) -> Iterator[Finding]:
        yield self._integrity()
        yield self._schema()

    def _cells(self) -> Iterator[Finding]:
        yield from (self._rows(table) for table in _NOUNS)
        yield self._documents()
        yield self._untokenised()

    def _integrity(self) -> Finding:
        try:
            lines = list(self.connection.execute(text("PRAGMA integrity_check(20)")).scalars())
            lost = list(self.connection.execute(text("PRAGMA foreign_key_check")))
        except DatabaseError as error:
            return damaged(str(error.orig))
        if lines != ["ok"]:
            return damaged("; ".join(map(str, lines[:_SHOWN])))
        if any(row[0] == "documents" for row in lost):
            return damaged("documents without the file that they came from")
        return Finding("database file", ok=True, detail="sound")

    def _schema(self) -> Finding:
        trigger = "document_tokens_deleted"
        stated = (SQLiteSettings(self.connection).get(SCHEMA) or {}).get("digest")
        if stated == schema_digest(self.connection) or not self._has(trigger):
            return Finding("tables", ok=True, detail="as they were made")
        return damaged("its tables are not as they were made", "tables")

    def _has(self, name: str) -> bool:
        statement = text("SELECT 1 FROM sqlite_master WHERE name = :name")
        return self.connection.execute(statement, {"name": name}).first() is not None

    def _rows(self, table: Table) -> Finding:
        noun = _NOUNS[table]
        changed = changed_rows(self.connection, table)
        if not changed:
            return Finding(noun, ok=True, detail="as they were written")
        if table is SETTINGS:
            return damaged("what it says of itself is not as it was written", noun)
        return Finding(noun, ok=False, detail=_not_as_written(len(changed)), next_step=MEND)

    def _documents(self) -> Finding:
        found = self.damaged_documents()
        if not found:
            return Finding("documents", ok=True, detail="as they were written")
        names = ", ".join(each.place.id for each in found[:_SHOWN])
        detail = f"{_not_as_written(len(found))}: {names}" + ", …" * (len(found) > _SHOWN)
        return Finding("documents", ok=False, detail=detail, next_step=MEND)

    def _place(self, key: int, is_named: bool) -> DamagedDocument:  # noqa: FBT001 (one of its parts)
        """Return what can still be read of a document, and of where it came from."""
        statement = _PLACE.format(source=_SOURCE if is_named else _SOURCE_BY_PATH)
        facts = self.connection.execute(text(statement), {"key": key}).one()
        name, source_id, position, stated, path, root, kind, split = facts
        names = self.connection.execute(text(_LABELLED), {"key": key}).scalars()
        return DamagedDocument(
            StoredPlace(key, _readable(name), source_id, position, stated),
            path=_readable(path),
            root=_readable(root),
            format=_readable(kind),
            split=_readable(split),
            labels=tuple(map(_readable, names)),
            found=SQLiteDocuments(self.connection).found_hash(key),
            is_named=is_named,
        )

    def _orphans(self, table: str, noun: str) -> Finding:
        statement = (
            f"SELECT count(*) FROM {table} WHERE document_id NOT IN (SELECT id FROM documents)"  # noqa: S608 (a constant)
        )
        number = self.connection.execute(text(statement)).scalar_one()
        if number == 0:
            return Finding(f"orphan {noun}", ok=True, detail="none")
        return Finding(
            f"orphan {noun}", ok=False, detail=f"{number} of no document", next_step=MEND
        )

    def _untokenised(self) -> Finding:
        number = len(self.untokenised())
        if number == 0:
            return Finding("tokens", ok=True, detail="every document has its tokens")
        detail = f"{number} documents have none, or not those that were written"
        return Finding("tokens", ok=False, detail=detail, next_step=MEND)

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
            return Finding(check, ok=False, detail="not in step with the documents", next_step=MEND)
        return Finding(check, ok=True, detail="in step with the documents")


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


def _not_as_written(number: int) -> str:
    return "1 is not as it was written" if number == 1 else f"{number:,} are not as written"
