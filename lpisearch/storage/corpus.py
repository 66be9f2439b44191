"""Read documents, labels, tokens."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, bindparam, case, func, literal, or_, select

from lpisearch.errors import DocumentDamaged, DocumentNotFound, SeveralDocuments
from lpisearch.model.documents import Details, Document, Entry, PredictedLabel, Section, TokenShard
from lpisearch.storage.dialects import Names
from lpisearch.storage.filters import among, conditions
from lpisearch.storage.integrity import (
    checksum_of,
    content_hash,
    differs,
    fingerprint,
    part_differs,
)
from lpisearch.storage.tables import (
    DOCUMENTS,
    LABEL_EDITS,
    LABELS,
    PREDICTED_LABELS,
    SECTIONS,
    TOKENS,
    UNREADABLE,
    DamagedCell,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from lpisearch.model.documents import Filter


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
        """Return the key of the one document that an id or a path means."""
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
        """Return a page of the listing; all of it at a limit of -1."""
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
        """Return what is shown of documents, by key; one that is gone is left out."""
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
        """Return how many documents pass a filter."""
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


@dataclass(frozen=True, slots=True)
class SQLLabels:
    """Labels and splits."""

    connection: Connection

    def names(self) -> list[str]:
        """Return all labels, each once, in order."""
        statement = select(LABELS.c.name).distinct().order_by(LABELS.c.name)
        return list(self.connection.execute(statement).scalars())

    def counts(self) -> dict[str, int]:
        """Return how many documents have each label, by name."""
        statement = select(LABELS.c.name, func.count()).group_by(LABELS.c.name)
        return dict(self.connection.execute(statement.order_by(LABELS.c.name)).all())

    def by_key(self, wanted: Filter) -> dict[int, list[str]]:
        """Return the labels of every document that has any."""
        statement = (
            select(LABELS.c.document_id, LABELS.c.name)
            .join(DOCUMENTS, DOCUMENTS.c.id == LABELS.c.document_id)
            .where(*conditions(wanted))
            .order_by(LABELS.c.document_id, LABELS.c.name)
        )
        found: dict[int, list[str]] = {}
        for key, name in self.connection.execute(statement):
            found.setdefault(key, []).append(name)
        return found

    def pairs(self) -> list[tuple[int, str]]:
        """Return (key, label) of every label of every document."""
        rows = self.connection.exec_driver_sql("SELECT document_id, name FROM labels").cursor
        return [] if rows is None else list(rows.fetchall())

    def predicted_counts(self) -> dict[str, int]:
        """Return for how many documents each label was predicted, by name."""
        name = PREDICTED_LABELS.c.name
        statement = select(name, func.count()).group_by(name).order_by(name)
        return dict(self.connection.execute(statement).all())

    def predicted(self, keys: Sequence[int]) -> dict[int, tuple[PredictedLabel, ...]]:
        """Return what was predicted for documents, most probable first, by key."""
        table = PREDICTED_LABELS.c
        statement = select(table.document_id, table.name, table.confidence, table.classifier)
        chosen = statement.where(among(table.document_id)).order_by(
            table.document_id, table.confidence.desc(), table.name
        )
        found: dict[int, tuple[PredictedLabel, ...]] = {}
        for key, *said in self.connection.execute(chosen, {"ids": json.dumps(list(keys))}):
            found[key] = (*found.get(key, ()), PredictedLabel(*said))
        return found

    def rejected(self, keys: Sequence[int]) -> dict[int, set[str]]:
        """Return the labels that people took away from documents, by key."""
        statement = select(LABEL_EDITS.c.document_id, LABEL_EDITS.c.name)
        chosen = statement.where(among(LABEL_EDITS.c.document_id), ~LABEL_EDITS.c.added)
        found: dict[int, set[str]] = {}
        for key, name in self.connection.execute(chosen, {"ids": json.dumps(list(keys))}):
            found.setdefault(key, set()).add(name)
        return found

    def split_counts(self) -> dict[str, int]:
        """Return how many documents are in each split; those in none are left out."""
        statement = (
            select(DOCUMENTS.c.split, func.count())
            .where(DOCUMENTS.c.split != "")
            .group_by(DOCUMENTS.c.split)
            .order_by(DOCUMENTS.c.split)
        )
        return dict(self.connection.execute(statement).all())

    def splits_by_key(self, wanted: Filter) -> dict[int, str]:
        """Return the split of every document that is in one."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.split).where(DOCUMENTS.c.split != "")
        rows = self.connection.execute(statement.where(*conditions(wanted)))
        return {key: split for key, split in rows}  # noqa: C416 (rows are no tuples to mypy)


