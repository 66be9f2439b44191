"""Open, create, lock, back up: by address.

A store holds one library: documents with labels and tokens, the files they came from, the
register of its indexes, and settings. What may be asked of it is in `storage/sql/`: `Store`,
`ReadTransaction` and `Transaction`, which `storage/sqlite/` and `storage/postgresql/` complete;
`tests/contracts/stores/` holds both to this:

* **A snapshot sees one unchanging state**, that of its first question, whatever is written
  meanwhile. Reading never waits for a writer.
* **A transaction is kept together or not at all.** It sees what it has written itself.
* **Keys** are numbers of documents, ascending in the order in which they first came. A document
  keeps its key when it changes.
* **Strings** hold neither NUL nor halves of surrogate pairs: readers remove them, and a store
  refuses them with a ValueError. Sizes, times and keys go up to 63 bits.
* **Threads**: a store opened to read may be shared by threads, each with snapshots of its own;
  one opened to write, every snapshot and every transaction belong to one thread.
* **Errors** are those of `lpisearch.errors`; no type of a database crosses.

Each function imports its store when it is called.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from lpisearch.errors import AddressRefused, DriverMissing
from lpisearch.location import Address

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from lpisearch.location import Location
    from lpisearch.storage.store import Store


OWN_HEAD_BYTES = 4096
"""How much of a file `is_own_content` wants to see."""


def is_own_content(head: bytes) -> bool:
    """Tell from the beginning of a file whether a store wrote it: a library, a copy, a lock."""
    from lpisearch.storage.sqlite.database import is_library
    from lpisearch.storage.sqlite.lock import is_signature

    return is_library(head) or is_signature(head)


def open_store(place: Location, *, writable: bool = False) -> Store:
    """Open an existing library, first bringing it to the schema of this program.

    A copy of an older library in a file is kept beside it, as `NAME.before-REVISION`.
    """
    if isinstance(place, Address):
        _check(place)
        from lpisearch.storage.postgres.store import PostgreSQLStore

        return PostgreSQLStore.open(place, writable=writable)
    from lpisearch.storage.sqlite.store import SQLiteStore

    return SQLiteStore.open(place, writable=writable)


def create_store(place: Location) -> Store:
    """Open a library for writing; make it first if there is none."""
    if isinstance(place, Address):
        _check(place)
        from lpisearch.storage.postgres.store import PostgreSQLStore

        return PostgreSQLStore.create(place)
    from lpisearch.storage.sqlite.store import SQLiteStore

    return SQLiteStore.create(place)


def writer_lock(
    place: Location, purpose: str, wait_seconds: float, folders: Sequence[str] = ()
) -> AbstractContextManager[None]:
    """Hold the right to write to a library, which need not be there yet."""
    if isinstance(place, Address):
        _check(place)
        from lpisearch.storage.postgres import lock as server_lock

        return server_lock.writer_lock(place, purpose, wait_seconds, folders)
    from lpisearch.storage.sqlite import lock

    return lock.writer_lock(place, purpose, wait_seconds)


def writer_of(place: Location) -> str:
    """Return who holds the right to write to a library; "" if nobody does."""
    if isinstance(place, Address):
        _check(place)
        from lpisearch.storage.postgres import lock as server_lock

        return server_lock.writer_of(place)
    from lpisearch.storage.sqlite import lock

    return lock.writer_of(place)


def index_lock(place: Location, wait_seconds: float) -> AbstractContextManager[None]:
    """Hold the right to put an index in use, for one who has the right to write already."""
    if isinstance(place, Address):
        from lpisearch.storage.postgres import lock

        return lock.index_lock(place, wait_seconds)
    return nullcontext()


def exists(place: Location) -> bool:
    """Tell whether there is a library."""
    if isinstance(place, Address):
        _check(place)
        from lpisearch.storage.postgres import schema

        return schema.exists(place)
    return place.exists()


def back_up(place: Location, target: Path) -> Path:
    """Write a consistent copy of a library in use, into a file; it appears whole or not at all."""
    if isinstance(place, Address):
        _check(place)
        from lpisearch.storage.postgres import schema as server_backup

        return server_backup.back_up(place, target)
    from lpisearch.storage.sqlite import schema

    return schema.back_up(place, target)


def upgrade_store(place: Location) -> Path | None:
    """Bring an older library to the schema of this program, in one transaction."""
    if isinstance(place, Address):
        open_store(place).close()
        return None
    from lpisearch.storage.sqlite import schema

    return schema.upgrade(place)


def schema_revision() -> str:
    """Return the revision of the schema that this program writes."""
    from lpisearch.storage import tables

    return tables.HEAD


def schema_differences(place: Location) -> list[str]:
    """Return how the tables of a library differ from what this program expects."""
    if isinstance(place, Address):
        _check(place)
        from lpisearch.storage.postgres import schema as server_schema

        return server_schema.differences(place)
    from lpisearch.storage.sqlite import schema

    return schema.differences(place)


def _check(place: Address) -> None:
    """Refuse an address that is none of PostgreSQL, and any where psycopg is missing."""
    if not place.is_understood:
        raise AddressRefused(place)
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise DriverMissing from None
