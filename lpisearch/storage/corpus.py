"""Read documents, labels and tokens."""

from __future__ import annotations

import json
import os
from array import array
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    bindparam,
    case,
    func,
    literal,
    literal_column,
    or_,
    select,
)

from lpisearch.errors import DocumentDamaged, DocumentNotFound, SeveralDocuments
from lpisearch.model.documents import (
    Details,
    Document,
    Entry,
    PredictedLabel,
    Section,
    TokenShard,
    Traits,
)
from lpisearch.storage.dialects import Names, chunks
from lpisearch.storage.filters import DATED, FILE_DATE, among, conditions
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
    TRAITS,
    UNREADABLE,
    DamagedCell,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from lpisearch.model.documents import Filter


_ROWS_AT_ONCE = 500
_UNKNOWN_HASH = bytes(16)  # written by a downgrade that dropped a part of the content
_LARGEST = (1 << 63) - 1  # of the integers of a database

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
# Statements of every search: to build them takes longer than to execute them.
_LABELS_OF = (
    select(LABELS.c.document_id, LABELS.c.name)
    .where(among(LABELS.c.document_id))
    .order_by(LABELS.c.position)
)
_PREDICTED = PREDICTED_LABELS.c
_PREDICTED_OF = (
    select(_PREDICTED.document_id, _PREDICTED.name, _PREDICTED.confidence, _PREDICTED.classifier)
    .where(among(_PREDICTED.document_id))
    .order_by(_PREDICTED.document_id, _PREDICTED.confidence.desc(), _PREDICTED.name)
)


def _details_with(text: ColumnElement[str]) -> Select[Any]:
    columns = DOCUMENTS.c
    return (
        select(
            columns.id,
            columns.external_id,
            columns.title,
            columns.path,
            columns.date,
            text,
            columns.content_hash,
            func.coalesce(TRAITS.c.language, "", type_=Text),
            FILE_DATE,
        )
        .where(among(columns.id))
        .outerjoin(TRAITS, TRAITS.c.document_id == columns.id)
    )


_DETAILS = _details_with(
    func.substr(DOCUMENTS.c.text, 1, bindparam("characters", type_=Integer), type_=Text)
)
_DETAILS_WITHOUT_TEXT = _details_with(literal(""))
_IDENTITIES = select(DOCUMENTS.c.id, DOCUMENTS.c.external_id, DOCUMENTS.c.content_hash).where(
    among(DOCUMENTS.c.id)
)
_PART = select(func.substr(DOCUMENTS.c.text, bindparam("first"), bindparam("size"))).where(
    DOCUMENTS.c.id == bindparam("key")
)
_SECTIONS_OF = select(SECTIONS.c.document_id, SECTIONS.c.sections).where(
    among(SECTIONS.c.document_id)
)
# Whether a document, its labels and its sections match their checksums.
_SOUND: ColumnElement[Any] = ~or_(
    differs(DOCUMENTS), *(part_differs(table, DOCUMENTS) for table in (LABELS, SECTIONS))
)


