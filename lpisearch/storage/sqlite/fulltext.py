"""The FTS5 table over the stored tokens, and how it is kept in step with them.

Inserting is explicit, in the transaction that writes the tokens: a trigger would make FTS5
flush its segment once a row and triple the time of an ingest. Deleting is a trigger, so that
no path, not even a cascade, can leave a document in the lexical index.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

TABLE = "documents_fts"
_COUNT = "SELECT count(*) FROM temp.library_terms"
_LISTED = """SELECT term, doc FROM (
SELECT term, doc, row_number() OVER () AS number FROM temp.library_terms)
WHERE number % :step = 0"""
_FOUND = "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH :term"
DELETE_TRIGGER = """CREATE TRIGGER document_tokens_deleted AFTER DELETE ON document_tokens BEGIN
INSERT INTO documents_fts(documents_fts, rowid, tokens)
VALUES ('delete', old.document_id, old.tokens); END"""


def add(connection: Connection, row_ids: Sequence[int]) -> None:
    """Index the stored tokens of documents that are not in the table yet."""
    connection.execute(
        text(
            f"INSERT INTO {TABLE}(rowid, tokens) SELECT document_id, tokens "  # noqa: S608 (a constant name)
            "FROM json_each(:ids) JOIN document_tokens ON document_id = value"
        ),
        {"ids": json.dumps(row_ids)},
    )


def count_terms(connection: Connection, least_documents: int) -> int:
    """Return how many terms occur in at least so many documents of the whole library."""
    _open_terms(connection)
    statement = text("SELECT count(*) FROM temp.library_terms WHERE doc >= :least")
    return int(connection.execute(statement, {"least": least_documents}).scalar_one())


def terms_between(connection: Connection, first: str, end: str) -> list[tuple[str, int]]:
    """Return the terms from `first` on and before `end`, with the documents of each."""
    _open_terms(connection)
    statement = text(
        "SELECT term, doc FROM temp.library_terms WHERE term >= :first AND term < :end"
    )
    rows = connection.execute(statement, {"first": first, "end": end})
    return [(term, documents) for term, documents in rows]


def _open_terms(connection: Connection) -> None:
    connection.execute(
        text(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.library_terms "
            f"USING fts5vocab(main, '{TABLE}', 'row')"
        )
    )


def rebuild(connection: Connection) -> None:
    """Build the whole table anew from the stored tokens."""
    connection.execute(text(f"INSERT INTO {TABLE}({TABLE}) VALUES ('rebuild')"))  # noqa: S608 (a constant name)


def check(connection: Connection) -> None:
    """Compare the table with the stored tokens; raises DatabaseError where they differ."""
    connection.execute(
        text(f"INSERT INTO {TABLE}({TABLE}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 (a constant name)
    )


def finds_its_terms(connection: Connection, number: int) -> bool:
    """Ask for so many of the terms, evenly spread: each is to be found as often as it is listed.

    The check of FTS5 itself passes over entries of its directory that are missing.
    """
    _open_terms(connection)
    # FTS5 lists terms by its segments, and finds them by the directory.
    step = max(int(connection.execute(text(_COUNT)).scalar_one()) // number, 1)
    listed = connection.execute(text(_LISTED), {"step": step}).all()
    return all(
        connection.execute(text(_FOUND), {"term": f'"{term}"'}).scalar() == documents
        for term, documents in listed
    )


def follows_deletions(connection: Connection) -> bool:
    """Tell whether the trigger is there that removes what is deleted."""
    statement = "SELECT 1 FROM sqlite_master WHERE name = 'document_tokens_deleted'"
    return connection.execute(text(statement)).first() is not None
