"""Row checksums, which reveal changes made by other programs.

A database notices when its pages do not fit together, or when a column and its index differ, though
not which of them is right. So every row has a checksum of all its cells, written in the same
statement: both are there or neither. SQLite computes it by a function of this program; PostgreSQL
has none of those, so its checksums are of a digest that it knows itself.
"""

from __future__ import annotations

import json
import struct
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, exists, select, update

from lpisearch.storage.sql.dialects import ListedIn, RowChecksum, speaks_postgresql
from lpisearch.storage.sql.tables import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import ColumnElement, Connection, Table

SCHEMA = "schema"  # the setting that holds the digest of the schema
_COLUMN = "checksum"
_BYTES = 8


Cell = str | int | float | bytes | None


def checksum(*cells: Cell) -> bytes:
    """Return the checksum of a row in SQLite: of the name of its table, and of its cells."""
    return blake2b(b"\0".join(map(_bytes, cells)), digest_size=_BYTES).digest()


def checksum_of(connection: Connection, *cells: Cell) -> bytes:
    """Return the checksum of a row in the words of its database."""
    if not speaks_postgresql(connection):
        return checksum(*cells)
    return sha256(b"\0".join(map(_portable, cells))).digest()[:_BYTES]


def with_checksum(
    connection: Connection, table: Table, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all values of a row with their checksum."""
    *_, found = next(sealed(connection, table, [values]))
    return {**values, _COLUMN: found}


def columns_of(table: Table) -> list[str]:
    """Return the columns of a table in the order of the cells of `sealed`."""
    return [*_covered(table), _COLUMN]


def sealed(
    connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]
) -> Iterator[list[Cell]]:
    """Yield rows as they are stored: cells with their checksum, for thousands of rows at once."""
    covered = [(name, isinstance(table.c[name].type, JSON)) for name in _covered(table)]
    for row in rows:
        cells = [as_json(row[name]) if is_json else row[name] for name, is_json in covered]
        cells.append(checksum_of(connection, table.name, *cells))
        yield cells


def as_json(value: object) -> str:
    """Return a value as it is stored."""
    return json.dumps(value, ensure_ascii=False)


def changed_rows(connection: Connection, table: Table) -> list[Any]:
    """Return the keys of the rows that are not as they were written."""
    key = table.primary_key.columns[0]
    return list(connection.execute(select(key).where(differs(table))).scalars())


def seal(connection: Connection, tables: Iterable[Table] = (), keys: str = "") -> None:
    """Give rows the checksums of what they hold now.

    Parameters
    ----------
    connection
        To the library.
    tables
        All that there are if not given.
    keys
        Of documents as JSON: only their rows.
    """
    for table in tables or METADATA.tables.values():
        statement = update(table).values({_COLUMN: row_checksum(table)})
        if keys:
            some = ListedIn(table.primary_key.columns[0])
            connection.execute(statement.where(some), {"ids": keys})
        else:
            connection.execute(statement.where(differs(table)))


def differs(table: Table) -> ColumnElement[bool]:
    """Return the condition that a row is not as it was written."""
    return table.c[_COLUMN].is_distinct_from(row_checksum(table))


def part_differs(table: Table, whole: Table) -> ColumnElement[bool]:
    """Return the condition that some row of a table, of one row of another, is not as written."""
    here = table.c.document_id == whole.c.id
    return exists(select(1).where(here, differs(table)).correlate(whole))


def row_checksum(table: Table, **other: ColumnElement[Any]) -> ColumnElement[bytes]:
    """Return the checksum of a row as an expression; `other` is to stand for some of its cells."""
    # With the name of the table: a page of another one is a difference, too.
    cells = (other.get(name, table.c[name]) for name in _covered(table))
    return RowChecksum(table.name, *cells)


def _covered(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns if column.name != _COLUMN)


def _bytes(cell: Cell) -> bytes:
    if isinstance(cell, str):  # most of them are
        return cell.encode()
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, bool):
        return b"1" if cell else b"0"
    return b"\xff" if cell is None else str(cell).encode()


def _portable(cell: Cell) -> bytes:
    """Return a cell as PostgreSQL sends it."""
    return struct.pack(">d", cell) if isinstance(cell, float) else _bytes(cell)
