"""A copy of a library of a server: a library in a file, which opens everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from lpisearch.errors import LibraryUnwritable
from lpisearch.files import partial_beside, sync_folder
from lpisearch.storage.postgresql.engine import Database
from lpisearch.storage.sql.checksums import SCHEMA, with_checksum
from lpisearch.storage.sql.tables import INDEXES, METADATA, SETTINGS

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from lpisearch.places import Address

_AT_ONCE = 500
_FOR_ME_ALONE = 0o600


def back_up(library: Address, target: Path) -> Path:
    """Write one state of a library into a file of SQLite; it appears whole or not at all.

    Indexes are not part of it: they are built from it anew.

    Raises
    ------
    LibraryUnwritable, LibraryError
    """
    from lpisearch.storage.sqlite.schema import create_library

    try:
        with partial_beside(target, _FOR_ME_ALONE) as partial:
            with (
                Database.connect(library, writable=False) as server,
                server.reading() as source,
                create_library(partial.path) as file,
                file.writing(durable=True) as copy,
            ):
                _copy(source, copy)
            partial.save()
            partial.move_in()
        sync_folder(target.parent)
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error
    return target


def _copy(source: Connection, copy: Connection) -> None:
    from lpisearch.storage.sqlite import fulltext

    for table in METADATA.sorted_tables:
        if table is INDEXES:
            continue
        columns = [column for column in table.columns if column.name != "checksum"]
        every = select(*columns)
        if table is SETTINGS:
            every = every.where(SETTINGS.c.name != SCHEMA)
        result = source.execute(every, execution_options={"yield_per": _AT_ONCE})
        for rows in result.mappings().partitions():
            copy.execute(insert(table), [with_checksum(copy, table, dict(row)) for row in rows])
    fulltext.rebuild(copy)
