"""Settings, index entries, source files, failures."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import starmap
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import bindparam, delete, func, insert, select
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

    from sqlalchemy import Connection, RowMapping


IN_PROGRESS = "under way"  # the setting that says which file a run was waiting for
TOKENISER = "tokeniser"  # the setting that says how the words of a library are cut


@dataclass(frozen=True, slots=True)
class SQLSettings:
    """Stored settings."""

    connection: Connection

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a setting, or None if it was never stored."""
        value = cast_to(SETTINGS.c.value, Text)
        statement = select(value, SETTINGS.c.checksum).where(SETTINGS.c.name == name)
        found = self.connection.execute(statement).first()
        if found is None:
            return None
        stored, stated = found
        if checksum_of(self.connection, SETTINGS.name, name, stored) != stated:
            raise DamagedCell(f"the setting “{name}” is damaged")
        return cast("dict[str, Any]", json.loads(stored))

    def set(self, name: str, value: Mapping[str, Any]) -> None:
        """Store a setting, replacing what it was."""
        values = with_checksum(self.connection, SETTINGS, {"name": name, "value": dict(value)})
        statement = insert_into(self.connection, SETTINGS).values(values)
        changed = {each: statement.excluded[each] for each in ("value", "checksum")}
        self.connection.execute(
            statement.on_conflict_do_update(index_elements=["name"], set_=changed)
        )


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One index of the library.

    Attributes
    ----------
    name, method, parameters
        What was asked for.
    fingerprint
        Of the documents that it covers.
    folder
        The name of its folder below the folder of all indexes.
    created_at, state
        When it was built, and "ready".
    """

    name: str
    method: str
    parameters: dict[str, Any]
    fingerprint: str
    folder: str
    created_at: str
    state: str = "ready"

    @property
    def spec(self) -> IndexSpec:
        """What was asked for."""
        asked = {"name": self.name, "method": self.method}
        return IndexSpec.from_dict(self.parameters | asked)


_AS_STORED = select(
    *(
        cast_to(column, Text).label(column.name) if column.name == "parameters" else column
        for column in INDEXES.columns
    )
)


@dataclass(frozen=True, slots=True)
class SQLIndexes:
    """The register of indexes."""

    connection: Connection

    def entries(self) -> list[IndexEntry]:
        """Return all indexes by name."""
        rows = self.connection.execute(_AS_STORED.order_by(INDEXES.c.name)).mappings()
        return [self._entry(dict(row)) for row in rows]

    def save(self, entry: IndexEntry) -> None:
        """Put an index in use, instead of the one that had its name."""
        values = with_checksum(self.connection, INDEXES, asdict(entry))
        statement = insert_into(self.connection, INDEXES).values(values)
        changed = {name: statement.excluded[name] for name in values if name != "name"}
        self.connection.execute(
            statement.on_conflict_do_update(index_elements=["name"], set_=changed)
        )

    def delete(self, names: Iterable[str]) -> None:
        """Forget indexes."""
        for name in names:
            self.connection.execute(delete(INDEXES).where(INDEXES.c.name == name))

    def _entry(self, row: dict[str, Any]) -> IndexEntry:
        stated = row.pop("checksum")
        if checksum_of(self.connection, INDEXES.name, *row.values()) != stated:
            raise DamagedCell(f"the record of the index “{row['name']}” is damaged")
        return IndexEntry(**row | {"parameters": json.loads(row["parameters"])})


_FAILED_COLUMNS = ("path", "size", "mtime_ns", "read_options", "number")
_COLUMNS = ("id", "path", "root", "format", "size", "mtime_ns", "read_options")


@dataclass(frozen=True, slots=True)
class SQLSources:
    """Files of documents."""

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
            source.path: source for source in starmap(Source, self.connection.execute(statement))
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
        """Return the keys of sources that another machine has read, whose files are not here."""
        return set()

    def reserve(self, number: int) -> int:  # noqa: ARG002 (who writes to a file is alone)
        """Return the first of so many keys that no other source will get."""
        return self.next_id()

    def save(self, sources: Sequence[Source], now: str) -> None:
        """Write sources, replacing what was known of them."""
        if not sources:
            return
        values = [
            with_checksum(
                self.connection,
                SOURCES,
                {name: getattr(source, name) for name in _COLUMNS} | {"read_at": now},
            )
            for source in sources
        ]
        statement = insert_into(self.connection, SOURCES)
        replaced = [name for name in values[0] if name not in {"id", "path"}]
        changed = {name: statement.excluded[name] for name in replaced}
        self.connection.execute(
            statement.on_conflict_do_update(index_elements=["id"], set_=changed), values
        )

    def delete(self, ids: Iterable[int]) -> None:
        """Forget sources; any document that is left of them goes too."""
        for source_id in ids:
            self.connection.execute(delete(SOURCES).where(SOURCES.c.id == source_id))

    def save_failed(self, files: Sequence[FailedFile]) -> None:
        """Write files that could not be read, replacing what was known of them."""
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
        """Forget that files could not be read."""
        values = [{"gone": path} for path in paths]
        if values:
            self.connection.execute(
                delete(FAILURES).where(FAILURES.c.path == bindparam("gone")), values
            )


def _failed_file(row: RowMapping) -> FailedFile:
    facts = {name: row[name] for name in _FAILED_COLUMNS}
    troubles = [Trouble(row["path"], from_plain(parts), where) for where, parts in row["troubles"]]
    return FailedFile(**facts, troubles=tuple(troubles))
