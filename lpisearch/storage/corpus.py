"""Read documents, labels and tokens by a filter, and whole documents."""

from __future__ import annotations

import glob
import os
import re
from array import array
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, String, Table, and_, case, func, literal, or_, select

from lpisearch.errors import BadOption, DocumentDamaged
from lpisearch.model.document_filter import media_types
from lpisearch.model.documents import LANGUAGE_CODES, Document, Entry, Filter, TokenShard
from lpisearch.storage.dialects import Dated, HasMetadata, LiesAt, ListedIn, differs, part_differs
from lpisearch.storage.integrity import DamagedCell, checksum_of, content_hash, fingerprint
from lpisearch.storage.reading import Connection, SQLDocuments, SQLLabels, chunks, plain_tokens
from lpisearch.storage.tables import (
    DOCUMENTS,
    LABELS,
    PREDICTED_LABELS,
    SECTIONS,
    TOKENS,
    TRAITS,
    UNREADABLE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray


_DATE = re.compile(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ][\d:.,]+(Z|[+-][\d:]+)?)?)?)?", re.ASCII
)
_FOUND_OUT = ("language", "kind")  # what is known besides the metadata of files
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
DATED = Dated()


def matching(connection: Connection, where: Filter) -> set[int]:
    """Return the keys of the documents that match a filter."""
    statement = select(DOCUMENTS.c.id).where(*conditions(where))
    return set(connection.execute(statement).scalars())


def count_matching(connection: Connection, where: Filter) -> tuple[int, int]:
    """Return how many documents match a filter and the sum of their keys."""
    counted = func.count(), func.coalesce(func.sum(DOCUMENTS.c.id), 0)
    documents, total = connection.execute(select(*counted).where(*conditions(where))).one()
    return documents, int(total)


def conditions(where: Filter) -> list[ColumnElement[bool]]:
    """Return a filter as SQL conditions on documents; raise BadOption for an invalid date.

    Dates are compared as written, whatever their time zone. A document dated by its year or month
    counts as of the first day.
    """
    clauses: list[ColumnElement[bool]] = []
    if where.labels or where.predicted:
        labelled = (LABELS, where.labels), (PREDICTED_LABELS, where.predicted)
        clauses.append(or_(*(_labelled(table, names) for table, names in labelled if names)))
    if where.path:
        clauses.append(_lies_at(where.path, where.here, exact=where.exact))
    if where.folders:
        clauses.append(or_(*(_lies_at(glob.escape(one), "", exact=False) for one in where.folders)))
    if where.formats:
        kinds = [kind for one in where.formats for kind in media_types(one)]
        clauses.append(DOCUMENTS.c.media_type.in_(kinds))
    if where.languages:
        clauses.append(or_(*(_has_metadata("language", one) for one in where.languages)))
    if where.senders:
        clauses.append(or_(*(_has_metadata("from", one) for one in where.senders)))
    if where.split:
        clauses.append(DOCUMENTS.c.split == where.split)
    if where.media_type:
        clauses.append(DOCUMENTS.c.media_type.in_(media_types(where.media_type)))
    if where.since or where.until or where.undated:
        clauses.append(_dated(where))
    clauses += [_has_metadata(key, value) for key, value in where.metadata]
    return clauses


def _dated(where: Filter) -> ColumnElement[bool]:
    clauses = [DATED != ""]
    if where.since:
        clauses.append(_full_date(DATED) >= _full_date(_date("since", where.since)))
    if where.until:
        # "~" sorts after anything that may follow in a date.
        clauses.append(_full_date(DATED) <= _date("until", where.until) + "~")
    if not where.undated:
        return and_(*clauses)
    return or_(DATED == "", and_(*clauses)) if len(clauses) > 1 else DATED == ""


