"""Checksums of rows, and of the schema: what was changed past this program is found by them.

SQLite itself notices when the pages of a file do not fit together, and when a column and its index
differ, though not which of them is right. So every row has a checksum of all its cells, written in
the same statement: both are there or neither.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, Float

from lpisearch.storage.sqlite.tables import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection, Table

SCHEMA = "schema"  # the setting that holds the digest of the schema
FUNCTION = "row_checksum"
"""In SQL: the checksum of the cells that it is given, as bytes."""
_COLUMN = "checksum"
_BYTES = 8


Cell = str | int | float | bytes | None


def checksum(*cells: Cell) -> bytes:
    """Return the checksum of a row: of the name of its table, and of its cells."""
    return blake2b(b"\0".join(map(_bytes, cells)), digest_size=_BYTES).digest()


def with_checksum(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return all values of a row with their checksum."""
    cells = (
        as_json(values[name]) if isinstance(table.c[name].type, JSON) else values[name]
        for name in _covered(table)
    )
    return {**values, _COLUMN: checksum(table.name, *cells)}


def as_json(value: object) -> str:
    """Return a value as it is stored."""
    return json.dumps(value, ensure_ascii=False)


def changed_rows(connection: Connection, table: Table) -> list[Any]:
    """Return the keys of the rows that are not as they were written."""
    statement = f"SELECT {_key(table)} FROM {table.name} WHERE {differs(table)}"  # noqa: S608 (constant names)
    return list(connection.exec_driver_sql(statement).scalars())


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
        statement = f"UPDATE {table.name} SET {_COLUMN} = {checksum_in_sql(table)}"  # noqa: S608 (constant names)
        if keys:
            some = f" WHERE {_key(table)} IN (SELECT value FROM json_each(?))"  # noqa: S608 (a constant name)
            connection.exec_driver_sql(statement + some, (keys,))
        else:
            connection.exec_driver_sql(f"{statement} WHERE {differs(table)}")


def differs(table: Table) -> str:
    """Return the condition in SQL that a row is not as it was written."""
    return f"{table.name}.{_COLUMN} IS NOT {checksum_in_sql(table)}"


def checksum_in_sql(table: Table, **other: str) -> str:
    """Return the checksum of a row as an expression; `other` is to stand for some of its cells."""
    named = ((name, other.get(name, f"{table.name}.{name}")) for name in _covered(table))
    # With the name of the table: a page of another one is a difference, too.
    cells = (_cell(table, name, cell) for name, cell in named)
    return f"{FUNCTION}({', '.join([repr(table.name), *cells])})"


def schema_digest(connection: Connection) -> str:
    """Return a digest of all tables, indexes and triggers."""
    rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master")
    lines = sorted(" ".join(" ".join(map(str, row)).split()) for row in rows)
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def _cell(table: Table, name: str, cell: str) -> str:
    # As bytes: what is no UTF-8 any more is a difference like any other. SQLite and Python write
    # fractions in ways of their own, so these are left to Python.
    return cell if isinstance(table.c[name].type, Float) else f"CAST({cell} AS BLOB)"


def _key(table: Table) -> str:
    return str(table.primary_key.columns[0].name)


def _covered(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns if column.name != _COLUMN)


def _bytes(cell: Cell) -> bytes:
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, bool):
        return b"1" if cell else b"0"
    return b"\xff" if cell is None else str(cell).encode()
