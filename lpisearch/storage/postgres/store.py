"""PostgreSQL store, transactions, changes, sources, index files and health.

The server checks its own pages. The checks here look for changes by other programs, and compare the
full-text index with the tokens.
"""

from __future__ import annotations

import platform
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import psycopg
from sqlalchemy import Table, select, text

from lpisearch.errors import LibraryError
from lpisearch.model.documents import DocumentRow, Finding, Source
from lpisearch.storage.changes import SQLChanges
from lpisearch.storage.dialects import columns_of, sealed
from lpisearch.storage.health import Origin, SQLHealth, full_text_finding
from lpisearch.storage.integrity import damaged
from lpisearch.storage.metadata import SQLSources
from lpisearch.storage.postgres import schema
from lpisearch.storage.postgres.database import connect, copy_rows, state_token
from lpisearch.storage.postgres.fulltext import PostgreSQLLexical, as_vector
from lpisearch.storage.store import ReadTransaction, Store, Transaction
from lpisearch.storage.tables import DOCUMENTS, LABELS, METADATA, SOURCES, TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lpisearch.location import Address
    from lpisearch.storage.integrity import Cell
    from lpisearch.storage.postgres.pgvector import ExportedVectors
    from lpisearch.storage.postgres.search_tables import SearchTables
    from lpisearch.storage.reading import Connection


class PostgreSQLReadTransaction(ReadTransaction):
    """One unchanging state of a library."""

    @cached_property
    def lexical(self) -> PostgreSQLLexical:
        """The index over the tokens."""
        return PostgreSQLLexical(self._connection)

    @cached_property
    def sources(self) -> PostgreSQLSources:
        """The files that documents came from, and on which machine each is."""
        return PostgreSQLSources(self._connection)

    @cached_property
    def index_files(self) -> IndexFiles:
        """The files of indexes that are kept in the database."""
        return IndexFiles(self._connection)

    @cached_property
    def vectors(self) -> ExportedVectors:
        """Vectors for other programs, by pgvector."""
        from lpisearch.storage.postgres.pgvector import ExportedVectors

        return ExportedVectors(self._connection)

    @cached_property
    def search_tables(self) -> SearchTables:
        """Tables with which the database searches."""
        from lpisearch.storage.postgres.search_tables import SearchTables

        return SearchTables(self._connection)

    def state(self) -> str:
        """Return a mark of this state: two snapshots with the same mark hold the same."""
        return state_token(self._connection)


class PostgreSQLTransaction(Transaction, PostgreSQLReadTransaction):
    """Changes that are committed as a whole or not at all."""

    @cached_property
    def changes(self) -> PostgreSQLChanges:
        """Writes of documents."""
        return PostgreSQLChanges(self._connection)

    @cached_property
    def health(self) -> PostgreSQLHealth:
        """Damage and its repair."""
        return PostgreSQLHealth(self._connection)


_SIZE = text(
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class "
    "WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'm')"
)


_QUERIED = "documents, document_terms, document_tokens, document_traits, labels"
_VACUUM = f"VACUUM (ANALYZE, SKIP_LOCKED) {_QUERIED}"


class LibraryStore(Store):
    """A library in PostgreSQL."""

    path: Address
    _kinds = PostgreSQLReadTransaction, PostgreSQLTransaction

    def size_bytes(self) -> int:
        """Return the size of its tables and indexes on the server."""
        with self._database.reading() as connection:
            return int(connection.execute(_SIZE).scalar_one())

    def vacuum(self) -> None:
        """Empty the list of terms that each query reads whole, and count rows for the planner.

        Only the owner may. What fails or is locked is left to the server.
        """
        with suppress(LibraryError, psycopg.Error), connect(self.path, autocommit=True) as own:
            own.execute(_VACUUM)


_FOUND = "SELECT d.id, d.external_id, d.source_id, d.position, d.content_hash FROM documents d"
_FIND_IDS = text(f"{_FOUND} WHERE d.external_id = ANY(CAST(:ids AS VARCHAR[]))")
_FIND_PLACES = text(
    f"{_FOUND} JOIN unnest(CAST(:sources AS BIGINT[]), CAST(:positions AS BIGINT[])) "
    "AS w(source, place) ON d.source_id = w.source AND d.position IN (w.place, -w.place)"
)
_DELETE_TERMS = text("DELETE FROM document_terms WHERE document_id = ANY(CAST(:keys AS BIGINT[]))")


