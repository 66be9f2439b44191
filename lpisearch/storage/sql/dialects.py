"""SQL expressions that differ between SQLite and PostgreSQL.

Keys come as JSON in one parameter, any number of them. Nothing that a user typed becomes SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Boolean, Float, LargeBinary, String, bindparam, literal, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from lpisearch.storage.globs import glob_of

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Table
    from sqlalchemy.sql.compiler import SQLCompiler

PATH_FUNCTION = "lies_at"
"""In SQLite: whether a pattern means a path. Its own GLOB takes for ever on some patterns."""
CHECKSUM_FUNCTION = "row_checksum"
"""In SQLite: the checksum of the cells that it is given, as bytes."""
POSTGRESQL = "postgresql"
_CHECKSUM_BYTES = 8


def speaks_postgresql(connection: Connection) -> bool:
    """Tell which of the two a connection is to."""
    return connection.dialect.name == POSTGRESQL


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an insert that may say what is done where a row is there already."""
    if speaks_postgresql(connection):
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


class ListedIn(FunctionElement[bool]):
    """Whether a column is one of the keys in the parameter `ids`, a list as JSON."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column, bindparam("ids", type_=String()))

    def self_group(self, against: Any = None) -> Self:
        """Stay as it is: as `… = 1`, which SQLAlchemy makes of it, SQLite uses no index."""
        del against
        return self


class Names(FunctionElement[str]):
    """The values of a column as a list in JSON."""

    type = String()
    inherit_cache = True


class RowChecksum(FunctionElement[bytes]):
    """The checksum of a row, from the name of its table and its cells."""

    type = LargeBinary()
    inherit_cache = True

    def __init__(self, table: str, *cells: ColumnElement[Any]) -> None:
        super().__init__(literal_column(f"'{table}'"), *cells)


class LiesAt(FunctionElement[bool]):
    """Whether a pattern means a path: as it is, as a folder, as a glob."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, pattern: str, path: ColumnElement[str]) -> None:
        meant = glob_of(pattern)
        written = (pattern, meant.folder, f"{meant.folder}/", meant.posix())
        super().__init__(path, literal(meant.least), *(literal(each, String()) for each in written))


class HasMetadata(FunctionElement[bool]):
    """Whether a value of metadata, or a member of its list, reads as given, or is that number."""

    type = Boolean()
    inherit_cache = True

    def __init__(
        self, column: ColumnElement[Any], key: str, value: str, number: float | None
    ) -> None:
        texts = (literal(each, String()) for each in (key, value, value.lower()))
        super().__init__(column, *texts, literal(number, Float()))


def _said(element: FunctionElement[Any], compiler: SQLCompiler, **words: Any) -> list[str]:
    return [compiler.process(clause, **words) for clause in element.clauses]


@compiles(ListedIn)
def _listed_in(element: ListedIn, compiler: SQLCompiler, **words: Any) -> str:
    column, keys = _said(element, compiler, **words)
    return f"{column} IN (SELECT value FROM json_each({keys}))"  # noqa: S608 (a parameter)


@compiles(ListedIn, POSTGRESQL)
def _listed_in_postgresql(element: ListedIn, compiler: SQLCompiler, **words: Any) -> str:
    column, keys = _said(element, compiler, **words)
    listed = f"SELECT json_array_elements_text(CAST({keys} AS JSON))::BIGINT"
    return f"{column} = ANY (ARRAY({listed}))"  # an array: its index is used


@compiles(Names)
def _names(element: Names, compiler: SQLCompiler, **words: Any) -> str:
    (column,) = _said(element, compiler, **words)
    return f"json_group_array({column})"


@compiles(Names, POSTGRESQL)
def _names_postgresql(element: Names, compiler: SQLCompiler, **words: Any) -> str:
    (column,) = _said(element, compiler, **words)
    return f"coalesce(CAST(json_agg({column}) AS VARCHAR), '[]')"


@compiles(RowChecksum)
def _row_checksum(element: RowChecksum, compiler: SQLCompiler, **words: Any) -> str:
    table, *cells = _said(element, compiler, **words)
    # As bytes: what is no UTF-8 any more is a difference like any other. SQLite and Python write
    # fractions in ways of their own, so these are left to Python.
    kinds = [clause.type for clause in element.clauses][1:]
    shown = (
        cell if isinstance(kind, Float) else f"CAST({cell} AS BLOB)"
        for cell, kind in zip(cells, kinds, strict=True)
    )
    return f"{CHECKSUM_FUNCTION}({', '.join([table, *shown])})"


