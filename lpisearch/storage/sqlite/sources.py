"""The files that documents came from: what is known of them, and how far they were read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.sqlite import insert

from lpisearch.storage.sqlite.models import DocumentRow, SourceRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

UNFINISHED = -1


@dataclass(frozen=True, slots=True)
class Source:
    """One file, as it was when it was read.

    Attributes
    ----------
    id
        Its key in the library.
    path, root
        Absolute path, and the folder whose relative paths name its documents.
    format
        The reader's name.
    size, mtime_ns
        Of the file; `UNFINISHED` until it has been read to its end without a failure.
    read_options
        A fingerprint of the options that shaped its documents.
    documents, gone
        How many documents the library has from it, and how many of these it no longer has.
    """

    id: int
    path: str
    root: str
    format: str
    size: int
    mtime_ns: int
    read_options: str
    documents: int = 0
    gone: int = 0


def known_sources(connection: Connection) -> dict[str, Source]:
    """Return all sources of the library by path."""
    counts = (
        select(
            DocumentRow.source_id,
            func.count().label("documents"),
            func.count().filter(DocumentRow.position < 0).label("gone"),
        )
        .group_by(DocumentRow.source_id)
        .subquery()
    )
    statement = select(
        SourceRow.id,
        SourceRow.path,
        SourceRow.root,
        SourceRow.format,
        SourceRow.size,
        SourceRow.mtime_ns,
        SourceRow.read_options,
        func.coalesce(counts.c.documents, 0),
        func.coalesce(counts.c.gone, 0),
    ).outerjoin(counts, counts.c.source_id == SourceRow.id)
    return {row[1]: Source(*row) for row in connection.execute(statement)}


def save_sources(connection: Connection, sources: Sequence[Source], now: str) -> None:
    """Write sources, replacing what was known of them."""
    if not sources:
        return
    values = [
        {
            "id": source.id,
            "path": source.path,
            "root": source.root,
            "format": source.format,
            "size": source.size,
            "mtime_ns": source.mtime_ns,
            "read_options": source.read_options,
            "read_at": now,
        }
        for source in sources
    ]
    statement = insert(SourceRow)
    changed = {name: statement.excluded[name] for name in values[0] if name not in {"id", "path"}}
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=changed), values)


def delete_sources(connection: Connection, ids: Iterable[int]) -> None:
    """Forget sources; any document that is left of them goes too."""
    for source_id in ids:
        connection.execute(delete(SourceRow).where(SourceRow.id == source_id))


def next_source_id(connection: Connection) -> int:
    """Return the first free key."""
    return (connection.execute(select(func.max(SourceRow.id))).scalar() or 0) + 1


def unfinished_sources(connection: Connection) -> list[str]:
    """Return the paths of files that a run began to read and did not finish cleanly."""
    statement = select(SourceRow.path).where(SourceRow.size == UNFINISHED).order_by(SourceRow.path)
    return list(connection.execute(statement).scalars())
