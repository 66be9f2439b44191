"""The statements that put documents into the tables, and keep labels, tokens and FTS in step."""

from __future__ import annotations

import json
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, text, update

from lpisearch.storage.sqlite import fulltext
from lpisearch.storage.sqlite.models import Base, DocumentRow, TokensRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, TextClause

    from lpisearch.records import Document


class Found(NamedTuple):
    """A document that the library has: its row, identity, place and content.

    `position` is below zero if the record is gone from its file.
    """

    row_id: int
    external_id: str
    source_id: int
    position: int
    content_hash: bytes


class Write(NamedTuple):
    """A document and the row that it gets or keeps."""

    place: Found
    path: str
    document: Document


# Whole tables, not classes: plain rows go in many times faster than mapped objects.
_DOCUMENTS, _LABELS, _TOKENS = (
    Base.metadata.tables[name] for name in ("documents", "labels", "document_tokens")
)

_FOUND = "SELECT d.id, d.external_id, d.source_id, d.position, d.content_hash "
_FIND_IDS = text(f"{_FOUND} FROM json_each(:ids) w JOIN documents d ON d.external_id = w.value")
_FIND_PLACES = text(
    f"{_FOUND} FROM json_each(:places) w JOIN documents d "
    "ON d.source_id = json_extract(w.value, '$[0]') "
    "AND d.position IN (json_extract(w.value, '$[1]'), -json_extract(w.value, '$[1]'))"
)


def find(connection: Connection, *, ids: str, places: str) -> list[Found]:
    """Return the documents at any of the identities or (source, position) places, given as JSON."""
    at_ids = connection.execute(_FIND_IDS, {"ids": ids})
    at_places = connection.execute(_FIND_PLACES, {"places": places})
    return [Found(*row) for result in (at_ids, at_places) for row in result]


def free_rows(connection: Connection) -> Iterator[int]:
    """Count up from the first key that no document has."""
    return count((connection.execute(select(func.max(DocumentRow.id))).scalar() or 0) + 1)


def all_rows(connection: Connection) -> list[int]:
    """Return the keys of all documents in order."""
    return list(connection.execute(select(DocumentRow.id).order_by(DocumentRow.id)).scalars())


def rows_of_source(connection: Connection, source_id: int) -> Iterable[int]:
    """Return the keys of a source's documents."""
    return connection.execute(
        select(DocumentRow.id).where(DocumentRow.source_id == source_id)
    ).scalars()


def move(connection: Connection, writes: Sequence[Write]) -> None:
    """Note a new place of documents whose content is unchanged."""
    if not writes:
        return
    statement = (
        update(_DOCUMENTS)
        .where(DocumentRow.id == bindparam("row_id"))
        .values(source_id=bindparam("to"), position=bindparam("at"), path=bindparam("file"))
    )
    values = [
        {
            "row_id": write.place.row_id,
            "to": write.place.source_id,
            "at": write.place.position,
            "file": write.document.path or write.path,
        }
        for write in writes
    ]
    connection.execute(statement, values)


def note_gone(connection: Connection, row_ids: Iterable[int]) -> None:
    """Note that the records of documents are gone from their files."""
    statement = update(_DOCUMENTS).where(_among("id"))
    gone = statement.values(position=-func.abs(_DOCUMENTS.c.position))
    connection.execute(gone, {"ids": json.dumps(list(row_ids))})


def delete_gone(connection: Connection, source_ids: Iterable[int]) -> None:
    """Remove the documents of sources whose records are gone from their files."""
    gone = delete(_DOCUMENTS).where(_among("source_id"), _DOCUMENTS.c.position < 0)
    connection.execute(gone, {"ids": json.dumps(list(source_ids))})


def replace(
    connection: Connection, writes: Sequence[Write], tokenise: Callable[[Document], str], now: str
) -> None:
    """Put new content in the rows of documents."""
    if not writes:
        return
    # Deleting takes labels, tokens and the FTS rows along; the keys are used again.
    delete_documents(connection, [write.place.row_id for write in writes])
    insert_new(connection, writes, tokenise, now)


def insert_new(
    connection: Connection, writes: Sequence[Write], tokenise: Callable[[Document], str], now: str
) -> None:
    """Insert documents with labels, tokens and FTS rows."""
    if not writes:
        return
    values = [_document_values(write, now) for write in writes]
    connection.execute(insert(_DOCUMENTS), values)
    labels = [
        {"document_id": write.place.row_id, "name": name, "position": position}
        for write in writes
        for position, name in enumerate(write.document.labels)
    ]
    if labels:
        connection.execute(insert(_LABELS), labels)
    _insert_tokens(connection, {write.place.row_id: tokenise(write.document) for write in writes})


def replace_tokens(connection: Connection, tokens: Mapping[int, str]) -> None:
    """Give documents new tokens, with the FTS rows to match."""
    connection.execute(
        delete(TokensRow).where(_among("document_id")), {"ids": json.dumps(list(tokens))}
    )
    _insert_tokens(connection, tokens)


def _insert_tokens(connection: Connection, tokens: Mapping[int, str]) -> None:
    values = [{"document_id": row_id, "tokens": joined} for row_id, joined in tokens.items()]
    connection.execute(insert(_TOKENS), values)
    fulltext.add(connection, list(tokens))


def delete_documents(connection: Connection, row_ids: Iterable[int]) -> None:
    """Remove documents; labels and tokens go by cascade, FTS rows by a trigger on the tokens."""
    connection.execute(delete(DocumentRow).where(_among("id")), {"ids": json.dumps(list(row_ids))})


def _among(column: str) -> TextClause:
    """Return a condition that takes any number of keys, as JSON."""
    return text(f"{column} IN (SELECT value FROM json_each(:ids))")  # noqa: S608 (a constant name)


def content_hash(document: Document) -> bytes:
    """Return a digest of all that is stored of a document."""
    facts: list[Any] = [
        document.labels,
        document.split,
        document.date,
        document.path,
        document.media_type,
        document.metadata,
        len(document.title),
    ]
    digest = blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16)
    digest.update(document.title.encode())
    digest.update(document.text.encode())
    return digest.digest()


def _document_values(write: Write, now: str) -> dict[str, Any]:
    place, document = write.place, write.document
    return {
        "id": place.row_id,
        "external_id": place.external_id,
        "source_id": place.source_id,
        "position": place.position,
        "content_hash": place.content_hash,
        "split": document.split,
        "date": document.date,
        "path": document.path or write.path,
        "media_type": document.media_type,
        "ingested_at": now,
        "title": document.title,
        "metadata": dict(document.metadata),
        "text": document.text,
    }
