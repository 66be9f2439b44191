"""Register of indexes and their folders."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import cast, delete, select

from lpisearch.settings import IndexSpec
from lpisearch.storage.sql.checksums import checksum_of, with_checksum
from lpisearch.storage.sql.dialects import insert_into
from lpisearch.storage.sql.tables import INDEXES, DamagedCell, Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One index of the library.

    Attributes
    ----------
    name, method, parameters
        What was asked for.
    fingerprint
        Of the documents that it covers.
    folder
        The name of its folder below the folder of all indexes.
    created_at, state
        When it was built, and "ready".
    """

    name: str
    method: str
    parameters: dict[str, Any]
    fingerprint: str
    folder: str
    created_at: str
    state: str = "ready"

    @property
    def spec(self) -> IndexSpec:
        """What was asked for."""
        asked = {"name": self.name, "method": self.method}
        return IndexSpec.from_dict(self.parameters | asked)


_AS_STORED = select(
    *(
        cast(column, Text).label(column.name) if column.name == "parameters" else column
        for column in INDEXES.columns
    )
)


@dataclass(frozen=True, slots=True)
class SQLIndexes:
    """The register of indexes."""

    connection: Connection

    def entries(self) -> list[IndexEntry]:
        """Return all indexes by name."""
        rows = self.connection.execute(_AS_STORED.order_by(INDEXES.c.name)).mappings()
        return [self._entry(dict(row)) for row in rows]

    def save(self, entry: IndexEntry) -> None:
        """Put an index in use, instead of the one that had its name."""
        values = with_checksum(self.connection, INDEXES, asdict(entry))
        statement = insert_into(self.connection, INDEXES).values(values)
        changed = {name: statement.excluded[name] for name in values if name != "name"}
        self.connection.execute(
            statement.on_conflict_do_update(index_elements=["name"], set_=changed)
        )

    def delete(self, names: Iterable[str]) -> None:
        """Forget indexes."""
        for name in names:
            self.connection.execute(delete(INDEXES).where(INDEXES.c.name == name))

    def _entry(self, row: dict[str, Any]) -> IndexEntry:
        stated = row.pop("checksum")
        if checksum_of(self.connection, INDEXES.name, *row.values()) != stated:
            raise DamagedCell(f"the record of the index “{row['name']}” is damaged")
        return IndexEntry(**row | {"parameters": json.loads(row["parameters"])})
