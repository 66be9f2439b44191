"""Settings kept in the library itself, by name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import cast as cast_to
from sqlalchemy import select

from lpisearch.storage.sql.checksums import checksum_of, with_checksum
from lpisearch.storage.sql.dialects import insert_into
from lpisearch.storage.sql.tables import SETTINGS, DamagedCell, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection


UNDER_WAY = "under way"  # the setting that says which file a run was waiting for
TOKENISER = "tokeniser"  # the setting that says how the words of a library are cut


@dataclass(frozen=True, slots=True)
class SQLSettings:
    """Stored settings."""

    connection: Connection

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a setting, or None if it was never stored."""
        value = cast_to(SETTINGS.c.value, Text)
        statement = select(value, SETTINGS.c.checksum).where(SETTINGS.c.name == name)
        found = self.connection.execute(statement).first()
        if found is None:
            return None
        stored, stated = found
        if checksum_of(self.connection, SETTINGS.name, name, stored) != stated:
            raise DamagedCell(f"the setting “{name}” is damaged")
        return cast("dict[str, Any]", json.loads(stored))

    def set(self, name: str, value: Mapping[str, Any]) -> None:
        """Store a setting, replacing what it was."""
        values = with_checksum(self.connection, SETTINGS, {"name": name, "value": dict(value)})
        statement = insert_into(self.connection, SETTINGS).values(values)
        changed = {each: statement.excluded[each] for each in ("value", "checksum")}
        self.connection.execute(
            statement.on_conflict_do_update(index_elements=["name"], set_=changed)
        )