SHARD_DOCUMENTS = 1000
_PAIRS_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class SQLCorpus:
    """What is counted and learned from."""

    connection: Connection

    def shards(
        self, wanted: Filter, between: tuple[int, int] | None = None
    ) -> Iterator[TokenShard]:
        """Yield the tokens of all documents that pass a filter, some at a time, by key.

        With `between`, only those from one key to another, both included.
        """
        within = () if between is None else (DOCUMENTS.c.id.between(*between),)
        statement = (
            select(DOCUMENTS.c.id, DOCUMENTS.c.content_hash, TOKENS.c.tokens, TOKENS.c.checksum)
            .join(TOKENS, TOKENS.c.document_id == DOCUMENTS.c.id)
            .where(*conditions(wanted), *within)
            .order_by(DOCUMENTS.c.id)
        )
        some_at_once = {"yield_per": SHARD_DOCUMENTS}  # a connection would keep it
        result = self.connection.execute(statement, execution_options=some_at_once)
        for rows in result.partitions():
            keys, hashes, tokens, checksums = (list(column) for column in zip(*rows, strict=True))
            self._compare(keys, tokens, checksums)
            yield TokenShard(keys, hashes, tokens)

    def tokens(self, keys: Sequence[int]) -> list[str]:
        """Return the tokens of documents, in the order of the keys given; "" if lost."""
        found: dict[int, str] = {}
        for start in range(0, len(keys), SHARD_DOCUMENTS):
            some = keys[start : start + SHARD_DOCUMENTS]
            statement = select(TOKENS.c.document_id, TOKENS.c.tokens, TOKENS.c.checksum)
            rows = self.connection.execute(statement.where(TOKENS.c.document_id.in_(some)))
            for key, tokens, stated in rows:
                self._compare([key], [tokens], [stated])
                found[key] = tokens
        return [found.get(key, "") for key in keys]

    def content_hashes(self, wanted: Filter) -> dict[int, bytes]:
        """Return the content hash of every document that passes a filter, in order of keys."""
        return dict(self.stream_hashes(wanted))

    def fingerprint(self, wanted: Filter) -> str:
        """Return the digest of the keys and contents of documents, read as a stream."""
        return fingerprint(self.stream_hashes(wanted))

    def stream_hashes(self, wanted: Filter) -> Iterator[tuple[int, bytes]]:
        """Yield key and content hash of every document that passes a filter, in order of keys."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.content_hash).where(*conditions(wanted))
        statement = statement.order_by(DOCUMENTS.c.id)
        some_at_once = {"yield_per": _PAIRS_AT_ONCE}  # a connection would keep it
        for row in self.connection.execute(statement, execution_options=some_at_once):
            yield row[0], row[1]

    def size(self, wanted: Filter, long: int = 0) -> tuple[int, int, int]:
        """Return how many documents pass a filter, and the characters of their tokens.

        Third, the characters of those documents that have `long` or more.
        """
        length = func.length(TOKENS.c.tokens)
        in_long = case((length >= long, length), else_=0)
        statement = (
            select(
                func.count(),
                func.coalesce(func.sum(length), 0),
                func.coalesce(func.sum(in_long), 0),
            )
            .select_from(DOCUMENTS)
            .join(TOKENS, TOKENS.c.document_id == DOCUMENTS.c.id)
            .where(*conditions(wanted))
        )
        found = self.connection.execute(statement).one()
        documents, characters, in_long_ones = map(int, found)
        return documents, characters, in_long_ones

    def count_and_sum(self, wanted: Filter) -> tuple[int, int]:
        """Return how many documents pass a filter, and the sum of their keys: cheap to compare."""
        keys = func.coalesce(func.sum(DOCUMENTS.c.id), 0)
        statement = select(func.count(), keys).select_from(DOCUMENTS)
        documents, total = self.connection.execute(statement.where(*conditions(wanted))).one()
        return documents, int(total)

    def _compare(self, keys: list[int], tokens: list[str], checksums: list[bytes]) -> None:
        """Refuse tokens that are not as they were written: nothing is to be learned from them."""
        rows = zip(keys, tokens, strict=True)
        if [checksum_of(self.connection, TOKENS.name, *row) for row in rows] != checksums:
            raise DamagedCell("tokens are damaged")
