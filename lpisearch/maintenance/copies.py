"""Back up and upgrade a library: `lpisearch db`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch import storage
from lpisearch.errors import BadOption, LibraryNotFound
from lpisearch.files import sweep_copies
from lpisearch.settings import is_own_place

if TYPE_CHECKING:
    from lpisearch.places import Place


def upgrade_library(library: Place) -> dict[str, Any]:
    """Bring an older library to this program's schema; a newer program does so by itself."""
    if not storage.exists(library):
        raise LibraryNotFound(library)
    copy = storage.upgrade_store(library)
    return {
        "library": str(library),
        "schema": storage.schema_revision(),
        "copy": str(copy) if copy else None,
    }


def check_schema(library: Place) -> list[str]:
    """Return how the tables differ from what this program expects."""
    with storage.open_store(library):
        return storage.schema_differences(library)


def back_up_library(library: Place, target: Path | None = None) -> Path:
    """Copy a library while it is in use.

    Parameters
    ----------
    library
        The database file.
    target
        The copy, which must not exist; a name with date and time if not given, beside the library
        or in the current folder. A library of a server becomes one in a file.

    Raises
    ------
    BadOption, LibraryError
    """
    with storage.open_store(library):
        pass
    stem, folder = library.name, Path()
    if isinstance(library, Path):
        stem, folder = library.stem, library.parent
    if target is None:
        sweep_copies(folder, stem)
        stamp = _local_time().strftime("%Y%m%d-%H%M%S")
        target = folder / f"{stem}-{stamp}.db"
    elif target.is_dir():
        target /= library.name if isinstance(library, Path) else f"{stem}.db"
    if target.exists():
        raise BadOption("target", f"{target} already exists; a backup never overwrites a file")
    if is_own_place(target, library):
        raise BadOption("target", f"{target} is one of the library's own files")
    return storage.back_up(library, target)


def _local_time() -> datetime:
    try:
        return datetime.now().astimezone()
    except ValueError:  # a time zone of more than a day, as TZ=UTC-25
        return datetime.now(UTC)
