"""Look for damage in a library, and mend what can be mended from the documents themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from lpisearch.messages import Message, call
from lpisearch.records import Finding
from lpisearch.storage.sqlite import fulltext
from lpisearch.storage.sqlite.sources import unfinished_sources

if TYPE_CHECKING:
    from sqlalchemy import Connection

MEND = call("examine", repair=True)
_PARTS = {"labels": "labels", "document_tokens": "tokens"}


def findings(connection: Connection) -> list[Finding]:
    """Check the database; the connection is within a transaction that will be rolled back."""
    damage = _integrity(connection)
    if not damage.ok:
        return [damage]
    return [
        damage,
        *(_orphans(connection, table, noun) for table, noun in _PARTS.items()),
        _untokenised(connection),
        _full_text(connection),
        _unfinished(connection),
    ]


def repair(connection: Connection) -> None:
    """Remove what belongs to no document, and build the full-text table anew."""
    # The trigger would tell FTS5 to delete rows that it may not have.
    connection.execute(text("DROP TRIGGER IF EXISTS document_tokens_deleted"))
    for table in _PARTS:
        connection.execute(
            text(f"DELETE FROM {table} WHERE document_id NOT IN (SELECT id FROM documents)")  # noqa: S608 (a constant)
        )
    connection.execute(text(fulltext.DELETE_TRIGGER))
    fulltext.rebuild(connection)


def untokenised_rows(connection: Connection) -> list[int]:
    """Return the documents that have no tokens."""
    statement = "SELECT id FROM documents WHERE id NOT IN (SELECT document_id FROM document_tokens)"
    return list(connection.execute(text(statement)).scalars())


def damaged(detail: str) -> Finding:
    """Return the finding for a file that SQLite cannot read."""
    return Finding(
        "database file",
        ok=False,
        detail=detail,
        next_step=Message(
            "put back a copy made by ", call("back_up"), ", or ingest into a new library"
        ),
    )


def _integrity(connection: Connection) -> Finding:
    try:
        lines = list(connection.execute(text("PRAGMA integrity_check(20)")).scalars())
    except DatabaseError as error:
        lines = [str(error.orig)]
    if lines == ["ok"]:
        return Finding("database file", ok=True, detail="sound")
    return damaged("; ".join(lines[:3]))


def _orphans(connection: Connection, table: str, noun: str) -> Finding:
    statement = f"SELECT count(*) FROM {table} WHERE document_id NOT IN (SELECT id FROM documents)"  # noqa: S608 (a constant)
    number = connection.execute(text(statement)).scalar_one()
    if number == 0:
        return Finding(f"orphan {noun}", ok=True, detail="none")
    return Finding(f"orphan {noun}", ok=False, detail=f"{number} of no document", next_step=MEND)


def _untokenised(connection: Connection) -> Finding:
    number = len(untokenised_rows(connection))
    if number == 0:
        return Finding("tokens", ok=True, detail="every document has its tokens")
    return Finding("tokens", ok=False, detail=f"{number} documents have none", next_step=MEND)


def _full_text(connection: Connection) -> Finding:
    check = "full-text index"
    if not fulltext.follows_deletions(connection):
        return Finding(check, ok=False, detail="does not follow deletions", next_step=MEND)
    try:
        fulltext.check(connection)
    except DatabaseError:
        return Finding(check, ok=False, detail="not in step with the documents", next_step=MEND)
    return Finding(check, ok=True, detail="in step with the documents")


def _unfinished(connection: Connection) -> Finding:
    paths = unfinished_sources(connection)
    check = "unfinished files"
    if not paths:
        return Finding(check, ok=True, detail="none")
    # Not damage: the documents read so far are whole, and the next ingest reads the rest.
    shown = ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")  # noqa: PLR2004 (three fit in a line)
    return Finding(
        check,
        ok=True,
        detail=f"{len(paths)} stopped half-way or had failures: {shown}",
        next_step=Message(call("ingest"), " the same paths again"),
    )
