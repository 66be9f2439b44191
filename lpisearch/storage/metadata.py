"""Settings, index entries, source files and failures."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any, cast

from lpisearch.messages import as_plain, from_plain
from lpisearch.model.documents import UNFINISHED, FailedFile, Source, Trouble
from lpisearch.options import IndexSpec
from lpisearch.storage.integrity import DamagedCell, checksum_of
from lpisearch.storage.reading import AMONG, Connection, checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


IN_PROGRESS = "under way"  # the setting with the file that a run was reading
TOKENISER = "tokeniser"  # the setting with the library's tokeniser


def _upsert(
    connection: Connection, name: str, rows: Iterable[Mapping[str, Any]], unchanged: str = ""
) -> None:
    """Insert rows with their checksums, replacing rows of the same key but one column of them."""
    from lpisearch.storage.dialects import insert_into, with_checksum
    from lpisearch.storage.tables import METADATA

    table = METADATA.tables[name]
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
        statement = "SELECT CAST(value AS VARCHAR), checksum FROM settings WHERE name = ?"
        row = self.connection.rows(statement, name).fetchone()
        if row is None:
            return None
        stored, checksum = row
        if checksum_of(self.connection, "settings", name, stored) != checksum:
            raise DamagedCell(f"the setting “{name}” is damaged")
        return cast("dict[str, Any]", json.loads(stored))

    def set(self, name: str, value: Mapping[str, Any]) -> None:
        """Store a setting, replacing an earlier value."""
        _upsert(self.connection, "settings", [{"name": name, "value": dict(value)}])


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


_ENTRY = ("name", "method", "parameters", "fingerprint", "folder", "created_at", "state")
_ENTRIES = f"SELECT {', '.join(_ENTRY)}, checksum FROM indexes ORDER BY name".replace(  # noqa: S608 (constants)
    "parameters", "CAST(parameters AS VARCHAR)"
)


@dataclass(frozen=True, slots=True)
class SQLIndexes:
    """The register of indexes."""

    connection: Connection

    def entries(self) -> list[IndexEntry]:
        """Return all indexes by name."""
        return [self._entry(*row) for row in self.connection.rows(_ENTRIES)]

    def save(self, entry: IndexEntry) -> None:
        """Register an index, replacing an earlier one of the same name."""
        _upsert(self.connection, "indexes", [asdict(entry)])

    def delete(self, names: Iterable[str]) -> None:
        """Unregister indexes."""
        for name in names:
            self.connection.rows("DELETE FROM indexes WHERE name = ?", name)

    def _entry(self, *row: Any) -> IndexEntry:
        *cells, checksum = row
        if checksum_of(self.connection, "indexes", *cells) != checksum:
            raise DamagedCell(f"the record of the index “{cells[0]}” is damaged")
        facts = dict(zip(_ENTRY, cells, strict=True))
        return IndexEntry(**facts | {"parameters": json.loads(facts["parameters"])})


_FAILED_COLUMNS = ("path", "size", "mtime_ns", "read_options", "number", "ctime_ns")
_FAILURES = f"SELECT {', '.join(_FAILED_COLUMNS)}, CAST(troubles AS VARCHAR) FROM failures"  # noqa: S608 (constants)
_COLUMNS = ("id", "path", "root", "format", "size", "mtime_ns", "read_options", "ctime_ns")
_SOURCES = f"""SELECT {", ".join(_COLUMNS)}, coalesce(documents, 0), coalesce(gone, 0) FROM sources
LEFT JOIN (SELECT source_id, count(*) AS documents,
    count(CASE WHEN position < 0 THEN 1 END) AS gone
    FROM documents GROUP BY source_id) AS counts ON source_id = id"""  # noqa: S608 (constants)
_SOURCE_TYPES = (str, str, str, int, int, str, int, int, int)


@dataclass(frozen=True, slots=True)
class SQLSources:
    """Source files of documents."""

    connection: Connection

    def known(self) -> dict[str, Source]:
        """Return all sources by path."""
        rows = checked(self.connection.rows(_SOURCES), int, *_SOURCE_TYPES)
        return {source.path: source for source in starmap(Source, rows)}

    def unfinished(self) -> list[str]:
        """Return the paths of files that a run began to read and did not finish cleanly."""
        statement = "SELECT path FROM sources WHERE size = ? ORDER BY path"
        return self.connection.column(statement, UNFINISHED)

    def failed(self) -> dict[str, FailedFile]:
        """Return the files that could not be read without a failure, by path."""
        return {row[0]: _failed_file(*row) for row in self.connection.rows(_FAILURES)}

    def next_id(self) -> int:
        """Return the first free key of a source."""
        return int(self.connection.value("SELECT max(id) FROM sources") or 0) + 1

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
        _upsert(self.connection, "sources", rows, unchanged="path")

    def delete(self, ids: Iterable[int]) -> None:
        """Remove sources together with their remaining documents."""
        self.connection.rows(f"DELETE FROM sources WHERE id {AMONG}", json.dumps(list(ids)))  # noqa: S608 (constants)

    def delete_empty(self, ids: Iterable[int]) -> None:
        """Remove those of some sources that have no documents left."""
        empty = f"""DELETE FROM sources WHERE id {AMONG}
            AND NOT EXISTS (SELECT 1 FROM documents WHERE source_id = sources.id)"""  # noqa: S608 (constants)
        self.connection.rows(empty, json.dumps(list(ids)))

    def save_failed(self, files: Sequence[FailedFile]) -> None:
        """Write files that could not be read, replacing earlier failures."""
        if not files:
            return
        from sqlalchemy import insert

        from lpisearch.storage.dialects import with_checksum
        from lpisearch.storage.tables import FAILURES

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
        if values := [{"gone": path} for path in paths]:
            from sqlalchemy import text

            self.connection.execute(text("DELETE FROM failures WHERE path = :gone"), values)


def _failed_file(*row: Any) -> FailedFile:
    *facts, stored = row
    path = str(facts[0])
    troubles = [Trouble(path, from_plain(parts), where) for where, parts in json.loads(stored)]
    return FailedFile(**dict(zip(_FAILED_COLUMNS, facts, strict=True)), troubles=tuple(troubles))
