"""Back up a PostgreSQL library to a library file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import LibraryUnwritable
from lpisearch.files import partial_beside, sync_folder
from lpisearch.storage.postgresql.engine import Database

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.places import Address

_FOR_ME_ALONE = 0o600


def back_up(library: Address, target: Path) -> Path:
    """Write one state of a library into a file of SQLite; it appears whole or not at all.

    Indexes are not part of it: they are built from it anew.

    Raises
    ------
    LibraryUnwritable, LibraryError
    """
    from lpisearch.storage.sqlite.copying import copy_rows
    from lpisearch.storage.sqlite.schema import create_library

    try:
        with partial_beside(target, _FOR_ME_ALONE) as partial:
            with (
                Database.connect(library, writable=False) as server,
                server.reading() as source,
                create_library(partial.path) as file,
                file.writing(durable=True) as copy,
            ):
                copy_rows(source, copy)
            partial.save()
            partial.move_in()
        sync_folder(target.parent)
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error
    return target
