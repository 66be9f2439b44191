"""Settings kept in the library itself, by name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import select, type_coerce
from sqlalchemy.dialects.sqlite import insert

from lpisearch.storage.sqlite.checksums import checksum, with_checksum
from lpisearch.storage.sqlite.tables import SETTINGS, DamagedCell, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class SQLiteSettings:
    """Stored settings; the methods are those of `contract.WritableSettings`."""

    connection: Connection

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a setting, or None if it was never stored."""
        value = type_coerce(SETTINGS.c.value, Text)
        statement = select(value, SETTINGS.c.checksum).where(SETTINGS.c.name == name)
        found = self.connection.execute(statement).first()
        if found is None:
            return None
        stored, stated = found
        if checksum(SETTINGS.name, name, stored) != stated:
            raise DamagedCell(f"the setting “{name}” is not as it was written")
        return cast("dict[str, Any]", json.loads(stored))

    def set(self, name: str, value: Mapping[str, Any]) -> None:
        """Store a setting, replacing what it was."""
        values = with_checksum(SETTINGS, {"name": name, "value": dict(value)})
        statement = insert(SETTINGS).values(values)
        changed = {each: statement.excluded[each] for each in ("value", "checksum")}
        self.connection.execute(
            statement.on_conflict_do_update(index_elements=["name"], set_=changed)
        )
