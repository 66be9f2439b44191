"""Record the file being read, so that the next run reads it last after a kill.

A file that costs much is met by every run until it has been read or refused. Whoever ends the run
before that shall not meet it first again, with all that comes after it never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.storage import UNDER_WAY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lpisearch.ingest.discovery import FoundFile
    from lpisearch.storage import Store


class UnderWay:
    """Keeps the path of a slow file in the library for as long as it is being read.

    Parameters
    ----------
    store
        The library.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.reading() as snapshot:
            stored = snapshot.settings.get(UNDER_WAY) or {}
        self._path = str(stored.get("path", ""))

    def last(self, files: Iterable[FoundFile]) -> list[FoundFile]:
        """Return the files in their order, but the one at which an earlier run ended comes last."""
        return sorted(files, key=lambda file: file.path == self._path)

    def begin(self, file: FoundFile) -> None:
        """Note that a file makes the run wait."""
        self._keep(file.path)

    def end(self, file: FoundFile) -> None:
        """Note that a file has been read, or refused."""
        if self._path == file.path:
            self._keep("")

    def _keep(self, path: str) -> None:
        self._path = path
        with self._store.writing() as transaction:
            transaction.settings.set(UNDER_WAY, {"path": path})
