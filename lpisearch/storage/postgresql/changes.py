"""Write documents to PostgreSQL: rows by COPY, and the vectors of their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from lpisearch.records import StoredPlace
from lpisearch.storage.postgresql.bulk import copy_rows
from lpisearch.storage.postgresql.terms import as_vector
from lpisearch.storage.sql.changes import SQLChanges
from lpisearch.storage.sql.checksums import columns_of, sealed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Table

_FOUND = "SELECT d.id, d.external_id, d.source_id, d.position, d.content_hash FROM documents d"
_FIND_IDS = text(f"{_FOUND} WHERE d.external_id = ANY(CAST(:ids AS VARCHAR[]))")
_FIND_PLACES = text(
    f"{_FOUND} JOIN unnest(CAST(:sources AS BIGINT[]), CAST(:positions AS BIGINT[])) "
    "AS w(source, place) ON d.source_id = w.source AND d.position IN (w.place, -w.place)"
)
_GONE = text("DELETE FROM document_terms WHERE document_id = ANY(CAST(:keys AS BIGINT[]))")


class PostgreSQLChanges(SQLChanges):
    """Writes of documents."""

    __slots__ = ()

    def at(self, ids: Iterable[str], places: Iterable[tuple[int, int]]) -> list[StoredPlace]:
        """Return the documents that have any of the ids or (source, position) places."""
        wanted = list(places)
        given = {"sources": [one[0] for one in wanted], "positions": [one[1] for one in wanted]}
        found = [*self.connection.execute(_FIND_IDS, {"ids": list(ids)})]
        found += self.connection.execute(_FIND_PLACES, given)
        return [StoredPlace(*row) for row in found]

    def _put(self, table: Table, rows: list[dict[str, Any]]) -> None:
        cells = sealed(self.connection, table, rows)
        copy_rows(self.connection, table.name, columns_of(table), cells)

    def _index_tokens(self, tokens: Mapping[int, str]) -> None:
        self.connection.execute(_GONE, {"keys": list(tokens)})
        index_tokens(self.connection, tokens)


def index_tokens(connection: Any, tokens: Mapping[int, str]) -> None:
    """Write the vectors of tokens."""
    rows = ((key, *as_vector(joined)) for key, joined in tokens.items())
    copy_rows(connection, "document_terms", ("document_id", "terms", "length"), rows)
