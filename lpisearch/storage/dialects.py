"""SQL expressions in both dialects, row checksums, and path globs.

Any number of keys is passed as JSON in one parameter. User input never becomes SQL.

In a glob `*` matches anything, slashes included, `?` one character, `[a-z]` one of several and
`[^a-z]` or `[!a-z]` one of the others. A folder matches everything below it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
    Float,
    LargeBinary,
    String,
    bindparam,
    exists,
    literal,
    literal_column,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from lpisearch.storage.integrity import CHECKSUM_BYTES, Cell, as_json, checksum, checksum_of
from lpisearch.storage.reading import CHECKSUM_FUNCTION, DATED, PATH_FUNCTION, Connection
from lpisearch.storage.tables import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Table
    from sqlalchemy.sql.compiler import SQLCompiler


POSTGRESQL = "postgresql"
_COLUMN = "checksum"


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an insert that can resolve conflicts with existing rows."""
    if connection.is_server:
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


class ListedIn(FunctionElement[bool]):
    """Whether a column is one of the keys in the parameter `ids`, a JSON list."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column, bindparam("ids", type_=String()))

    def self_group(self, against: Any = None) -> Self:
        """Keep the expression: SQLAlchemy would make it `… = 1`, for which SQLite uses no index."""
        del against
        return self


class RowChecksum(FunctionElement[bytes]):
    """The checksum of a row: of its table's name and its cells."""

    type = LargeBinary()
    inherit_cache = True

    def __init__(self, table: str, *cells: ColumnElement[Any]) -> None:
        super().__init__(literal_column(f"'{table}'"), *cells)


class LiesAt(FunctionElement[bool]):
    """Whether a pattern matches a path: literally, as a folder, or as a glob."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, pattern: str, path: ColumnElement[str]) -> None:
        glob = glob_of(pattern)
        texts = (pattern, glob.folder, f"{glob.folder}/", glob.posix())
        super().__init__(path, literal(glob.least), *(literal(text, String()) for text in texts))


class Dated(FunctionElement[str]):
    """The date of a document, or that of its file."""

    type = String()
    inherit_cache = True


class HasMetadata(FunctionElement[bool]):
    """Whether a metadata value, or a member of its list, equals a text or number."""

    type = Boolean()
    inherit_cache = True

    def __init__(
        self, column: ColumnElement[Any], key: str, value: str, number: float | None
    ) -> None:
        texts = (literal(text, String()) for text in (key, value, value.lower()))
        super().__init__(column, *texts, literal(number, Float()))


def _compiled(element: FunctionElement[Any], compiler: SQLCompiler, **words: Any) -> list[str]:
    return [compiler.process(clause, **words) for clause in element.clauses]


@compiles(ListedIn)
def _listed_in(element: ListedIn, compiler: SQLCompiler, **words: Any) -> str:
    column, keys = _compiled(element, compiler, **words)
    return f"{column} IN (SELECT value FROM json_each({keys}))"  # noqa: S608 (a parameter)


@compiles(ListedIn, POSTGRESQL)
def _listed_in_postgresql(element: ListedIn, compiler: SQLCompiler, **words: Any) -> str:
    column, keys = _compiled(element, compiler, **words)
    listed = f"SELECT json_array_elements_text(CAST({keys} AS JSON))::BIGINT"
    return f"{column} = ANY (ARRAY({listed}))"  # an array: its index is used


@compiles(RowChecksum)
def _row_checksum(element: RowChecksum, compiler: SQLCompiler, **words: Any) -> str:
    table, *cells = _compiled(element, compiler, **words)
    # As bytes, so that invalid UTF-8 is a difference like any other. SQLite and Python format
    # floats differently, so Python formats them.
    kinds = [clause.type for clause in element.clauses][1:]
    shown = (
        cell if isinstance(kind, Float) else f"CAST({cell} AS BLOB)"
        for cell, kind in zip(cells, kinds, strict=True)
    )
    return f"{CHECKSUM_FUNCTION}({', '.join([table, *shown])})"


@compiles(RowChecksum, POSTGRESQL)
def _row_checksum_postgresql(element: RowChecksum, compiler: SQLCompiler, **words: Any) -> str:
    table, *cells = _compiled(element, compiler, **words)
    kinds = [clause.type for clause in element.clauses][1:]
    shown = [
        f"convert_to({table}, 'UTF8')",
        *(_as_bytes(cell, kind) for cell, kind in zip(cells, kinds, strict=True)),
    ]
    joined = r" || '\x00'::BYTEA || ".join(shown)
    return f"substring(sha256({joined}) FROM 1 FOR {CHECKSUM_BYTES})"


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
    path, least, _pattern, folder, below, expression = _compiled(element, compiler, **words)
    # An expression without groups or back references: PostgreSQL never backtracks in one.
    return (
        f"({path} = {folder} OR starts_with({path}, {below}) OR "
        f"CASE WHEN length({path}) >= {least} THEN {path} ~ {expression} ELSE FALSE END)"
    )


@compiles(Dated)
def _dated(_element: Dated, _compiler: SQLCompiler, **_words: Any) -> str:
    return f"({DATED})"


@compiles(Dated, POSTGRESQL)
def _dated_postgresql(_element: Dated, _compiler: SQLCompiler, **_words: Any) -> str:
    from lpisearch.storage.postgres.database import in_postgresql

    return f"({in_postgresql(DATED)})"


@compiles(HasMetadata)
def _has_metadata(element: HasMetadata, compiler: SQLCompiler, **words: Any) -> str:
    column, key, value, word, number = _compiled(element, compiler, **words)

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
    column, key, value, word, number = _compiled(element, compiler, **words)

    def reads(item: str) -> str:
        kind, text = f"json_typeof({item}.value)", f"({item}.value #>> '{{}}')"
        # A JSON number may be larger than any that PostgreSQL can cast.
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


def with_checksum(
    connection: Connection, table: Table, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all values of a row with their checksum."""
    cells = (
        as_json(values[name]) if isinstance(table.c[name].type, JSON) else values[name]
        for name in _covered(table)
    )
    return {**values, _COLUMN: checksum_of(connection, table.name, *cells)}


