"""Read documents: one, a page of a listing, all of them in a stream, and their counts."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, String, and_, case, cast, func, literal, or_, select

from lpisearch.errors import BadOption, DocumentNotFound, SeveralDocuments
from lpisearch.records import Document, Entry
from lpisearch.storage.sqlite.models import DocumentRow, LabelRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from lpisearch.records import Filter

_STREAM_ROWS = 500
_DATE = re.compile(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ][\d:.,]+(Z|[+-][\d:]+)?)?)?)?", re.ASCII
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_NAMED = ("true", "false", "null")

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


def only_row(connection: Connection, name: str) -> int:
    """Return the key of the one document that an id or a path means.

    Raises
    ------
    DocumentNotFound, SeveralDocuments
    """
    found = find_rows(connection, name)
    if not found:
        raise DocumentNotFound(name)
    if len(found) > 1:
        raise SeveralDocuments(name, len(found))
    return found[0]


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
    """Return a filter as SQL conditions on documents.

    Dates are compared as they are written, whatever their time zone. A document that is dated by
    its year or month alone counts as of the first day.

    Raises
    ------
    BadOption
        `since` or `until` is no date.
    """
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
    if wanted.since:
        found.append(_beginning(DocumentRow.date) >= _beginning(_date("since", wanted.since)))
    if wanted.until:
        # "~" comes after all that a date may go on with.
        found.append(_beginning(DocumentRow.date) <= _date("until", wanted.until) + "~")
    if wanted.since or wanted.until:
        found.append(DocumentRow.date != "")
    found += [_has(key, value) for key, value in wanted.metadata]
    return found


def _date(option: str, value: str) -> ColumnElement[str]:
    if not _DATE.fullmatch(value):
        raise BadOption(option, f"“{value}” is not a date such as 2024, 2024-05 or 2024-05-31")
    return literal(value.replace(" ", "T"))


def _beginning(date: ColumnElement[str] | Any) -> ColumnElement[str]:
    """Return a date in full: the first day of a year or month."""
    rest = func.substr("0000-01-01", func.length(date) + 1, type_=String)
    return func.replace(date, " ", "T", type_=String) + rest


def _has(key: str, value: str) -> ColumnElement[bool]:
    """Return the condition that a metadata value, or a member of its list, reads as given."""
    item = func.json_each(DocumentRow.fields).table_valued("key", "value", "type", name="item")
    members = case((item.c.type == "array", item.c.value), else_="[]")
    member = func.json_each(members).table_valued("value", "type", name="member")
    among = select(member.c.value).where(_reads(member, value)).correlate(item).exists()
    meant = select(item.c.key).where(item.c.key == key, or_(_reads(item, value), among))
    return meant.correlate(DocumentRow).exists()


def _reads(found: Any, value: str) -> ColumnElement[bool]:
    """Return the condition that a JSON value is the text, or the number that the text is."""
    written: ColumnElement[bool] = case(
        (found.c.type.in_(_NAMED), found.c.type == value.lower()),
        else_=cast(found.c.value, String) == value,
    )
    if not _NUMBER.fullmatch(value):
        return written
    is_number = found.c.type.in_(("integer", "real"))
    return or_(written, and_(is_number, found.c.value == literal(float(value))))


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
