"""Read documents, labels and tokens by key, in plain SQL.

A question and an ingest that finds nothing new need no other statements, so they do without
SQLAlchemy, whose import takes longer than either. Statements are in SQLite's dialect;
`postgres.database` replaces the few parts that differ.
"""

from __future__ import annotations

import json
import os
import zlib
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from lpisearch.errors import DocumentNotFound, SeveralDocuments
from lpisearch.model.documents import Details, Filter, PredictedLabel, Section, Traits
from lpisearch.storage.integrity import DamagedCell, checksum_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    import numpy as np
    import sqlalchemy
    from numpy.typing import NDArray

# SQL functions that this program adds to SQLite: whether a pattern matches a path (SQLite's own
# GLOB needs exponential time on some patterns), and the checksum of cells, as bytes.
PATH_FUNCTION = "lies_at"
CHECKSUM_FUNCTION = "row_checksum"
_MOST_BYTES = 1 << 30  # as many as SQLite has in a cell
Item = TypeVar("Item")


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Split a sequence into parts of at most some size."""
    return (items[start : start + size] for start in range(0, len(items), size))


class Connection(ABC):
    """A transaction, by plain SQL or by SQLAlchemy."""

    is_server: ClassVar[bool]

    @property
    @abstractmethod
    def core(self) -> sqlalchemy.Connection:
        """The same transaction for SQLAlchemy, which is imported here."""

    @abstractmethod
    def rows(self, statement: str, *values: Any) -> Any:
        """Return a cursor with the rows of a statement in plain SQL."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo all writes so far; the transaction is over."""

    def value(self, statement: str, *values: Any) -> Any:
        """Return the first cell of a statement, or None."""
        row = self.rows(statement, *values).fetchone()
        return None if row is None else row[0]

    def column(self, statement: str, *values: Any) -> list[Any]:
        """Return the first cell of each row of a statement."""
        return [row[0] for row in self.rows(statement, *values)]

    def execute(
        self, statement: sqlalchemy.Executable, values: Any = None, **options: Any
    ) -> sqlalchemy.CursorResult[*tuple[Any, ...]]:
        """Execute a statement of SQLAlchemy."""
        return self.core.execute(statement, values, **options)

    def exec_driver_sql(
        self, statement: str, values: Any = None
    ) -> sqlalchemy.CursorResult[*tuple[Any, ...]]:
        """Execute a statement in the dialect of the database."""
        return self.core.exec_driver_sql(statement, values)


