"""Read documents: one, a page of a listing, all of them in a stream, and their counts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, func, literal, or_, select

from lpisearch.database.models import DocumentRow, LabelRow
from lpisearch.records import Document, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from lpisearch.records import Filter

_STREAM_ROWS = 500

_ORDERED_LABELS = (
    select(LabelRow.name)
    .where(LabelRow.document_id == DocumentRow.id)
    .order_by(LabelRow.position)
    .correlate(DocumentRow)
    .subquery()
)
_LABELS = select(func.json_group_array(_ORDERED_LABELS.c.name)).scalar_subquery()


def find_rows(connection: Connection, name: str) -> list[int]:
    """Return the key of the document with an id; or of those whose file has the path."""
    by_id = select(DocumentRow.id).where(DocumentRow.external_id == name)
    row_id = connection.execute(by_id).scalar()
    if row_id is not None:
        return [row_id]
    paths = (name, os.path.abspath(name))  # noqa: PTH100 (as paths are made at ingest: links stay)
    by_path = select(DocumentRow.id).where(DocumentRow.path.in_(paths)).order_by(DocumentRow.id)
    return list(connection.execute(by_path).scalars())


def load(connection: Connection, row_id: int) -> Document:
    """Return a whole document by its key."""
    return next(_documents(connection, _whole().where(DocumentRow.id == row_id)))


def load_many(connection: Connection, row_ids: Sequence[int]) -> list[Document]:
    """Return whole documents by their keys, in the order of the keys."""
    statement = _whole().where(DocumentRow.id.in_(row_ids)).order_by(DocumentRow.id)
    return list(_documents(connection, statement))


def stream(connection: Connection, wanted: Filter) -> Iterator[Document]:
    """Yield whole documents in the order of ingest, a few at a time in memory."""
    statement = _whole().where(*conditions(wanted)).order_by(DocumentRow.id)
    return _documents(connection, statement)


def entries(connection: Connection, wanted: Filter, limit: int, offset: int) -> list[Entry]:
    """Return a page of the listing, in the order of ingest."""
    statement = (
        select(
            DocumentRow.external_id,
            DocumentRow.title,
            _LABELS,
            DocumentRow.split,
            DocumentRow.date,
            DocumentRow.path,
            DocumentRow.media_type,
        )
        .where(*conditions(wanted))
        .order_by(DocumentRow.id)
        .limit(limit)
        .offset(offset)
    )
    return [
        Entry(row[0], row[1], tuple(json.loads(row[2])), *row[3:])
        for row in connection.execute(statement)
    ]


def count(connection: Connection, wanted: Filter) -> int:
    """Return how many documents pass a filter."""
    statement = select(func.count()).select_from(DocumentRow).where(*conditions(wanted))
    return connection.execute(statement).scalar_one()


def label_counts(connection: Connection) -> dict[str, int]:
    """Return how many documents have each label, by name."""
    statement = select(LabelRow.name, func.count()).group_by(LabelRow.name).order_by(LabelRow.name)
    return dict(connection.execute(statement).all())


def split_counts(connection: Connection) -> dict[str, int]:
    """Return how many documents are in each split; those in none are left out."""
    statement = (
        select(DocumentRow.split, func.count())
        .where(DocumentRow.split != "")
        .group_by(DocumentRow.split)
        .order_by(DocumentRow.split)
    )
    return dict(connection.execute(statement).all())


def conditions(wanted: Filter) -> list[ColumnElement[bool]]:
    """Return a filter as SQL conditions on documents."""
    found: list[ColumnElement[bool]] = []
    if wanted.labels:
        labelled = select(LabelRow.document_id).where(LabelRow.name.in_(wanted.labels))
        found.append(DocumentRow.id.in_(labelled))
    if wanted.path:
        glob = literal(wanted.path)
        found.append(
            or_(DocumentRow.path.op("GLOB")(glob), DocumentRow.external_id.op("GLOB")(glob))
        )
    if wanted.split:
        found.append(DocumentRow.split == wanted.split)
    return found


def _whole() -> Select[Any]:
    return select(
        DocumentRow.external_id,
        DocumentRow.title,
        DocumentRow.text,
        _LABELS,
        DocumentRow.split,
        DocumentRow.date,
        DocumentRow.path,
        DocumentRow.media_type,
        DocumentRow.fields,
    )


def _documents(connection: Connection, statement: Select[Any]) -> Iterator[Document]:
    result = connection.execution_options(yield_per=_STREAM_ROWS).execute(statement)
    for external_id, title, text, labels, split, date, path, media_type, fields in result:
        yield Document(
            title=title,
            text=text,
            id=external_id,
            labels=tuple(json.loads(labels)),
            split=split,
            date=date,
            path=path,
            media_type=media_type,
            metadata=fields,
        )
