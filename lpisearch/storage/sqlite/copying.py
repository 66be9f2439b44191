"""Rows of one library into another, in a file: all of them, or those of some documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from lpisearch.errors import LibraryUnwritable
from lpisearch.files import partial_beside, sync_folder
from lpisearch.storage.sql.checksums import SCHEMA, with_checksum
from lpisearch.storage.sql.tables import DOCUMENTS, FAILURES, INDEXES, METADATA, SETTINGS, SOURCES
from lpisearch.storage.sqlite import fulltext

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import ColumnElement, Connection, Table

_AT_ONCE = 500


def write_part(source: Connection, target: Path, first: int, last: int) -> None:
    """Write the documents of some keys, with all that belongs to them, as a library in a file.

    It appears whole or not at all; indexes are not part of it. Files that could not be read are of
    no document, and stay out of it.

    Parameters
    ----------
    source
        The library, in one state.
    target
        The file, which is replaced.
    first, last
        The least and the largest key.

    Raises
    ------
    LibraryUnwritable, LibraryError
    """
    from lpisearch.storage.sqlite.schema import create_library

    try:
        with partial_beside(target) as partial:
            with create_library(partial.path) as file, file.writing(durable=True) as copy:
                copy_rows(source, copy, (first, last))
            partial.save()
            partial.move_in()
        sync_folder(target.parent)
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error


def copy_rows(source: Connection, copy: Connection, keys: tuple[int, int] | None = None) -> None:
    """Copy the rows of all tables but that of the indexes, which lie elsewhere.

    With the least and the largest key of documents, only what belongs to those.
    """
    for table in METADATA.sorted_tables:
        if table is INDEXES or (keys and table is FAILURES):
            continue
        columns = [column for column in table.columns if column.name != "checksum"]
        every = select(*columns).where(*_chosen(table, keys))
        result = source.execute(every, execution_options={"yield_per": _AT_ONCE})
        for rows in result.mappings().partitions():
            copy.execute(insert(table), [with_checksum(copy, table, dict(row)) for row in rows])
    fulltext.rebuild(copy)


def _chosen(table: Table, keys: tuple[int, int] | None) -> list[ColumnElement[Any]]:
    """Return which rows of a table are to be copied."""
    if table is SETTINGS:
        return [SETTINGS.c.name != SCHEMA]
    if keys is None:
        return []
    if table is SOURCES:
        owners = select(DOCUMENTS.c.source_id).where(DOCUMENTS.c.id.between(*keys))
        return [SOURCES.c.id.in_(owners)]
    key = table.c.id if table is DOCUMENTS else table.c.document_id
    return [key.between(*keys)]
