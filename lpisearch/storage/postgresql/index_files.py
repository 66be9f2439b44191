"""The files of indexes in the database, in pieces, for servers that share no folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

from lpisearch.storage.postgresql.bulk import copy_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

_PIECE = 1 << 20
_NAMES = text("SELECT DISTINCT name FROM index_files WHERE folder = :folder ORDER BY name")
_NUMBERS = text(
    "SELECT number FROM index_files WHERE folder = :folder AND name = :name ORDER BY number"
)
_READ = text(
    "SELECT content FROM index_files WHERE folder = :folder AND name = :name AND number = :number"
)
_REMOVE = text("DELETE FROM index_files WHERE folder = :folder")
_SWEEP = text("DELETE FROM index_files WHERE folder <> ALL(CAST(:keep AS VARCHAR[]))")
_COLUMNS = ("folder", "name", "number", "content")


class IndexFiles:
    """Files by folder and name."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def names(self, folder: str) -> list[str]:
        """Return the names of the files of an index; none if it is not kept."""
        return list(self._connection.execute(_NAMES, {"folder": folder}).scalars())

    def read(self, folder: str, name: str) -> Iterator[bytes]:
        """Yield a file, some at a time."""
        given = {"folder": folder, "name": name}
        for number in self._connection.execute(_NUMBERS, given).scalars().all():
            yield self._connection.execute(_READ, given | {"number": number}).scalar_one()

    def write(self, folder: str, files: Iterable[Path]) -> None:
        """Keep the files of an index."""
        self._connection.execute(_REMOVE, {"folder": folder})
        for path in files:
            copy_rows(self._connection, "index_files", _COLUMNS, _pieces(folder, path))

    def sweep(self, keep: Iterable[str]) -> None:
        """Remove the files of all indexes but those in these folders."""
        self._connection.execute(_SWEEP, {"keep": list(keep)})


def _pieces(folder: str, path: Path) -> Iterator[tuple[str, str, int, bytes]]:
    with path.open("rb") as stream:
        number = 0
        while (piece := stream.read(_PIECE)) or not number:
            yield folder, path.name, number, piece
            number += 1
