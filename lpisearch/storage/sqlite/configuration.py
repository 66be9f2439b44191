"""Settings kept in the library itself, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from lpisearch.storage.sqlite.models import SettingRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

TOKENISER = "tokeniser"


def stored_setting(connection: Connection, name: str) -> dict[str, Any] | None:
    """Return a setting, or None if it was never stored."""
    return connection.execute(select(SettingRow.value).where(SettingRow.name == name)).scalar()


def store_setting(connection: Connection, name: str, value: Mapping[str, Any]) -> None:
    """Store a setting, replacing what it was."""
    statement = insert(SettingRow).values(name=name, value=dict(value))
    changed = {"value": statement.excluded.value}
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed))
