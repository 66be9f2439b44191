"""Which subspace indexes the library has, and in which folder each is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from lpisearch.settings import IndexSpec
from lpisearch.storage.sqlite.models import Base, IndexRow

if TYPE_CHECKING:
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


_COLUMNS = Base.metadata.tables["indexes"].columns


def index_entries(connection: Connection) -> list[IndexEntry]:
    """Return all indexes by name."""
    rows = connection.execute(select(*_COLUMNS).order_by(IndexRow.name)).mappings()
    return [IndexEntry(**row) for row in rows]


def save_index(connection: Connection, entry: IndexEntry) -> None:
    """Put an index in use, instead of the one that had its name."""
    values = asdict(entry)
    statement = insert(IndexRow).values(values)
    changed = {name: statement.excluded[name] for name in values if name != "name"}
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed))