AMONG = "IN (SELECT value FROM json_each(?))"
"""A condition on a column, with any number of keys as JSON in one parameter."""
FILE_TIME = "strftime('%Y-%m-%dT%H:%M:%S', sources.mtime_ns / 1000000000, 'unixepoch', 'localtime')"
FILE_DATE = (
    f"coalesce((SELECT {FILE_TIME} FROM sources "  # noqa: S608 (constants)
    "WHERE sources.id = documents.source_id AND sources.mtime_ns > 0), '')"  # 0: of no file
)
"""When the file of a document was last changed, in local time; "" if it is of no file."""
DATED = f"CASE WHEN documents.date <> '' THEN documents.date ELSE {FILE_DATE} END"
"""The date of a document: as stated, else that of its file."""
SENDER = "json_extract(documents.metadata, '$.from')"
_DETAILS = f"""SELECT documents.id, external_id, title, path, date, substr(text, 1, ?),
coalesce(language, ''), {FILE_DATE} FROM documents
LEFT JOIN document_traits ON document_id = documents.id WHERE documents.id {AMONG}"""  # noqa: S608 (constants)
_DETAILS_WITHOUT_TEXT = _DETAILS.replace("substr(text, 1, ?)", "''")
_DETAIL_TYPES = (int, str, str, str, str, str, str, str)
_IDENTITIES = f"SELECT id, external_id, content_hash FROM documents WHERE id {AMONG}"  # noqa: S608 (constants)
_LABELS = f"SELECT document_id, name FROM labels WHERE document_id {AMONG} ORDER BY position"  # noqa: S608 (constants)
_PREDICTED = f"""SELECT document_id, name, confidence, classifier FROM predicted_labels
WHERE document_id {AMONG} ORDER BY document_id, confidence DESC, name"""  # noqa: S608 (constants)
_SECTIONS = (
    "SELECT document_id, CAST(sections AS VARCHAR) FROM document_sections "  # noqa: S608 (constants)
    f"WHERE document_id {AMONG}"
)
_TOKENS = f"SELECT document_id, tokens, checksum FROM document_tokens WHERE document_id {AMONG}"  # noqa: S608 (constants)
_TRAITS = (
    f"SELECT document_id, language, kind, reason FROM document_traits WHERE document_id {AMONG}"  # noqa: S608 (constants)
)
_KINDS = "SELECT kind, document_id FROM document_traits WHERE kind > '' ORDER BY document_id"
_LANGUAGES = """SELECT language, count(*) FROM document_traits WHERE language > ''
GROUP BY language ORDER BY count(*) DESC, language"""
_EVERY_TRAITS = f"""SELECT documents.id, split, {DATED}, path, media_type,
coalesce(language, ''), coalesce({SENDER}, '') FROM documents
LEFT JOIN document_traits ON document_id = documents.id ORDER BY documents.id"""  # noqa: S608 (constants)
_PATHS = """SELECT documents.id, path, coalesce(language, '') FROM documents
LEFT JOIN document_traits ON document_id = documents.id"""
_HAS_FILE_IN = """SELECT EXISTS (SELECT 1 FROM document_traits
JOIN documents AS one ON one.id = document_id
WHERE language NOT IN ('', ?) AND one.path <> '' AND NOT EXISTS (SELECT 1 FROM documents AS other
WHERE other.source_id = one.source_id AND other.path = one.path AND other.id <> one.id))"""
_BY_HAND = f"""SELECT external_id, name, added FROM label_edits
JOIN documents ON documents.id = document_id WHERE document_id {AMONG}
ORDER BY documents.id, name"""  # noqa: S608 (constants)
_REJECTED = f"SELECT document_id, name FROM label_edits WHERE NOT added AND document_id {AMONG}"  # noqa: S608 (constants)
_SPLITS = "SELECT split, count(*) FROM documents WHERE split <> '' GROUP BY split ORDER BY split"
_ROWS_AT_ONCE = 500


def packed_tokens(tokens: str) -> str | bytes:
    """Return joined tokens as SQLite stores them: compressed where that is shorter."""
    written = tokens.encode()
    compressor = zlib.compressobj(1, zlib.DEFLATED, 13, 5)  # with little memory to prepare
    packed = compressor.compress(written) + compressor.flush()
    return packed if len(packed) < len(written) else tokens


def plain_tokens(stored: str | bytes) -> str:
    """Return what `packed_tokens` was given; damaged bytes have no token. SQL calls it, too."""
    if not isinstance(stored, bytes):
        return stored
    with suppress(zlib.error, UnicodeDecodeError):
        return zlib.decompressobj().decompress(stored, _MOST_BYTES).decode()
    return ""


def checked(rows: Any, *types: type) -> Iterator[Any]:
    """Yield rows; refuse cells of other types: a damaged page may contain anything."""
    for row in rows:
        if tuple(map(type, row)) != types:
            raise DamagedCell
        yield row