class PostgreSQLChanges(SQLChanges):
    """Writes of documents."""

    __slots__ = ()

    def at(self, ids: Iterable[str], places: Iterable[tuple[int, int]]) -> list[DocumentRow]:
        """Return the documents with any of the ids or (source, position) pairs."""
        pairs = list(places)
        values = {"sources": [pair[0] for pair in pairs], "positions": [pair[1] for pair in pairs]}
        rows = [*self.connection.execute(_FIND_IDS, {"ids": list(ids)})]
        rows += self.connection.execute(_FIND_PLACES, values)
        return [DocumentRow(*row) for row in rows]

    def _put(self, table: Table, rows: Sequence[Sequence[Cell]]) -> None:
        cells = sealed(self.connection, table, rows)
        copy_rows(self.connection, table.name, columns_of(table), cells)

    def _index_tokens(self, tokens: Mapping[int, str]) -> None:
        self.connection.execute(_DELETE_TERMS, {"keys": list(tokens)})
        index_tokens(self.connection, tokens)


def index_tokens(connection: Any, tokens: Mapping[int, str]) -> None:
    """Write the vectors of tokens."""
    rows = ((key, *as_vector(joined)) for key, joined in tokens.items())
    copy_rows(connection, "document_terms", ("document_id", "terms", "length"), rows)


_SAVE_HOST = text(
    "INSERT INTO source_hosts (source_id, host) SELECT unnest(CAST(:ids AS BIGINT[])), :host "
    "ON CONFLICT (source_id) DO UPDATE SET host = excluded.host "
    "WHERE source_hosts.host <> excluded.host"
)
_ELSEWHERE = text("SELECT source_id FROM source_hosts WHERE host <> :host")
# A sequence returns no number twice, even to concurrent callers.
_RESERVED = text("SELECT setval('source_ids', greatest(nextval('source_ids'), :least) + :number)")


class PostgreSQLSources(SQLSources):
    """Source files of documents, and the machines that read them."""

    __slots__ = ()

    def save(self, sources: Sequence[Source], now: str) -> None:
        """Write sources as files of this machine."""
        super().save(sources, now)
        if sources:
            values = {"ids": [source.id for source in sources], "host": platform.node()}
            self.connection.execute(_SAVE_HOST, values)

    def elsewhere(self) -> set[int]:
        """Return the keys of sources that another machine has read."""
        return set(self.connection.execute(_ELSEWHERE, {"host": platform.node()}).scalars())

    def reserve(self, number: int) -> int:
        """Reserve a number of keys for new sources; return the first."""
        others = max(number - 1, 0)
        values = {"least": self.next_id(), "number": others}
        return int(self.connection.execute(_RESERVED, values).scalar_one()) - others


_PIECE = 1 << 20
_NAMES = text("SELECT DISTINCT name FROM index_files WHERE folder = :folder ORDER BY name")
_NUMBERS = text(
    "SELECT number FROM index_files WHERE folder = :folder AND name = :name ORDER BY number"
)
_READ = text(
    "SELECT content FROM index_files WHERE folder = :folder AND name = :name AND number = :number"
)
_REMOVE = text("DELETE FROM index_files WHERE folder = :folder")
_SWEEP = text("DELETE FROM index_files WHERE folder <> ALL(CAST(:keep AS VARCHAR[]))")
_COLUMNS = ("folder", "name", "number", "content")


