"""The files that documents came from: what is known of them, and how far they were read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.sqlite import insert

from lpisearch.records import UNFINISHED, Source
from lpisearch.storage.sqlite.tables import DOCUMENTS, SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

_COLUMNS = ("id", "path", "root", "format", "size", "mtime_ns", "read_options")


@dataclass(frozen=True, slots=True)
class SQLiteSources:
    """Files of documents; the methods are those of `contract.WritableSources`."""

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

    def next_id(self) -> int:
        """Return the first free key of a source."""
        return (self.connection.execute(select(func.max(SOURCES.c.id))).scalar() or 0) + 1

    def save(self, sources: Sequence[Source], now: str) -> None:
        """Write sources, replacing what was known of them."""
        if not sources:
            return
        values = [
            {name: getattr(source, name) for name in _COLUMNS} | {"read_at": now}
            for source in sources
        ]
        statement = insert(SOURCES)
        replaced = [name for name in values[0] if name not in {"id", "path"}]
        changed = {name: statement.excluded[name] for name in replaced}
        self.connection.execute(
            statement.on_conflict_do_update(index_elements=["id"], set_=changed), values
        )

    def delete(self, ids: Iterable[int]) -> None:
        """Forget sources; any document that is left of them goes too."""
        for source_id in ids:
            self.connection.execute(delete(SOURCES).where(SOURCES.c.id == source_id))
