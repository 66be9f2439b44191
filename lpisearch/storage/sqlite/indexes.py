"""Which subspace indexes the library has, and in which folder each is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from lpisearch.storage.contract import IndexEntry
from lpisearch.storage.sqlite.tables import INDEXES

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class SQLiteIndexes:
    """The register of indexes; the methods are those of `contract.WritableIndexes`."""

    connection: Connection

    def entries(self) -> list[IndexEntry]:
        """Return all indexes by name."""
        rows = self.connection.execute(select(INDEXES).order_by(INDEXES.c.name)).mappings()
        return [IndexEntry(**row) for row in rows]

    def save(self, entry: IndexEntry) -> None:
        """Put an index in use, instead of the one that had its name."""
        values = asdict(entry)
        statement = insert(INDEXES).values(values)
        changed = {name: statement.excluded[name] for name in values if name != "name"}
        self.connection.execute(
            statement.on_conflict_do_update(index_elements=["name"], set_=changed)
        )