class IndexFiles:
    """Index files stored in the database, by folder and name."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def names(self, folder: str) -> list[str]:
        """Return the names of the files of a stored index; none if it is not stored."""
        return list(self._connection.execute(_NAMES, {"folder": folder}).scalars())

    def read(self, folder: str, name: str) -> Iterator[bytes]:
        """Yield the content of a file in pieces."""
        file = {"folder": folder, "name": name}
        for number in self._connection.execute(_NUMBERS, file).scalars().all():
            yield self._connection.execute(_READ, file | {"number": number}).scalar_one()

    def write(self, folder: str, files: Iterable[Path]) -> None:
        """Store the files of an index."""
        self._connection.execute(_REMOVE, {"folder": folder})
        for path in files:
            copy_rows(self._connection, "index_files", _COLUMNS, _pieces(folder, path))

    def sweep(self, keep: Iterable[str]) -> None:
        """Delete the files of all other indexes."""
        self._connection.execute(_SWEEP, {"keep": list(keep)})


def _pieces(folder: str, path: Path) -> Iterator[tuple[str, str, int, bytes]]:
    with path.open("rb") as stream:
        number = 0
        while (piece := stream.read(_PIECE)) or not number:
            yield folder, path.name, number, piece
            number += 1


_AT_ONCE = 500
_UNSOURCED = text("SELECT count(*) FROM documents WHERE source_id NOT IN (SELECT id FROM sources)")
_DIFFERENT = text(
    "SELECT count(*) FROM unnest(CAST(:keys AS BIGINT[]), CAST(:terms AS VARCHAR[]), "
    "CAST(:lengths AS INT[])) AS e(key, terms, length) LEFT JOIN document_terms d "
    "ON d.document_id = e.key WHERE d.terms IS DISTINCT FROM CAST(e.terms AS tsvector) "
    "OR d.length <> e.length"
)
_STRAY = text(
    "SELECT count(*) FROM document_terms WHERE document_id NOT IN (SELECT document_id FROM document_tokens)"  # noqa: E501
)
_EMPTY = text("DELETE FROM document_terms")


class PostgreSQLHealth(SQLHealth):
    """Damage and its repair."""

    __slots__ = ()

    def repair(self) -> dict[str, int]:
        """Remove orphans and rebuild all indexes; losses cannot be counted in PostgreSQL."""
        for table in METADATA.tables:
            self.connection.execute(text(f"REINDEX TABLE {table}"))
        self._delete_orphans()
        self.connection.execute(_EMPTY)
        for tokens in self._tokens():
            index_tokens(self.connection, tokens)
        self.connection.execute(text("REINDEX TABLE document_terms"))
        return {}

    def _integrity(self) -> Finding:
        if self.connection.execute(_UNSOURCED).scalar():
            return damaged("documents whose file record is missing", "database")
        return Finding("database", ok=True, detail="intact")

    def _schema_digest(self) -> str:
        return schema.schema_digest(self.connection)

    def _full_text(self) -> Finding:
        different = self.connection.execute(_STRAY).scalar_one()
        for tokens in self._tokens():
            terms, lengths = zip(*map(as_vector, tokens.values()), strict=True)
            values = {"keys": list(tokens), "terms": list(terms), "lengths": list(lengths)}
            different += self.connection.execute(_DIFFERENT, values).scalar_one()
        return full_text_finding(in_sync=not different)

    def _tokens(self) -> Iterator[dict[int, str]]:
        """Yield all tokens by key, some at a time."""
        statement = select(TOKENS.c.document_id, TOKENS.c.tokens).order_by(TOKENS.c.document_id)
        last = -1
        while rows := self.connection.execute(
            statement.where(TOKENS.c.document_id > last).limit(_AT_ONCE)
        ).all():
            yield {key: tokens for key, tokens in rows}  # noqa: C416 (rows are no tuples to mypy)
            last = rows[-1][0]

    def _origin(self, key: int, *, is_named: bool) -> Origin:
        named = SOURCES.c.id == DOCUMENTS.c.source_id
        by_path = SOURCES.c.path == DOCUMENTS.c.path
        columns = (DOCUMENTS.c.external_id, DOCUMENTS.c.position, DOCUMENTS.c.content_hash)
        document = self.connection.execute(
            select(*columns, DOCUMENTS.c.split).where(DOCUMENTS.c.id == key)
        ).one()
        source = None
        for how in (named,) if is_named else (by_path, named):
            columns_of_source = (SOURCES.c.id, SOURCES.c.path, SOURCES.c.root, SOURCES.c.format)
            joined = select(*columns_of_source).select_from(DOCUMENTS).join(SOURCES, how)
            of_document = joined.where(DOCUMENTS.c.id == key)
            source = source or self.connection.execute(of_document).first()
        source_id, path, root, kind = source or (0, "", "", "")
        names = select(LABELS.c.name).where(LABELS.c.document_id == key).order_by(LABELS.c.position)
        labels = tuple(self.connection.execute(names).scalars())
        name, position, stored_hash, split = document
        return Origin(name, source_id, position, stored_hash, path, root, kind, split, labels)