@dataclass(frozen=True, slots=True)
class SQLDocuments:
    """Documents by key."""

    connection: Connection

    def find(self, name: str) -> list[int]:
        """Return the key of the document with an id, or of all documents of a file."""
        key = self.connection.value("SELECT id FROM documents WHERE external_id = ?", name)
        if key is not None:
            return [key]
        at = os.path.abspath(name)  # noqa: PTH100 (as paths are made at ingest: links stay)
        by_path = "SELECT id FROM documents WHERE path IN (?, ?) ORDER BY id"
        return self.connection.column(by_path, name, at)

    def only(self, name: str) -> int:
        """Return the key of the only document with an id or path."""
        keys = self.find(name)
        if not keys:
            raise DocumentNotFound(name)
        if len(keys) > 1:
            raise SeveralDocuments(name, len(keys))
        return keys[0]

    def details(self, keys: Sequence[int], characters: int = 200_000) -> dict[int, Details]:
        """Return documents with the beginnings of their texts, by key; without missing ones."""
        ids, own = json.dumps(list(keys)), SQLLabels(self.connection)
        labels, predicted = own.assigned(keys), own.predicted(keys)
        if characters:
            rows = self.connection.rows(_DETAILS, characters, ids)
        else:
            rows = self.connection.rows(_DETAILS_WITHOUT_TEXT, ids)
        details: dict[int, Details] = {}
        for key, name, title, path, date, body, *facts in checked(rows, *_DETAIL_TYPES):
            names, shares = labels.get(key, ()), predicted.get(key, ())
            details[key] = Details(name, title, names, path, date, body, shares, *facts)
        return details

    def identities(self, keys: Sequence[int]) -> dict[int, tuple[str, bytes]]:
        """Return the id and the content hash of documents, by key; without missing ones."""
        rows = checked(self._among(_IDENTITIES, keys), int, str, bytes)
        return {key: (name, content_hash) for key, name, content_hash in rows}

    def traits_of(self, keys: Iterable[int]) -> dict[int, Traits]:
        """Return what is known about documents, by key; nothing is known about missing ones."""
        rows = checked(self._among(_TRAITS, keys), int, str, str, str)
        return {key: Traits(*facts) for key, *facts in rows}

    def kinds(self) -> dict[str, NDArray[np.int64]]:
        """Return the keys of the documents of each kind, in order."""
        import numpy as np

        keys = _grouped((kind, key) for kind, key in self.connection.rows(_KINDS))
        return {kind: np.array(own, np.int64) for kind, own in keys.items()}

    def in_language(self, language: str, *, other: bool = False) -> NDArray[np.int64]:
        """Return the keys of the documents in a language, or in any other, in order."""
        import numpy as np

        which = "language <> ? AND language > ''" if other else "language = ?"
        statement = f"SELECT document_id FROM document_traits WHERE {which} ORDER BY document_id"  # noqa: S608 (constants)
        return np.array(self.connection.column(statement, language), np.int64)

    def languages(self) -> dict[str, int]:
        """Return how many documents are in each language, the most frequent first."""
        return {name: number for name, number in self.connection.rows(_LANGUAGES)}  # noqa: C416 (rows may be no tuples)

    def texts(
        self, keys: Iterable[int], characters: int | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Yield key, title and text (or its beginning), by key, a few at a time in memory."""
        text = "text" if characters is None else f"substr(text, 1, {int(characters)})"
        statement = f"SELECT id, title, {text} FROM documents WHERE id {AMONG} ORDER BY id"  # noqa: S608 (constants)
        for some in chunks(sorted(keys), _ROWS_AT_ONCE):
            yield from checked(self._among(statement, some), int, str, str)

    def parts(self, spans: Sequence[tuple[int, int, int]]) -> list[str]:
        """Return the parts of texts at (key, start, end); "" for missing documents."""
        part = "SELECT substr(text, ?, ?) FROM documents WHERE id = ?"
        return [
            self.connection.value(part, start + 1, end - start, key) or ""
            for key, start, end in spans
        ]

    def sections(self, keys: Sequence[int]) -> dict[int, tuple[Section, ...]]:
        """Return the sections of documents that have any, by key."""
        rows = self._among(_SECTIONS, keys)
        return {key: tuple(starmap(Section, json.loads(stored))) for key, stored in rows}

    def tokens(self, keys: Sequence[int]) -> list[str]:
        """Return the tokens of documents in the order of `keys`; "" for missing ones."""
        by_key: dict[int, str] = {}
        for some in chunks(keys, 2 * _ROWS_AT_ONCE):
            for key, tokens, checksum in self._among(_TOKENS, some):
                if checksum_of(self.connection, "document_tokens", key, tokens) != checksum:
                    raise DamagedCell("tokens are damaged")
                by_key[key] = plain_tokens(tokens)
        return [by_key.get(key, "") for key in keys]

    def keys(self) -> list[int]:
        """Return all keys in order."""
        return self.connection.column("SELECT id FROM documents ORDER BY id")

    def ids(self) -> dict[int, str]:
        """Return the id of every document, by key."""
        rows = self.connection.rows("SELECT id, external_id FROM documents")
        return dict(checked(rows, int, str))

    def traits(self) -> list[tuple[int, str, str, str, str, str, str]]:
        """Return key, split, date, path, media type, language and sender of all, by key.

        A document without a date has that of its file.
        """
        return list(self.connection.rows(_EVERY_TRAITS))

    def paths(self, language: str) -> dict[int, tuple[str, str]]:
        """Return path and language of all, by key; {} if all files are in one language."""
        rows = self.connection.rows(_PATHS) if self.connection.value(_HAS_FILE_IN, language) else ()
        return {key: (path, language) for key, path, language in rows}

    def sort_values(self, sort: str) -> list[tuple[int, str]]:
        """Return the date, the title or the path of every document, by key."""
        column = {"title": "title", "path": "path"}.get(sort, DATED)
        statement = f"SELECT id, {column} FROM documents ORDER BY id"  # noqa: S608 (constants)
        return list(checked(self.connection.rows(statement), int, str))

    def count_and_sum(self, where: Filter) -> tuple[int, int]:
        """Return how many documents match a filter and the sum of their keys: cheap to compare."""
        if where != Filter():
            from lpisearch.storage.corpus import count_matching

            return count_matching(self.connection, where)
        statement = "SELECT count(*), coalesce(sum(id), 0) FROM documents"
        documents, total = self.connection.rows(statement).fetchone()
        return documents, int(total)

    def _among(self, statement: str, keys: Iterable[int]) -> Any:
        return self.connection.rows(statement, json.dumps(list(keys)))


def _grouped(rows: Iterable[Any]) -> dict[Any, list[Any]]:
    """Group (key, name) rows by key."""
    names: dict[Any, list[Any]] = {}
    for key, name in rows:
        names.setdefault(key, []).append(name)
    return names


@dataclass(frozen=True, slots=True)
class SQLLabels:
    """Labels."""

    connection: Connection

    def names(self) -> list[str]:
        """Return all labels, each once, in order."""
        return self.connection.column("SELECT DISTINCT name FROM labels ORDER BY name")

    def counts(self) -> dict[str, int]:
        """Return how many documents have each label, by name."""
        return self._counts("labels")

    def pairs(self) -> list[tuple[int, str]]:
        """Return (key, label) of every label of every document."""
        return list(self.connection.rows("SELECT document_id, name FROM labels"))

    def predicted_counts(self) -> dict[str, int]:
        """Return for how many documents each label was predicted, by name."""
        return self._counts("predicted_labels")

    def assigned(self, keys: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Return the labels of documents that have any, by key."""
        rows = self.connection.rows(_LABELS, json.dumps(list(keys)))
        return {key: tuple(names) for key, names in _grouped(checked(rows, int, str)).items()}

    def predicted(self, keys: Sequence[int]) -> dict[int, tuple[PredictedLabel, ...]]:
        """Return predicted labels of documents, most probable first, by key."""
        labels: dict[int, tuple[PredictedLabel, ...]] = {}
        rows = self.connection.rows(_PREDICTED, json.dumps(list(keys)))
        for key, *facts in checked(rows, int, str, float, str):
            labels[key] = (*labels.get(key, ()), PredictedLabel(*facts))
        return labels

    def by_hand(self, keys: Iterable[int]) -> dict[str, list[str]]:
        """Return the labels that people added (+) or removed (-), by the ids of documents."""
        edits: dict[str, list[str]] = {}
        for name, label, added in self.connection.rows(_BY_HAND, json.dumps(list(keys))):
            edits.setdefault(name, []).append(f"{'+' if added else '-'}{label}")
        return edits

    def rejected(self, keys: Sequence[int]) -> dict[int, set[str]]:
        """Return the labels that people removed from documents, by key."""
        rows = _grouped(self.connection.rows(_REJECTED, json.dumps(list(keys))))
        return {key: set(names) for key, names in rows.items()}

    def split_counts(self) -> dict[str, int]:
        """Return how many documents are in each split; those in none are left out."""
        return {name: number for name, number in self.connection.rows(_SPLITS)}  # noqa: C416 (rows may be no tuples)

    def _counts(self, table: str) -> dict[str, int]:
        rows = self.connection.rows(
            f"SELECT name, count(*) FROM {table} GROUP BY name ORDER BY name"  # noqa: S608 (a constant)
        )
        return {name: number for name, number in rows}  # noqa: C416 (rows may be no tuples)


class Prefix(str):
    """The beginning of a token, for all tokens that start with it."""

    __slots__ = ()


class Demands(Protocol):
    """Phrases that must and must not occur in a document."""

    @property
    def phrases(self) -> Sequence[Sequence[str]]:
        """Each must occur."""

    @property
    def excluded(self) -> Sequence[Sequence[str]]:
        """None may occur."""


@dataclass(frozen=True, slots=True)
class SQLLexical(ABC):
    """The database's own index over the tokens.

    A phrase occurs where its tokens are adjacent in a document. A token may be a `Prefix`.
    """

    connection: Connection

    @abstractmethod
    def candidates(self, alternatives: Sequence[Sequence[str]]) -> set[int]:
        """Return the documents that may contain a phrase whose tokens may each be one of several.

        Where each token is a single one, they are adjacent; else in any order. A long phrase may be
        matched by its beginning only.
        """

    @abstractmethod
    def some_with(self, token: str, limit: int) -> list[int]:
        """Return a few documents that contain a token."""

    @abstractmethod
    def bm25(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (key, BM25) of each document that contains any of the tokens, in order of keys.

        Higher is better. A token that is passed twice counts twice. `allowed` restricts the
        documents and does not change their scores.
        """

    @abstractmethod
    def count_terms(self, least_documents: int) -> int:
        """Return how many terms occur in at least some number of documents of the whole library."""

    @abstractmethod
    def terms_between(self, *ranges: tuple[str, str]) -> list[tuple[str, int]]:
        """Return the terms in any of the half-open ranges, with their document frequencies."""

    @abstractmethod
    def _keys_with_any(self, phrases: Sequence[Sequence[str]]) -> Iterable[int]:
        """Return the documents that contain any of the phrases."""

    def allowed(self, where: Filter, demands: Demands | None = None) -> set[int] | None:
        """Return the keys that match a filter and meet the demands; None without restrictions."""
        phrases = [phrase for phrase in demands.phrases if phrase] if demands else []
        excluded = [phrase for phrase in demands.excluded if phrase] if demands else []
        if where == Filter() and not phrases and not excluded:
            return None
        allowed: set[int] | None = None
        for phrase in phrases:
            found = set(self._keys_with_any([phrase]))
            allowed = found if allowed is None else allowed & found
            if not allowed:
                return set()
        if where != Filter():
            from lpisearch.storage.corpus import matching

            keys = matching(self.connection, where)
            allowed = keys if allowed is None else allowed & keys
        elif allowed is None:
            allowed = set(SQLDocuments(self.connection).keys())
        return allowed.difference(self._keys_with_any(excluded))
