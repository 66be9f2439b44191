"""Look for damage in a library, and mend what can be mended from the documents themselves."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from lpisearch.records import Finding
from lpisearch.storage.findings import MEND, damaged, unfinished
from lpisearch.storage.sqlite import fulltext
from lpisearch.storage.sqlite.sources import SQLiteSources

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PARTS = {
    "labels": "labels",
    "label_edits": "labels by hand",
    "predicted_labels": "predicted labels",
    "document_sections": "sections",
    "document_tokens": "tokens",
}


@dataclass(frozen=True, slots=True)
class SQLiteHealth:
    """Damage and its repair; the methods are those of `contract.Health`."""

    connection: Connection

    def findings(self) -> list[Finding]:
        """Look at everything."""
        integrity = self._integrity()
        if not integrity.ok:
            return [integrity]
        return [
            integrity,
            *(self._orphans(table, noun) for table, noun in _PARTS.items()),
            self._untokenised(),
            self._full_text(),
            unfinished(SQLiteSources(self.connection).unfinished()),
        ]

    def untokenised(self) -> list[int]:
        """Return the keys of documents that have no tokens."""
        statement = (
            "SELECT id FROM documents WHERE id NOT IN (SELECT document_id FROM document_tokens)"
        )
        return list(self.connection.execute(text(statement)).scalars())

    def repair(self) -> None:
        """Remove what belongs to no document, and build the full-text table anew."""
        # The trigger would tell FTS5 to delete rows that it may not have.
        self.connection.execute(text("DROP TRIGGER IF EXISTS document_tokens_deleted"))
        for table in _PARTS:
            self.connection.execute(
                text(f"DELETE FROM {table} WHERE document_id NOT IN (SELECT id FROM documents)")  # noqa: S608 (a constant)
            )
        self.connection.execute(text(fulltext.DELETE_TRIGGER))
        fulltext.rebuild(self.connection)

    def _integrity(self) -> Finding:
        try:
            lines = list(self.connection.execute(text("PRAGMA integrity_check(20)")).scalars())
        except DatabaseError as error:
            lines = [str(error.orig)]
        if lines == ["ok"]:
            return Finding("database file", ok=True, detail="sound")
        return damaged("; ".join(lines[:3]))

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
        return Finding("tokens", ok=False, detail=f"{number} documents have none", next_step=MEND)

    def _full_text(self) -> Finding:
        check = "full-text index"
        if not fulltext.follows_deletions(self.connection):
            return Finding(check, ok=False, detail="does not follow deletions", next_step=MEND)
        try:
            fulltext.check(self.connection)
        except DatabaseError as error:
            if _code(error) != sqlite3.SQLITE_CORRUPT:  # FTS5 compares in what it may write alone
                return Finding(check, ok=True, detail=f"not compared: {error.orig}")
            return Finding(check, ok=False, detail="not in step with the documents", next_step=MEND)
        return Finding(check, ok=True, detail="in step with the documents")


def _code(error: DatabaseError) -> int:
    return int(getattr(error.orig, "sqlite_errorcode", 0)) & 0xFF