@dataclass(frozen=True, slots=True)
class SQLDocuments:
    """Documents."""

    connection: Connection

    def find(self, name: str) -> list[int]:
        """Return the key of the document with an id, or of all documents of a file."""
        by_id = select(DOCUMENTS.c.id).where(DOCUMENTS.c.external_id == name)
        key = self.connection.execute(by_id).scalar()
        if key is not None:
            return [key]
        paths = (name, os.path.abspath(name))  # noqa: PTH100 (as paths are made at ingest: links stay)
        by_path = select(DOCUMENTS.c.id).where(DOCUMENTS.c.path.in_(paths))
        return list(self.connection.execute(by_path.order_by(DOCUMENTS.c.id)).scalars())

    def only(self, name: str) -> int:
        """Return the key of the only document with an id or path."""
        keys = self.find(name)
        if not keys:
            raise DocumentNotFound(name)
        if len(keys) > 1:
            raise SeveralDocuments(name, len(keys))
        return keys[0]

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
            _LABELS,
            DOCUMENTS.c.split,
            DOCUMENTS.c.date,
            DOCUMENTS.c.path,
            DOCUMENTS.c.media_type,
        )
        statement = select(*columns).where(*conditions(where)).order_by(*_order(sort))
        if limit >= 0:
            statement = statement.limit(min(limit, _LARGEST))
        page = self.connection.execute(statement.offset(min(offset, _LARGEST))).all()
        predicted = SQLLabels(self.connection).predicted([key for key, *_ in page])
        return [
            Entry(name, title, _names(labels), split, date, path, kind, predicted.get(key, ()))
            for key, name, title, labels, split, date, path, kind in page
        ]

    def details(self, keys: Sequence[int], characters: int = 200_000) -> dict[int, Details]:
        """Return documents with the beginnings of their texts, by key; without missing ones."""
        wanted: dict[str, Any] = {"ids": json.dumps(list(keys))}
        labels = _grouped(self.connection.execute(_LABELS_OF, wanted))
        predicted = SQLLabels(self.connection).predicted(keys)
        if characters:
            wanted["characters"] = characters
        shown = _DETAILS if characters else _DETAILS_WITHOUT_TEXT
        details: dict[int, Details] = {}
        rows = self.connection.execute(shown, wanted)
        for key, name, title, path, date, body, digest, *facts in rows:
            names, shares = tuple(labels.get(key, ())), predicted.get(key, ())
            details[key] = Details(name, title, names, path, date, body, digest, shares, *facts)
        return details

    def identities(self, keys: Sequence[int]) -> dict[int, tuple[str, bytes]]:
        """Return the id and the content hash of documents, by key; without missing ones."""
        rows = self.connection.execute(_IDENTITIES, {"ids": json.dumps(list(keys))})
        return {key: (name, content_hash) for key, name, content_hash in rows}

    def traits_of(self, keys: Iterable[int]) -> dict[int, Traits]:
        """Return what is known about documents, by key; nothing is known about missing ones."""
        table = TRAITS.c
        statement = select(table.document_id, table.language, table.kind, table.reason)
        rows = self.connection.execute(
            statement.where(among(table.document_id)), {"ids": json.dumps(list(keys))}
        )
        return {key: Traits(*facts) for key, *facts in rows}

    def kinds(self) -> dict[str, NDArray[np.int64]]:
        """Return the keys of the documents of each kind, in order."""
        import numpy as np

        statement = select(TRAITS.c.kind, TRAITS.c.document_id).where(TRAITS.c.kind > "")
        keys: dict[str, list[int]] = {}
        for kind, key in self.connection.execute(statement.order_by(TRAITS.c.document_id)):
            keys.setdefault(kind, []).append(key)
        return {kind: np.array(own, np.int64) for kind, own in keys.items()}

    def in_language(self, language: str, *, other: bool = False) -> NDArray[np.int64]:
        """Return the keys of the documents in a language, or in any other, in order."""
        import numpy as np

        column = TRAITS.c.language
        named = (column != language) & (column > "") if other else column == language
        statement = select(TRAITS.c.document_id).where(named).order_by(TRAITS.c.document_id)
        return np.array(self.connection.execute(statement).scalars().all(), np.int64)

    def languages(self) -> dict[str, int]:
        """Return how many documents are in each language, the most frequent first."""
        number = func.count()
        statement = select(TRAITS.c.language, number).group_by(TRAITS.c.language)
        ordered = statement.order_by(number.desc(), TRAITS.c.language)
        return dict(self.connection.execute(ordered.where(TRAITS.c.language > "")).all())

    def texts(
        self, keys: Iterable[int], characters: int | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Yield key, title and text (or its beginning), by key, a few at a time in memory."""
        whole = DOCUMENTS.c.text
        text = whole if characters is None else func.substr(whole, 1, characters, type_=Text)
        for some in chunks(sorted(keys), _ROWS_AT_ONCE):
            statement = select(DOCUMENTS.c.id, DOCUMENTS.c.title, text)
            statement = statement.where(DOCUMENTS.c.id.in_(some))
            rows = self.connection.execute(statement.order_by(DOCUMENTS.c.id))
            for key, title, beginning in rows:  # noqa: UP028 (a Row is typed)
                yield key, title, beginning

    def parts(self, spans: Sequence[tuple[int, int, int]]) -> list[str]:
        """Return the parts of texts at (key, start, end); "" for missing documents."""
        rows = (
            self.connection.execute(_PART, {"key": key, "first": start + 1, "size": end - start})
            for key, start, end in spans
        )
        return [row.scalar() or "" for row in rows]

    def sections(self, keys: Sequence[int]) -> dict[int, tuple[Section, ...]]:
        """Return the sections of documents that have any, by key."""
        rows = self.connection.execute(_SECTIONS_OF, {"ids": json.dumps(list(keys))})
        return {key: _as_sections(stored) for key, stored in rows}

    def count(self, where: Filter) -> int:
        """Return how many documents match a filter."""
        statement = select(func.count()).select_from(DOCUMENTS).where(*conditions(where))
        return self.connection.execute(statement).scalar_one()

    def keys(self) -> list[int]:
        """Return all keys in order."""
        statement = select(DOCUMENTS.c.id).order_by(DOCUMENTS.c.id)
        return list(self.connection.execute(statement).scalars())

    def ids(self) -> dict[int, str]:
        """Return the id of every document, by key."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.external_id)
        return {key: name for key, name in self.connection.execute(statement)}  # noqa: C416 (rows are no tuples to mypy)

    def traits(self) -> list[tuple[int, str, str, str, str, str, str]]:
        """Return key, split, date, path, media type, language and sender of all, by key.

        A document without a date has that of its file.
        """
        table, is_sqlite = DOCUMENTS.c, self.connection.dialect.name == "sqlite"
        read = "json_extract(documents.metadata, '$.from')" if is_sqlite else "metadata->>'from'"
        columns = (table.id, table.split, DATED, table.path, table.media_type)
        language = func.coalesce(TRAITS.c.language, "", type_=Text)
        sender: ColumnElement[Any] = func.coalesce(literal_column(read), "")
        facts = select(*columns, language, sender).outerjoin(
            TRAITS, TRAITS.c.document_id == table.id
        )
        # By the driver's cursor, for speed: every facet count reads all rows.
        rows = self.connection.execute(facts.order_by(table.id)).cursor
        return [] if rows is None else list(rows.fetchall())

    def sort_values(self, sort: str) -> list[tuple[int, str]]:
        """Return the date, the title or the path of every document, by key."""
        column = {"title": DOCUMENTS.c.title, "path": DOCUMENTS.c.path}.get(sort, DATED)
        rows = self.connection.execute(select(DOCUMENTS.c.id, column).order_by(DOCUMENTS.c.id))
        return [(key, value) for key, value in rows]

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
        for sound, external_id, title, text, labels, *facts, sections in result:
            if not sound:
                raise DocumentDamaged(str(external_id), str(facts[2]))
            split, date, path, kind, metadata = facts
            parts = _as_sections(sections)
            names = _names(labels)
            yield Document(
                title, text, external_id, names, split, date, path, kind, metadata, parts
            )


def has_hash(document: Document, stored: bytes) -> bool:
    """Compare a document with its hash, which covers a path of its own but not that of its file."""
    if stored == _UNKNOWN_HASH or content_hash(replace(document, path="")) == stored:
        return True
    return content_hash(document) == stored


def _grouped(rows: Iterable[Any]) -> dict[int, list[str]]:
    """Group (key, name) rows by key."""
    names: dict[int, list[str]] = {}
    for key, name in rows:
        names.setdefault(key, []).append(name)
    return names


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
    return tuple(Section(*values) for values in stored or ())


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

    def by_key(self, where: Filter) -> dict[int, list[str]]:
        """Return the labels of every document that has any."""
        statement = (
            select(LABELS.c.document_id, LABELS.c.name)
            .join(DOCUMENTS, DOCUMENTS.c.id == LABELS.c.document_id)
            .where(*conditions(where))
            .order_by(LABELS.c.document_id, LABELS.c.name)
        )
        return _grouped(self.connection.execute(statement))

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
        """Return predicted labels of documents, most probable first, by key."""
        labels: dict[int, tuple[PredictedLabel, ...]] = {}
        for key, *facts in self.connection.execute(_PREDICTED_OF, {"ids": json.dumps(list(keys))}):
            labels[key] = (*labels.get(key, ()), PredictedLabel(*facts))
        return labels

    def by_hand(self, keys: Iterable[int]) -> dict[str, list[str]]:
        """Return the labels that people added (+) or removed (-), by the ids of documents."""
        statement = (
            select(DOCUMENTS.c.external_id, LABEL_EDITS.c.name, LABEL_EDITS.c.added)
            .join(DOCUMENTS, DOCUMENTS.c.id == LABEL_EDITS.c.document_id)
            .where(among(LABEL_EDITS.c.document_id))
            .order_by(DOCUMENTS.c.id, LABEL_EDITS.c.name)
        )
        rows = self.connection.execute(statement, {"ids": json.dumps(list(keys))})
        edits: dict[str, list[str]] = {}
        for name, label, added in rows:
            edits.setdefault(name, []).append(f"{'+' if added else '-'}{label}")
        return edits

    def rejected(self, keys: Sequence[int]) -> dict[int, set[str]]:
        """Return the labels that people removed from documents, by key."""
        statement = select(LABEL_EDITS.c.document_id, LABEL_EDITS.c.name)
        statement = statement.where(among(LABEL_EDITS.c.document_id), ~LABEL_EDITS.c.added)
        rows = self.connection.execute(statement, {"ids": json.dumps(list(keys))})
        return {key: set(names) for key, names in _grouped(rows).items()}

    def split_counts(self) -> dict[str, int]:
        """Return how many documents are in each split; those in none are left out."""
        statement = (
            select(DOCUMENTS.c.split, func.count())
            .where(DOCUMENTS.c.split != "")
            .group_by(DOCUMENTS.c.split)
            .order_by(DOCUMENTS.c.split)
        )
        return dict(self.connection.execute(statement).all())

    def splits_by_key(self, where: Filter) -> dict[int, str]:
        """Return the split of every document that is in one."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.split).where(DOCUMENTS.c.split != "")
        rows = self.connection.execute(statement.where(*conditions(where)))
        return {key: split for key, split in rows}  # noqa: C416 (rows are no tuples to mypy)


SHARD_DOCUMENTS = 1000
_PAIRS_AT_ONCE, _HASH_BYTES = 10_000, 16


@dataclass(frozen=True, slots=True)
class SQLCorpus:
    """Tokens and content hashes: the input of an index."""

    connection: Connection

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
            self._compare(keys, tokens, checksums)
            yield TokenShard(keys, hashes, tokens)

    def tokens(self, keys: Sequence[int]) -> list[str]:
        """Return the tokens of documents in the order of `keys`; "" for missing ones."""
        by_key: dict[int, str] = {}
        statement = select(TOKENS.c.document_id, TOKENS.c.tokens, TOKENS.c.checksum)
        statement = statement.where(among(TOKENS.c.document_id))
        for some in chunks(keys, SHARD_DOCUMENTS):
            rows = self.connection.execute(statement, {"ids": json.dumps(list(some))})
            for key, tokens, checksum in rows:
                self._compare([key], [tokens], [checksum])
                by_key[key] = tokens
        return [by_key.get(key, "") for key in keys]

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
            .where(*conditions(where))
        )
        documents, characters, in_long_ones = map(int, self.connection.execute(statement).one())
        return documents, characters, in_long_ones

    def count_and_sum(self, where: Filter) -> tuple[int, int]:
        """Return how many documents match a filter and the sum of their keys: cheap to compare."""
        keys = func.coalesce(func.sum(DOCUMENTS.c.id), 0)
        statement = select(func.count(), keys).select_from(DOCUMENTS)
        documents, total = self.connection.execute(statement.where(*conditions(where))).one()
        return documents, int(total)

    def _compare(self, keys: list[int], tokens: list[str], checksums: list[bytes]) -> None:
        """Refuse damaged tokens: nothing must be learned from them."""
        rows = zip(keys, tokens, strict=True)
        if [checksum_of(self.connection, TOKENS.name, *row) for row in rows] != checksums:
            raise DamagedCell("tokens are damaged")
