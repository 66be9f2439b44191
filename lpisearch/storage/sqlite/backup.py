"""Copy a library while it is in use."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from lpisearch.errors import LibraryUnwritable
from lpisearch.files import mode_of, partial_beside, sync_folder
from lpisearch.storage.sqlite.connecting import connect_to_read
from lpisearch.storage.sqlite.stating import stated_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def back_up(library: Path, target: Path) -> Path:
    """Write a consistent copy by SQLite's online backup; it appears whole or not at all.

    Raises
    ------
    LibraryUnwritable
        The target's folder cannot be written.
    LibraryDamaged
        The library cannot be read to its end.
    """
    try:
        with partial_beside(target, mode_of(library)) as partial:
            _copy(library, target, partial.path)
            partial.save()
            partial.move_in()
        sync_folder(target.parent)
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error
    return target


def _copy(library: Path, target: Path, partial: Path) -> None:
    with (
        _stated_errors(library, target),
        closing(connect_to_read(library.absolute())) as source,
        closing(sqlite3.connect(partial)) as copy,
    ):
        source.backup(copy)
        # The copy is one file: it needs no -wal beside it to be read.
        copy.execute("PRAGMA journal_mode = DELETE")


@contextmanager
def _stated_errors(library: Path, target: Path) -> Iterator[None]:
    """State an error under the name of the file that it is about."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        damage = error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
        with stated_errors(library if damage else target):
            raise
