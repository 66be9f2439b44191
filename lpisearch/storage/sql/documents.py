"""Read documents: one, a page of a listing, all of them in a stream, and what hits show."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    func,
    literal,
    or_,
    select,
)

from lpisearch.errors import DocumentDamaged, DocumentNotFound, SeveralDocuments
from lpisearch.records import Details, Document, Entry, Section
from lpisearch.storage.digests import content_hash
from lpisearch.storage.sql.checksums import differs, part_differs
from lpisearch.storage.sql.dialects import Names
from lpisearch.storage.sql.filters import conditions
from lpisearch.storage.sql.labels import SQLLabels
from lpisearch.storage.sql.tables import DOCUMENTS, LABELS, SECTIONS, UNREADABLE, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from lpisearch.records import Filter

_STREAM_ROWS = 500
_TO_BE_READ = bytes(16)  # the hash that a downgrade leaves where it left something out
_ROWS_AT_ONCE = 500
_TRAITS = "SELECT id, split, date, path, media_type FROM documents ORDER BY id"
_MOST = (1 << 63) - 1  # the largest number that a database knows

_ORDERED_LABELS = (
    select(LABELS.c.name)
    .where(LABELS.c.document_id == DOCUMENTS.c.id)
    .order_by(LABELS.c.position)
    .correlate(DOCUMENTS)
    .subquery()
)
_LABELS = select(Names(_ORDERED_LABELS.c.name)).scalar_subquery()
_SECTIONS = (
    select(SECTIONS.c.sections)
    .where(SECTIONS.c.document_id == DOCUMENTS.c.id)
    .correlate(DOCUMENTS)
    .scalar_subquery()
)
# Whether a document is as it was written, with its labels and sections.
_SOUND: ColumnElement[Any] = ~or_(
    differs(DOCUMENTS), *(part_differs(table, DOCUMENTS) for table in (LABELS, SECTIONS))
)


@dataclass(frozen=True, slots=True)
class SQLDocuments:
    """Documents as they are shown."""

    connection: Connection

    def find(self, name: str) -> list[int]:
        """Return the key of the document with an id; or of those whose file has the path."""
        by_id = select(DOCUMENTS.c.id).where(DOCUMENTS.c.external_id == name)
        key = self.connection.execute(by_id).scalar()
        if key is not None:
            return [key]
        paths = (name, os.path.abspath(name))  # noqa: PTH100 (as paths are made at ingest: links stay)
        by_path = select(DOCUMENTS.c.id).where(DOCUMENTS.c.path.in_(paths))
        return list(self.connection.execute(by_path.order_by(DOCUMENTS.c.id)).scalars())

    def only(self, name: str) -> int:
        """Return the key of the one document that an id or a path means.

        Raises
        ------
        DocumentNotFound, SeveralDocuments
        """
        found = self.find(name)
        if not found:
            raise DocumentNotFound(name)
        if len(found) > 1:
            raise SeveralDocuments(name, len(found))
        return found[0]

    def load(self, keys: Sequence[int]) -> list[Document]:
        """Return whole documents in the order of keys; one that is gone is left out."""
        ordered = sorted(keys)
        found: list[Document] = []
        for start in range(0, len(ordered), _ROWS_AT_ONCE):
            some = DOCUMENTS.c.id.in_(ordered[start : start + _ROWS_AT_ONCE])
            found.extend(self._documents(_whole().where(some).order_by(DOCUMENTS.c.id)))
        return found

    def stream(self, wanted: Filter) -> Iterator[Document]:
        """Yield whole documents in the order of keys, a few at a time in memory."""
        statement = _whole().where(*conditions(wanted)).order_by(DOCUMENTS.c.id)
        return self._documents(statement)

    def entries(self, wanted: Filter, limit: int, offset: int, sort: str = "added") -> list[Entry]:
        """Return a page of the listing; all of it at a limit of -1.

        Parameters
        ----------
        sort
            One of `lpisearch.settings.ENTRY_SORTS`: in the order of keys; newest date first, or
            oldest; by title, path or id. What has no date or title comes last.
        """
        columns = (
            DOCUMENTS.c.id,
            DOCUMENTS.c.external_id,
            DOCUMENTS.c.title,
            _LABELS,
            DOCUMENTS.c.split,
            DOCUMENTS.c.date,
            DOCUMENTS.c.path,
            DOCUMENTS.c.media_type,
        )
        every = select(*columns).where(*conditions(wanted)).order_by(*_order(sort))
        some = every if limit < 0 else every.limit(min(limit, _MOST))
        page = self.connection.execute(some.offset(min(offset, _MOST))).all()
        predicted = SQLLabels(self.connection).predicted([key for key, *_ in page])
        return [
            Entry(name, title, _names(labels), split, date, path, kind, predicted.get(key, ()))
            for key, name, title, labels, split, date, path, kind in page
        ]

    def details(self, keys: Sequence[int], characters: int = 200_000) -> dict[int, Details]:
        """Return what is shown of documents, by key; one that is gone is left out.

        Parameters
        ----------
        keys
            Of the documents.
        characters
            How much of each text is wanted; at 0 none is read.
        """
        text = (
            func.substr(DOCUMENTS.c.text, 1, characters, type_=Text) if characters else literal("")
        )
        found: dict[int, Details] = {}
        for start in range(0, len(keys), _ROWS_AT_ONCE):
            some = keys[start : start + _ROWS_AT_ONCE]
            labels = self._labels_of(some)
            predicted = SQLLabels(self.connection).predicted(some)
            statement = select(
                DOCUMENTS.c.id,
                DOCUMENTS.c.external_id,
                DOCUMENTS.c.title,
                DOCUMENTS.c.path,
                DOCUMENTS.c.date,
                text,
                DOCUMENTS.c.content_hash,
            ).where(DOCUMENTS.c.id.in_(some))
            for key, name, title, path, date, body, digest in self.connection.execute(statement):
                given, said = tuple(labels.get(key, ())), predicted.get(key, ())
                found[key] = Details(name, title, given, path, date, body, digest, said)
        return found

    def texts(
        self, keys: Iterable[int], characters: int | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Yield key, title and text (or its beginning), by key, a few at a time in memory."""
        whole = DOCUMENTS.c.text
        text = whole if characters is None else func.substr(whole, 1, characters, type_=Text)
        ordered = sorted(keys)
        for start in range(0, len(ordered), _ROWS_AT_ONCE):
            some = DOCUMENTS.c.id.in_(ordered[start : start + _ROWS_AT_ONCE])
            statement = select(DOCUMENTS.c.id, DOCUMENTS.c.title, text).where(some)
            rows = self.connection.execute(statement.order_by(DOCUMENTS.c.id))
            for key, title, beginning in rows:  # noqa: UP028 (a Row is typed)
                yield key, title, beginning

    def parts(self, wanted: Sequence[tuple[int, int, int]]) -> list[str]:
        """Return parts of texts, each given as (key, start, end); "" of one that is gone."""
        part = func.substr(DOCUMENTS.c.text, bindparam("first"), bindparam("size"))
        statement = select(part).where(DOCUMENTS.c.id == bindparam("key"))
        found = (
            self.connection.execute(
                statement, {"key": key, "first": start + 1, "size": end - start}
            )
            for key, start, end in wanted
        )
        return [result.scalar() or "" for result in found]

    def sections(self, keys: Sequence[int]) -> dict[int, tuple[Section, ...]]:
        """Return the sections of documents that have any, by key."""
        found = {}
        for start in range(0, len(keys), _ROWS_AT_ONCE):
            some = SECTIONS.c.document_id.in_(keys[start : start + _ROWS_AT_ONCE])
            statement = select(SECTIONS.c.document_id, SECTIONS.c.sections).where(some)
            for key, stored in self.connection.execute(statement):
                found[key] = _as_sections(stored)
        return found

    def count(self, wanted: Filter) -> int:
        """Return how many documents pass a filter.

        Raises
        ------
        BadOption
            A date of the filter is none; so do all that take a filter.
        """
        statement = select(func.count()).select_from(DOCUMENTS).where(*conditions(wanted))
        return self.connection.execute(statement).scalar_one()

    def keys(self) -> list[int]:
        """Return all keys in order."""
        statement = select(DOCUMENTS.c.id).order_by(DOCUMENTS.c.id)
        return list(self.connection.execute(statement).scalars())

    def ids(self) -> dict[int, str]:
        """Return the id of every document, by key."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.external_id)
        return {key: name for key, name in self.connection.execute(statement)}  # noqa: C416 (rows are no tuples to mypy)

    def traits(self) -> list[tuple[int, str, str, str, str]]:
        """Return key, split, date, path and media type of every document, in order of keys."""
        # As the driver has them: all rows are read for a single count, and often.
        rows = self.connection.exec_driver_sql(_TRAITS).cursor
        return [] if rows is None else list(rows.fetchall())

    def _labels_of(self, keys: Sequence[int]) -> dict[int, list[str]]:
        statement = (
            select(LABELS.c.document_id, LABELS.c.name)
            .where(LABELS.c.document_id.in_(keys))
            .order_by(LABELS.c.document_id, LABELS.c.position)
        )
        labels: dict[int, list[str]] = {}
        for key, name in self.connection.execute(statement):
            labels.setdefault(key, []).append(name)
        return labels

    def of_other_content(self, keys: Sequence[int]) -> list[int]:
        """Return the documents that have not the content that their hashes say."""
        found = self.load(keys)
        stated = select(DOCUMENTS.c.content_hash).where(DOCUMENTS.c.id.in_(keys))
        hashes = self.connection.execute(stated.order_by(DOCUMENTS.c.id)).scalars()
        pairs = zip(sorted(keys), found, hashes, strict=True)
        return [key for key, document, stated in pairs if not has_hash(document, stated)]

    def found_hash(self, key: int) -> bytes:
        """Return the hash of what is there of a document, or nothing if that is unreadable."""
        try:
            (document,) = self._documents(_whole(literal(1)).where(DOCUMENTS.c.id == key))
            stated = select(DOCUMENTS.c.content_hash).where(DOCUMENTS.c.id == key)
            found = self.connection.execute(stated).scalar_one()
        except UNREADABLE:
            return b""
        return found if has_hash(document, found) else content_hash(replace(document, path=""))

    def _documents(self, statement: Select[Any]) -> Iterator[Document]:
        """Yield documents, each compared with its checksums."""
        some_at_once = {"yield_per": _STREAM_ROWS}
        result = self.connection.execute(statement, execution_options=some_at_once)
        for sound, external_id, title, text, labels, *some, sections in result:
            if not sound:
                raise DocumentDamaged(str(external_id), str(some[2]))
            split, date, path, kind, fields = some
            facts = (split, date, path, kind, fields, _as_sections(sections))
            yield Document(title, text, external_id, _names(labels), *facts)


def has_hash(document: Document, stated: bytes) -> bool:
    """Compare a document with its hash: a path of its own is part of it, its file is not."""
    if stated == _TO_BE_READ or content_hash(replace(document, path="")) == stated:
        return True
    return content_hash(document) == stated


def _order(sort: str) -> list[ColumnElement[Any]]:
    """Return what a listing is sorted by; what has no date or title comes last."""
    title = func.lower(DOCUMENTS.c.title)
    columns: dict[str, list[ColumnElement[Any]]] = {
        "added": [],
        "date": [DOCUMENTS.c.date.desc()],  # none is the least
        "oldest": [DOCUMENTS.c.date == "", DOCUMENTS.c.date],
        "title": [DOCUMENTS.c.title == "", title],
        "path": [DOCUMENTS.c.path],
        "id": [DOCUMENTS.c.external_id],
    }
    return [*columns[sort], DOCUMENTS.c.id]


def _names(labels: str) -> tuple[str, ...]:
    return tuple(json.loads(labels))


def _whole(sound: ColumnElement[Any] = _SOUND) -> Select[Any]:
    return select(
        sound,
        DOCUMENTS.c.external_id,
        DOCUMENTS.c.title,
        DOCUMENTS.c.text,
        _LABELS,
        DOCUMENTS.c.split,
        DOCUMENTS.c.date,
        DOCUMENTS.c.path,
        DOCUMENTS.c.media_type,
        DOCUMENTS.c.metadata,
        _SECTIONS,
    )


def _as_sections(stored: list[list[Any]] | None) -> tuple[Section, ...]:
    return tuple(Section(*each) for each in stored or ())
