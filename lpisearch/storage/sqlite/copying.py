"""Copy the rows of one library into another, which is in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from lpisearch.storage.sql.checksums import SCHEMA, with_checksum
from lpisearch.storage.sql.tables import INDEXES, METADATA, SETTINGS
from lpisearch.storage.sqlite import fulltext

if TYPE_CHECKING:
    from sqlalchemy import Connection

_AT_ONCE = 500


def copy_rows(source: Connection, copy: Connection) -> None:
    """Copy the rows of all tables but that of the indexes, which lie elsewhere."""
    for table in METADATA.sorted_tables:
        if table is INDEXES:
            continue
        every = select(*[column for column in table.columns if column.name != "checksum"])
        if table is SETTINGS:
            every = every.where(SETTINGS.c.name != SCHEMA)
        result = source.execute(every, execution_options={"yield_per": _AT_ONCE})
        for rows in result.mappings().partitions():
            copy.execute(insert(table), [with_checksum(copy, table, dict(row)) for row in rows])
    fulltext.rebuild(copy)