def columns_of(table: Table) -> list[str]:
    """Return the columns of a table in their order, the checksum last."""
    return [*_covered(table), _COLUMN]


def sealed(
    connection: Connection, table: Table, rows: Iterable[Sequence[Cell]]
) -> Iterator[tuple[Cell, ...]]:
    """Yield rows, cells in the order of the columns, with their checksums."""
    name = table.name
    of = partial(checksum_of, connection) if connection.is_server else checksum
    return ((*row, of(name, *row)) for row in rows)


def changed_rows(connection: Connection, table: Table) -> list[Any]:
    """Return the keys of the rows that do not match their checksums."""
    key = table.primary_key.columns[0]
    return list(connection.execute(select(key).where(differs(table))).scalars())


def seal(connection: Connection, tables: Iterable[Table] = (), keys: str = "") -> None:
    """Recompute the checksums of tables (default: all), or only of documents (keys as JSON)."""
    for table in tables or METADATA.tables.values():
        statement = update(table).values({_COLUMN: row_checksum(table)})
        if keys:
            some = ListedIn(table.primary_key.columns[0])
            connection.execute(statement.where(some), {"ids": keys})
        else:
            connection.execute(statement.where(differs(table)))


def differs(table: Table) -> ColumnElement[bool]:
    """Return the condition that a row does not match its checksum."""
    return table.c[_COLUMN].is_distinct_from(row_checksum(table))


def part_differs(table: Table, whole: Table) -> ColumnElement[bool]:
    """Return the condition that a document has a row in `table` that fails its checksum."""
    here = table.c.document_id == whole.c.id
    return exists(select(1).where(here, differs(table)).correlate(whole))


def row_checksum(table: Table, **other: ColumnElement[Any]) -> ColumnElement[bytes]:
    """Return the checksum of a row as an expression; `other` replaces some of its cells."""
    # With the name of the table, so that a page of another table is a difference too.
    cells = (other.get(name, table.c[name]) for name in _covered(table))
    return RowChecksum(table.name, *cells)


def _covered(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns if column.name != _COLUMN)


_STARS = re.compile(r"\*+")
_PARTS = re.compile(r"\*+|\[(?P<other>[!^]?)(?P<some>\]?[^\]]*)\]")
_NOTHING, _BELOW = "(?!)", "(?:/.*)?"
_LONGEST_PATH = 1 << 13
_NEVER = "(?!.*)x"


@lru_cache(maxsize=64)
def glob_of(pattern: str) -> Glob:
    """Return the compiled pattern."""
    return Glob(_slashes(pattern))


@dataclass(eq=False)
class Glob:
    """A path pattern."""

    pattern: str

    def __post_init__(self) -> None:
        self.folder = self.pattern.rstrip("/").removeprefix("./")
        self._parts = list(_parts_of(self.folder))
        # A path that is too short cannot match; it is not worth compiling a long pattern for.
        self.least = sum(part != "*" for part in self._parts)
        self._expression: re.Pattern[str] | None = None

    def matches(self, path: str) -> bool:
        """Tell whether the pattern matches a path or a folder above it."""
        path = _slashes(path)
        if path == self.folder or path.startswith(f"{self.folder}/"):
            return True  # even if its name contains wildcard characters
        if len(path) < self.least:
            return False
        if self._expression is None:
            self._expression = re.compile(_expression(self._parts), re.DOTALL)
        return self._expression.fullmatch(path) is not None

    def posix(self) -> str:
        """Return the expression for PostgreSQL; one that never matches, if the pattern cannot."""
        if self.least > _LONGEST_PATH or _NOTHING in self._parts:
            return _NEVER
        return "^" + "".join(".*" if part == "*" else part for part in self._parts) + "(?:/.*)?$"


def _slashes(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")


def _parts_of(pattern: str) -> Iterator[str]:
    """Yield the parts of a pattern as expressions, runs of stars as one "*"."""
    closed = pattern.rfind("]")
    at = 0
    while at < len(pattern):
        # After the last bracket, looking for a closing one each time would be quadratic.
        part = _PARTS.match(pattern, at) if at < closed else _STARS.match(pattern, at)
        if part is None:
            yield "." if pattern[at] == "?" else re.escape(pattern[at])
            at += 1
        else:
            yield "*" if part[0][0] == "*" else _one_of(part["some"], other=bool(part["other"]))
            at = part.end()


def _one_of(characters: str, *, other: bool) -> str:
    """Return the expression for one of the characters in brackets, or for all others."""
    ranges = re.findall(r"(.)-(.)|(.)", characters, re.DOTALL)
    shown = "".join(
        f"{re.escape(first)}-{re.escape(last)}" if not single else re.escape(single)
        for first, last, single in ranges
        if single or first <= last
    )
    if not shown:
        return "." if other else _NOTHING
    return f"[{'^' if other else ''}{shown}]"


def _expression(parts: list[str]) -> str:
    """Join the parts; what is between two stars is matched at its first occurrence.

    Backtracking to a later one can never help, and would be exponential in the number of stars.
    """
    pieces = [""]
    for part in parts:
        if part == "*":
            pieces.append("")
        else:
            pieces[-1] += part
    first, *rest = pieces
    if not rest:
        return first + _BELOW
    *between, last = rest
    return first + "".join(f"(?>.*?{piece})" for piece in between) + ".*" + last + _BELOW
