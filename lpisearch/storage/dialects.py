"""SQL expressions in both dialects, and path globs.

Any number of keys is passed as JSON in one parameter. User input never becomes SQL.

In a glob `*` matches anything, slashes included, `?` one character, `[a-z]` one of several and
`[^a-z]` or `[!a-z]` one of the others. A folder matches everything below it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy import Boolean, Float, LargeBinary, String, bindparam, literal, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Table
    from sqlalchemy.sql.compiler import SQLCompiler


# SQL functions that this program adds to SQLite: whether a pattern matches a path (SQLite's own
# GLOB needs exponential time on some patterns), and the checksum of cells, as bytes.
PATH_FUNCTION = "lies_at"
CHECKSUM_FUNCTION = "row_checksum"
POSTGRESQL = "postgresql"
_CHECKSUM_BYTES = 8

Item = TypeVar("Item")


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Split a sequence into parts of at most some size."""
    return (items[start : start + size] for start in range(0, len(items), size))


def speaks_postgresql(connection: Connection) -> bool:
    """Tell whether a connection is to PostgreSQL."""
    return connection.dialect.name == POSTGRESQL


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an insert that can resolve conflicts with existing rows."""
    if speaks_postgresql(connection):
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


class Names(FunctionElement[str]):
    """The values of a column as a JSON list."""

    type = String()
    inherit_cache = True


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


class FileTime(FunctionElement[str]):
    """The local date and time of nanoseconds since 1970; NULL if they are negative."""

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


@compiles(Names)
def _names(element: Names, compiler: SQLCompiler, **words: Any) -> str:
    (column,) = _compiled(element, compiler, **words)
    return f"json_group_array({column})"


@compiles(Names, POSTGRESQL)
def _names_postgresql(element: Names, compiler: SQLCompiler, **words: Any) -> str:
    (column,) = _compiled(element, compiler, **words)
    return f"coalesce(CAST(json_agg({column}) AS VARCHAR), '[]')"


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
    path, least, _pattern, folder, below, expression = _compiled(element, compiler, **words)
    # An expression without groups or back references: PostgreSQL never backtracks in one.
    return (
        f"({path} = {folder} OR starts_with({path}, {below}) OR "
        f"CASE WHEN length({path}) >= {least} THEN {path} ~ {expression} ELSE FALSE END)"
    )


@compiles(FileTime)
def _file_time(element: FileTime, compiler: SQLCompiler, **words: Any) -> str:
    (column,) = _compiled(element, compiler, **words)
    local = f"strftime('%Y-%m-%dT%H:%M:%S', {column} / 1000000000, 'unixepoch', 'localtime')"
    return f"CASE WHEN {column} >= 0 THEN {local} END"


@compiles(FileTime, POSTGRESQL)
def _file_time_postgresql(element: FileTime, compiler: SQLCompiler, **words: Any) -> str:
    (column,) = _compiled(element, compiler, **words)
    time = f"to_timestamp({column} / 1000000000)"
    return f"""CASE WHEN {column} >= 0 THEN to_char({time}, 'YYYY-MM-DD"T"HH24:MI:SS') END"""


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
