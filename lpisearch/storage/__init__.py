"""Open, create, lock and back up a library, in a file (SQLite) or on a server (PostgreSQL).

A store holds one library: documents with labels and tokens, the files they came from, the register
of its indexes, and settings. Both backends keep these rules (`tests/contracts/stores/`):

* **A read transaction sees one unchanging state**, that of its first query, whatever is written
  meanwhile. Readers never wait for writers.
* **A write transaction commits as a whole or not at all**, and sees its own writes.
* **Keys** are numbers of documents, ascending in the order in which they were added. A document
  keeps its key when it changes.
* **Strings** contain neither NUL nor lone surrogates: readers remove them, and a store refuses them
  with a ValueError. Sizes, times and keys have up to 63 bits.
* **Threads** may share a store opened for reading, each with its own transactions; a store opened
  for writing, and every transaction, belongs to one thread.
* **Errors** are those of `lpisearch.errors`; no exception of a database driver escapes.

Each function imports its backend when it is called.
"""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from lpisearch.errors import AddressRefused, DriverMissing
from lpisearch.location import Address

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from lpisearch.location import Location
    from lpisearch.storage.store import Store


def is_own_content(head: bytes) -> bool:
    """Tell from the first bytes of a file whether it is a library, a copy of one, or a lock."""
    from lpisearch.storage.sqlite.database import is_library
    from lpisearch.storage.sqlite.lock import is_signature

    return is_library(head) or is_signature(head)


def _backend(location: Location, module: str) -> Any:
    """Import a module of the database of a location; those of both have the same functions."""
    if not isinstance(location, Address):
        return import_module(f"lpisearch.storage.sqlite.{module}")
    if not location.is_understood:
        raise AddressRefused(location)
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise DriverMissing from None
    return import_module(f"lpisearch.storage.postgres.{module}")


def open_store(location: Location, *, writable: bool = False) -> Store:
    """Open an existing library, upgrading an older schema first.

    An older library in a file is first copied to `NAME.before-REVISION`.
    """
    opened = _backend(location, "schema").open_library(location, writable=writable)
    return cast("Store", opened.store())


def create_store(location: Location) -> Store:
    """Open a library for writing; create it first if it does not exist."""
    return cast("Store", _backend(location, "schema").create_library(location).store())


def writer_lock(
    location: Location, purpose: str, wait_seconds: float, folders: Sequence[str] = ()
) -> AbstractContextManager[None]:
    """Hold the exclusive right to write to a library, which may not exist yet.

    `purpose` is shown to other processes that wait; LibraryLocked names the holder. On a server,
    processes that "ingest" different `folders` do not exclude each other.
    """
    own = (folders,) if isinstance(location, Address) else ()
    lock = _backend(location, "lock").writer_lock(location, purpose, wait_seconds, *own)
    return cast("AbstractContextManager[None]", lock)


def writer_of(location: Location) -> str:
    """Return a description of the process that holds the writer lock; "" if none does."""
    return str(_backend(location, "lock").writer_of(location))


def index_lock(location: Location, wait_seconds: float) -> AbstractContextManager[None]:
    """Hold the right to publish an index; the caller already holds the writer lock."""
    if isinstance(location, Address):
        from lpisearch.storage.postgres import lock

        return lock.index_lock(location, wait_seconds)
    return nullcontext()


def exists(location: Location) -> bool:
    """Tell whether there is a library."""
    if isinstance(location, Address):
        return bool(_backend(location, "schema").exists(location))
    return location.exists()


def back_up(location: Location, target: Path) -> Path:
    """Write a consistent copy of a library in use into a file, atomically."""
    return cast("Path", _backend(location, "schema").back_up(location, target))


def upgrade_store(location: Location) -> Path | None:
    """Upgrade an older library in one transaction; return the copy of a file made before."""
    if isinstance(location, Address):
        open_store(location).close()
        return None
    return cast("Path | None", _backend(location, "schema").upgrade(location))


def schema_revision() -> str:
    """Return the revision of the schema that this program writes."""
    from lpisearch.storage.integrity import HEAD

    return HEAD


def schema_differences(location: Location) -> list[str]:
    """Return how the tables of a library differ from the expected schema."""
    return list(_backend(location, "schema").differences(location))