@compiles(RowChecksum, POSTGRESQL)
def _row_checksum_postgresql(element: RowChecksum, compiler: SQLCompiler, **words: Any) -> str:
    table, *cells = _said(element, compiler, **words)
    kinds = [clause.type for clause in element.clauses][1:]
    shown = [
        f"convert_to({table}, 'UTF8')",
        *(_as_bytes(cell, kind) for cell, kind in zip(cells, kinds, strict=True)),
    ]
    joined = r" || '\x00'::BYTEA || ".join(shown)
    return f"substring(sha256({joined}) FROM 1 FOR {_CHECKSUM_BYTES})"


def _as_bytes(cell: str, kind: Any) -> str:
    if isinstance(kind, LargeBinary):
        return cell
    if isinstance(kind, Float):
        return f"float8send({cell})"
    if isinstance(kind, Boolean):
        cell = f"CAST({cell} AS INTEGER)"
    if isinstance(kind, String):
        return f"convert_to({cell}, 'UTF8')"
    return f"convert_to(CAST({cell} AS VARCHAR), 'UTF8')"


@compiles(LiesAt)
def _lies_at(element: LiesAt, compiler: SQLCompiler, **words: Any) -> str:
    path, _least, pattern, *_ = element.clauses
    shown = (compiler.process(clause, **words) for clause in (pattern, path))
    return f"{PATH_FUNCTION}({', '.join(shown)})"


@compiles(LiesAt, POSTGRESQL)
def _lies_at_postgresql(element: LiesAt, compiler: SQLCompiler, **words: Any) -> str:
    path, least, _pattern, folder, below, expression = _said(element, compiler, **words)
    # An expression without groups or references to itself: PostgreSQL never goes back in one.
    return (
        f"({path} = {folder} OR starts_with({path}, {below}) OR "
        f"CASE WHEN length({path}) >= {least} THEN {path} ~ {expression} ELSE FALSE END)"
    )


@compiles(HasMetadata)
def _has_metadata(element: HasMetadata, compiler: SQLCompiler, **words: Any) -> str:
    column, key, value, word, number = _said(element, compiler, **words)

    def reads(item: str) -> str:
        return (
            f"(CASE WHEN {item}.type IN ('true', 'false', 'null') THEN {item}.type = {word} "
            f"ELSE CAST({item}.value AS VARCHAR) = {value} END "
            f"OR ({item}.type IN ('integer', 'real') AND {item}.value = {number}))"
        )

    members = "json_each(CASE WHEN item.type = 'array' THEN item.value ELSE '[]' END) AS member"
    return (
        f"EXISTS (SELECT 1 FROM json_each({column}) AS item WHERE item.key = {key} AND "  # noqa: S608 (parameters)
        f"({reads('item')} OR EXISTS (SELECT 1 FROM {members} WHERE {reads('member')})))"
    )


@compiles(HasMetadata, POSTGRESQL)
def _has_metadata_postgresql(element: HasMetadata, compiler: SQLCompiler, **words: Any) -> str:
    column, key, value, word, number = _said(element, compiler, **words)

    def reads(item: str) -> str:
        kind, text = f"json_typeof({item}.value)", f"({item}.value #>> '{{}}')"
        # A number of JSON may be larger than any that PostgreSQL can count with.
        return (
            f"CASE WHEN {kind} = 'boolean' THEN {text} = {word} "
            f"WHEN {kind} = 'null' THEN {word} = 'null' "
            f"WHEN {kind} = 'number' AND {text} ~ '^-?[0-9]{{1,200}}([.][0-9]{{1,99}})?(e[+-]?[0-9]{{1,2}})?$' "  # noqa: E501
            f"THEN {text} = {value} OR CAST({text} AS DOUBLE PRECISION) = {number} "
            f"ELSE {text} = {value} END"
        )

    array = "CASE WHEN json_typeof(item.value) = 'array' THEN item.value ELSE '[]' END"
    return (
        f"EXISTS (SELECT 1 FROM json_each({column}) AS item WHERE item.key = {key} AND "  # noqa: S608 (parameters)
        f"({reads('item')} OR EXISTS (SELECT 1 FROM json_array_elements({array}) AS member(value) "
        f"WHERE {reads('member')})))"
    )
