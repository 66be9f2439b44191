"""Settings kept in the library itself, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from lpisearch.storage.sqlite.tables import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class SQLiteSettings:
    """Stored settings; the methods are those of `contract.WritableSettings`."""

    connection: Connection

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a setting, or None if it was never stored."""
        statement = select(SETTINGS.c.value).where(SETTINGS.c.name == name)
        return self.connection.execute(statement).scalar()

    def set(self, name: str, value: Mapping[str, Any]) -> None:
        """Store a setting, replacing what it was."""
        statement = insert(SETTINGS).values(name=name, value=dict(value))
        changed = {"value": statement.excluded.value}
        self.connection.execute(
            statement.on_conflict_do_update(index_elements=["name"], set_=changed)
        )
