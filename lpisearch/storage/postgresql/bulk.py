"""Bulk insert with COPY."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection


def copy_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write rows into a table, whose names are those of this program."""
    driver: Any = connection.connection.driver_connection
    named = ", ".join(columns)
    with driver.cursor() as cursor, cursor.copy(f"COPY {table} ({named}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
