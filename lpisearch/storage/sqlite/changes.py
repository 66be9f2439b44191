"""Write documents to SQLite, with the rows of FTS5."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from lpisearch.records import StoredPlace
from lpisearch.storage.sql.changes import SQLChanges
from lpisearch.storage.sql.checksums import columns_of, sealed
from lpisearch.storage.sqlite import fulltext

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Table

_FOUND = "SELECT d.id, d.external_id, d.source_id, d.position, d.content_hash "
_FIND_IDS = text(f"{_FOUND} FROM json_each(:ids) w JOIN documents d ON d.external_id = w.value")
_FIND_PLACES = text(
    f"{_FOUND} FROM json_each(:places) w JOIN documents d "
    "ON d.source_id = json_extract(w.value, '$[0]') "
    "AND d.position IN (json_extract(w.value, '$[1]'), -json_extract(w.value, '$[1]'))"
)


class SQLiteChanges(SQLChanges):
    """Writes of documents."""

    __slots__ = ()

    def at(self, ids: Iterable[str], places: Iterable[tuple[int, int]]) -> list[StoredPlace]:
        """Return the documents that have any of the ids or (source, position) places."""
        at_ids = self.connection.execute(_FIND_IDS, {"ids": json.dumps(list(ids))})
        at_places = self.connection.execute(_FIND_PLACES, {"places": json.dumps(list(places))})
        return [StoredPlace(*row) for result in (at_ids, at_places) for row in result]

    def _put(self, table: Table, rows: list[dict[str, Any]]) -> None:
        # Not by SQLAlchemy's `insert`: working out its parameters takes longer than SQLite does.
        columns = columns_of(table)
        named, marks = ", ".join(columns), ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table.name} ({named}) VALUES ({marks})"  # noqa: S608 (constants)
        cells = [tuple(row) for row in sealed(self.connection, table, rows)]
        self.connection.exec_driver_sql(statement, cells)

    def _index_tokens(self, tokens: Mapping[int, str]) -> None:
        fulltext.add(self.connection, list(tokens))