def _has_metadata(key: str, value: str) -> ColumnElement[bool]:
    number = float(value) if _NUMBER.fullmatch(value) else None
    clause: ColumnElement[bool] = HasMetadata(DOCUMENTS.c.metadata, key, value, number)
    if key not in _FOUND_OUT:
        return clause
    name = LANGUAGE_CODES.get(value, value) if key == "language" else value
    known = select(TRAITS.c.document_id).where(TRAITS.c[key] == name)
    return or_(DOCUMENTS.c.id.in_(known), clause)


def among(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return a condition that takes any number of keys, as JSON in the parameter `ids`."""
    return ListedIn(column)


def _labelled(table: Table, names: Sequence[str]) -> ColumnElement[bool]:
    labelled = select(table.c.document_id).where(table.c.name.in_(names))
    return DOCUMENTS.c.id.in_(labelled)


def _lies_at(path: str, here: str, *, exact: bool) -> ColumnElement[bool]:
    """Return the condition that a pattern matches the id or path, also relative to a folder.

    Unless `exact`, a relative path without the signs of a glob matches below any folder.
    """
    clauses = [LiesAt(path, DOCUMENTS.c.external_id), LiesAt(path, DOCUMENTS.c.path)]
    name = path.rstrip("/")
    if name and not exact and not (name.startswith(("/", ".")) or glob.has_magic(name)):
        clauses += [
            LiesAt(f"*/{name}", column) for column in (DOCUMENTS.c.external_id, DOCUMENTS.c.path)
        ]
    if here:
        below = os.path.normpath(os.path.join(glob.escape(here), path))  # noqa: PTH118 (as typed)
        clauses.append(LiesAt(below, DOCUMENTS.c.path))
    return or_(*clauses)


def _date(option: str, value: str) -> ColumnElement[str]:
    if not _DATE.fullmatch(value):
        raise BadOption(option, f"“{value}” is not a date such as 2024, 2024-05 or 2024-05-31")
    return literal(value.replace(" ", "T"))


def _full_date(date: ColumnElement[str] | Any) -> ColumnElement[str]:
    """Return a date in full: of a year or month, its first day."""
    rest = func.substr("0000-01-01", func.length(date) + 1, type_=String)
    return func.replace(date, " ", "T", type_=String) + rest


_ROWS_AT_ONCE = 500
_UNKNOWN_HASH = bytes(16)  # written by a downgrade that dropped a part of the content
_LARGEST = (1 << 63) - 1  # of the integers of a database

# Whether a document, its labels and its sections match their checksums.
_SOUND: ColumnElement[Any] = ~or_(
    differs(DOCUMENTS), *(part_differs(table, DOCUMENTS) for table in (LABELS, SECTIONS))
)


def has_hash(document: Document, stored: bytes) -> bool:
    """Compare a document with its hash, which covers a path of its own but not that of its file."""
    if stored == _UNKNOWN_HASH or content_hash(replace(document, path="")) == stored:
        return True
    return content_hash(document) == stored


def _order(sort: str) -> list[ColumnElement[Any]]:
    """Return the sort columns of a listing; documents without a date or title come last."""
    title = func.lower(DOCUMENTS.c.title)
    columns: dict[str, list[ColumnElement[Any]]] = {
        "added": [],
        "date": [DATED.desc()],
        "oldest": [DATED == "", DATED],
        "title": [DOCUMENTS.c.title == "", title],
        "path": [DOCUMENTS.c.path],
        "id": [DOCUMENTS.c.external_id],
    }
    return [*columns[sort], DOCUMENTS.c.id]


def _whole(sound: ColumnElement[Any] = _SOUND) -> Select[Any]:
    return select(
        DOCUMENTS.c.id,
        sound,
        DOCUMENTS.c.title,
        DOCUMENTS.c.text,
        DOCUMENTS.c.external_id,
        DOCUMENTS.c.split,
        DOCUMENTS.c.date,
        DOCUMENTS.c.path,
        DOCUMENTS.c.media_type,
        DOCUMENTS.c.metadata,
    )


SHARD_DOCUMENTS = 1000
_PAIRS_AT_ONCE, _HASH_BYTES = 10_000, 16


@dataclass(frozen=True, slots=True)
class SQLCorpus:
    """Documents, and the input of an index: tokens, labels and content hashes."""

    connection: Connection

    def load(self, keys: Sequence[int]) -> list[Document]:
        """Return documents in the order of their keys, without those that no longer exist."""
        return [
            document
            for some in chunks(sorted(keys), _ROWS_AT_ONCE)
            for document in self._documents(_whole().where(DOCUMENTS.c.id.in_(some)))
        ]

    def stream(self, where: Filter) -> Iterator[Document]:
        """Yield documents in the order of their keys, a few at a time in memory."""
        return self._documents(_whole().where(*conditions(where)))

    def entries(self, where: Filter, limit: int, offset: int, sort: str = "added") -> list[Entry]:
        """Return a page of the listing, or all of it at a limit of -1."""
        columns = (
            DOCUMENTS.c.id,
            DOCUMENTS.c.external_id,
            DOCUMENTS.c.title,
            DOCUMENTS.c.split,
            DOCUMENTS.c.date,
            DOCUMENTS.c.path,
            DOCUMENTS.c.media_type,
        )
        statement = select(*columns).where(*conditions(where)).order_by(*_order(sort))
        if limit >= 0:
            statement = statement.limit(min(limit, _LARGEST))
        page = self.connection.execute(statement.offset(min(offset, _LARGEST))).all()
        keys, labels = [key for key, *_ in page], SQLLabels(self.connection)
        assigned, predicted = labels.assigned(keys), labels.predicted(keys)
        return [
            Entry(
                name, title, assigned.get(key, ()), split, date, path, kind, predicted.get(key, ())
            )
            for key, name, title, split, date, path, kind in page
        ]

    def labels(self, where: Filter) -> dict[int, list[str]]:
        """Return the labels of every document that has any."""
        statement = (
            select(LABELS.c.document_id, LABELS.c.name)
            .join(DOCUMENTS, DOCUMENTS.c.id == LABELS.c.document_id)
            .where(*conditions(where))
            .order_by(LABELS.c.document_id, LABELS.c.name)
        )
        labels: dict[int, list[str]] = {}
        for key, name in self.connection.execute(statement):
            labels.setdefault(key, []).append(name)
        return labels

    def splits(self, where: Filter) -> dict[int, str]:
        """Return the split of every document that is in one."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.split).where(DOCUMENTS.c.split != "")
        rows = self.connection.execute(statement.where(*conditions(where)))
        return {key: split for key, split in rows}  # noqa: C416 (rows are no tuples to mypy)

    def altered(self, keys: Sequence[int]) -> list[int]:
        """Return the documents whose content does not match their content hash."""
        statement = select(DOCUMENTS.c.content_hash).where(DOCUMENTS.c.id.in_(keys))
        hashes = self.connection.execute(statement.order_by(DOCUMENTS.c.id)).scalars()
        rows = zip(sorted(keys), self.load(keys), hashes, strict=True)
        return [key for key, document, stored in rows if not has_hash(document, stored)]

    def computed_hash(self, key: int) -> bytes:
        """Return the content hash of a damaged document as it is now; b"" if unreadable."""
        try:
            (document,) = self._documents(_whole(literal(1)).where(DOCUMENTS.c.id == key))
            statement = select(DOCUMENTS.c.content_hash).where(DOCUMENTS.c.id == key)
            stored = self.connection.execute(statement).scalar_one()
        except UNREADABLE:
            return b""
        return stored if has_hash(document, stored) else content_hash(replace(document, path=""))

    def _documents(self, statement: Select[Any]) -> Iterator[Document]:
        """Yield documents, each compared with its checksums."""
        streamed = {"yield_per": _ROWS_AT_ONCE}
        result = self.connection.execute(
            statement.order_by(DOCUMENTS.c.id), execution_options=streamed
        )
        for rows in result.partitions():
            keys = [row[0] for row in rows]
            labels = SQLLabels(self.connection).assigned(keys)
            sections = SQLDocuments(self.connection).sections(keys)
            for key, sound, title, text, name, split, date, path, kind, metadata in rows:
                if not sound:
                    raise DocumentDamaged(str(name), str(path))
                names, parts = labels.get(key, ()), sections.get(key, ())
                yield Document(title, text, name, names, split, date, path, kind, metadata, parts)

    def shards(self, where: Filter, between: tuple[int, int] | None = None) -> Iterator[TokenShard]:
        """Yield the tokens of documents that match a filter, some at a time, by key.

        `between` restricts them to a range of keys, both ends included.
        """
        within = () if between is None else (DOCUMENTS.c.id.between(*between),)
        statement = (
            select(DOCUMENTS.c.id, DOCUMENTS.c.content_hash, TOKENS.c.tokens, TOKENS.c.checksum)
            .join(TOKENS, TOKENS.c.document_id == DOCUMENTS.c.id)
            .where(*conditions(where), *within)
            .order_by(DOCUMENTS.c.id)
        )
        # An option of this statement: set on the connection, it would stay there.
        streamed = {"yield_per": SHARD_DOCUMENTS}
        result = self.connection.execute(statement, execution_options=streamed)
        for rows in result.partitions():
            keys, hashes, tokens, checksums = (list(column) for column in zip(*rows, strict=True))
            stored = zip(keys, tokens, strict=True)
            if [checksum_of(self.connection, TOKENS.name, *row) for row in stored] != checksums:
                raise DamagedCell("tokens are damaged")  # nothing must be learned from them
            yield TokenShard(keys, hashes, [*map(plain_tokens, tokens)])

    def content_hashes(self, where: Filter) -> dict[int, bytes]:
        """Return the content hash of every document that matches a filter, in order of keys."""
        return dict(self.stream_hashes(where))

    def fingerprint(self, where: Filter) -> str:
        """Return the digest of the keys and contents of documents."""
        return fingerprint(self.stream_hashes(where))

    def keys_and_hashes(self, where: Filter) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the keys of documents in order, and their content hashes as rows."""
        import numpy as np

        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.content_hash).where(*conditions(where))
        keys, hashes = array("q"), bytearray()
        with closing(self.connection.execute(statement.order_by(DOCUMENTS.c.id))) as result:
            cursor: Any = result.cursor  # rows of SQLAlchemy take twice as long
            while some := cursor.fetchmany(_PAIRS_AT_ONCE):
                own, contents = zip(*some, strict=True)
                keys.extend(own)
                hashes += b"".join(contents)
        rows = np.frombuffer(hashes, np.uint8).reshape(-1, _HASH_BYTES)
        return np.frombuffer(keys, np.int64), rows

    def stream_hashes(self, where: Filter) -> Iterator[tuple[int, bytes]]:
        """Yield key and content hash of every document that matches a filter, in order of keys."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.content_hash).where(*conditions(where))
        statement = statement.order_by(DOCUMENTS.c.id)
        streamed = {"yield_per": _PAIRS_AT_ONCE}
        for row in self.connection.execute(statement, execution_options=streamed):
            yield row[0], row[1]

    def size(self, where: Filter, long: int = 0) -> tuple[int, int, int]:
        """Return how many documents match a filter, and the characters of their tokens.

        The third number is that of characters in documents with at least `long` of them.
        """
        tokens = TOKENS.c.tokens
        length = func.length(tokens if self.connection.is_server else func.plain_tokens(tokens))
        in_long = case((length >= long, length), else_=0)
        statement = (
            select(
                func.count(),
                func.coalesce(func.sum(length), 0),
                func.coalesce(func.sum(in_long), 0),
            )
            .select_from(DOCUMENTS)
            .join(TOKENS, TOKENS.c.document_id == DOCUMENTS.c.id)
            .where(*conditions(where))
        )
        documents, characters, in_long_ones = map(int, self.connection.execute(statement).one())
        return documents, characters, in_long_ones
