"""Settings, index entries, source files and failures."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, RowMapping, Table, bindparam, delete, func, insert, select
from sqlalchemy import cast as cast_to

from lpisearch.messages import as_plain, from_plain
from lpisearch.model.documents import UNFINISHED, FailedFile, Source, Trouble
from lpisearch.options import IndexSpec
from lpisearch.storage.dialects import insert_into
from lpisearch.storage.integrity import checksum_of, with_checksum
from lpisearch.storage.tables import (
    DOCUMENTS,
    FAILURES,
    INDEXES,
    SETTINGS,
    SOURCES,
    DamagedCell,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


IN_PROGRESS = "under way"  # the setting with the file that a run was reading
TOKENISER = "tokeniser"  # the setting with the library's tokeniser


def _upsert(
    connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]], unchanged: str = ""
) -> None:
    """Insert rows with their checksums, replacing rows of the same key but one column of them."""
    values = [with_checksum(connection, table, row) for row in rows]
    if not values:
        return
    statement = insert_into(connection, table)
    (key,) = (column.name for column in table.primary_key.columns)
    changed = {name: statement.excluded[name] for name in values[0] if name not in {key, unchanged}}
    connection.execute(statement.on_conflict_do_update(index_elements=[key], set_=changed), values)


@dataclass(frozen=True, slots=True)
class SQLSettings:
    """Stored settings."""

    connection: Connection

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a setting, or None if it was never stored."""
        value = cast_to(SETTINGS.c.value, Text)
        statement = select(value, SETTINGS.c.checksum).where(SETTINGS.c.name == name)
        row = self.connection.execute(statement).first()
        if row is None:
            return None
        stored, checksum = row
        if checksum_of(self.connection, SETTINGS.name, name, stored) != checksum:
            raise DamagedCell(f"the setting “{name}” is damaged")
        return cast("dict[str, Any]", json.loads(stored))

    def set(self, name: str, value: Mapping[str, Any]) -> None:
        """Store a setting, replacing an earlier value."""
        _upsert(self.connection, SETTINGS, [{"name": name, "value": dict(value)}])


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One index of the library."""

    name: str
    method: str
    parameters: dict[str, Any]
    fingerprint: str  # of the documents that it was built from
    folder: str  # its name below the folder of all indexes
    created_at: str
    state: str = "ready"

    @property
    def spec(self) -> IndexSpec:
        """Everything that defines the index."""
        return IndexSpec.from_dict(self.parameters | {"name": self.name, "method": self.method})


_AS_STORED = select(
    *(
        cast_to(column, Text).label(column.name) if column.name == "parameters" else column
        for column in INDEXES.columns
    )
).order_by(INDEXES.c.name)


@dataclass(frozen=True, slots=True)
class SQLIndexes:
    """The register of indexes."""

    connection: Connection

    def entries(self) -> list[IndexEntry]:
        """Return all indexes by name."""
        rows = self.connection.execute(_AS_STORED).mappings()
        return [self._entry(dict(row)) for row in rows]

    def save(self, entry: IndexEntry) -> None:
        """Register an index, replacing an earlier one of the same name."""
        _upsert(self.connection, INDEXES, [asdict(entry)])

    def delete(self, names: Iterable[str]) -> None:
        """Unregister indexes."""
        for name in names:
            self.connection.execute(delete(INDEXES).where(INDEXES.c.name == name))

    def _entry(self, row: dict[str, Any]) -> IndexEntry:
        checksum = row.pop("checksum")
        if checksum_of(self.connection, INDEXES.name, *row.values()) != checksum:
            raise DamagedCell(f"the record of the index “{row['name']}” is damaged")
        return IndexEntry(**row | {"parameters": json.loads(row["parameters"])})


_FAILED_COLUMNS = ("path", "size", "mtime_ns", "read_options", "number", "ctime_ns")
_COLUMNS = ("id", "path", "root", "format", "size", "mtime_ns", "read_options", "ctime_ns")


@dataclass(frozen=True, slots=True)
class SQLSources:
    """Source files of documents."""

    connection: Connection

    def known(self) -> dict[str, Source]:
        """Return all sources by path."""
        counts = (
            select(
                DOCUMENTS.c.source_id,
                func.count().label("documents"),
                func.count().filter(DOCUMENTS.c.position < 0).label("gone"),
            )
            .group_by(DOCUMENTS.c.source_id)
            .subquery()
        )
        statement = select(
            *(SOURCES.c[name] for name in _COLUMNS),
            func.coalesce(counts.c.documents, 0),
            func.coalesce(counts.c.gone, 0),
        ).outerjoin(counts, counts.c.source_id == SOURCES.c.id)
        return {
            source.path: source
            for source in starmap(Source, self.connection.execute(statement).all())
        }

    def unfinished(self) -> list[str]:
        """Return the paths of files that a run began to read and did not finish cleanly."""
        statement = select(SOURCES.c.path).where(SOURCES.c.size == UNFINISHED)
        return list(self.connection.execute(statement.order_by(SOURCES.c.path)).scalars())

    def failed(self) -> dict[str, FailedFile]:
        """Return the files that could not be read without a failure, by path."""
        rows = self.connection.execute(select(FAILURES)).mappings()
        return {row["path"]: _failed_file(row) for row in rows}

    def next_id(self) -> int:
        """Return the first free key of a source."""
        return (self.connection.execute(select(func.max(SOURCES.c.id))).scalar() or 0) + 1

    def elsewhere(self) -> set[int]:
        """Return the keys of sources that another machine has read: their files are not here."""
        return set()

    def reserve(self, number: int) -> int:  # noqa: ARG002 (a file has one writer)
        """Reserve a number of keys for new sources; return the first."""
        return self.next_id()

    def save(self, sources: Sequence[Source], now: str) -> None:
        """Write sources, replacing earlier facts about them; a source keeps its path."""
        rows = [
            {name: getattr(source, name) for name in _COLUMNS} | {"read_at": now}
            for source in sources
        ]
        _upsert(self.connection, SOURCES, rows, unchanged="path")

    def delete(self, ids: Iterable[int]) -> None:
        """Remove sources together with their remaining documents."""
        for source_id in ids:
            self.connection.execute(delete(SOURCES).where(SOURCES.c.id == source_id))

    def delete_empty(self, ids: Iterable[int]) -> None:
        """Remove those of some sources that have no documents left."""
        used = select(DOCUMENTS.c.id).where(DOCUMENTS.c.source_id == SOURCES.c.id)
        empty = delete(SOURCES).where(SOURCES.c.id == bindparam("empty"), ~used.exists())
        if values := [{"empty": source_id} for source_id in ids]:
            self.connection.execute(empty, values)

    def save_failed(self, files: Sequence[FailedFile]) -> None:
        """Write files that could not be read, replacing earlier failures."""
        if not files:
            return
        self.forget_failed([file.path for file in files])
        values = [
            with_checksum(
                self.connection,
                FAILURES,
                {name: getattr(file, name) for name in _FAILED_COLUMNS}
                | {"troubles": [[one.where, as_plain(one.reason)] for one in file.troubles]},
            )
            for file in files
        ]
        self.connection.execute(insert(FAILURES), values)

    def forget_failed(self, paths: Iterable[str]) -> None:
        """Remove files from the list of failures."""
        values = [{"gone": path} for path in paths]
        if values:
            self.connection.execute(
                delete(FAILURES).where(FAILURES.c.path == bindparam("gone")), values
            )


def _failed_file(row: RowMapping) -> FailedFile:
    facts = {name: row[name] for name in _FAILED_COLUMNS}
    troubles = [Trouble(row["path"], from_plain(parts), where) for where, parts in row["troubles"]]
    return FailedFile(**facts, troubles=tuple(troubles))
