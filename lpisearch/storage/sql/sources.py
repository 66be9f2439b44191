"""Source files of documents, and how far they were read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, func, insert, select

from lpisearch.messages import as_plain, from_plain
from lpisearch.records import UNFINISHED, FailedFile, Source, Trouble
from lpisearch.storage.sql.checksums import with_checksum
from lpisearch.storage.sql.dialects import insert_into
from lpisearch.storage.sql.tables import DOCUMENTS, FAILURES, SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, RowMapping

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
