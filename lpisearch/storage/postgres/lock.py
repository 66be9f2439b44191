"""Advisory locks.

Ingests share the library, each with exclusive access to the folders that it reads, so ingests of
different folders run side by side. All other writers have the library to themselves.
"""

from __future__ import annotations

import os
import platform
import time
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from lpisearch.errors import LibraryLocked
from lpisearch.storage.postgres.database import LOCKS, connect, translate_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import psycopg

    from lpisearch.location import Address


_PAUSE_SECONDS = 0.05
_HAS_SESSION_TIMEOUT = 140_000  # the first version with the setting
_MOST_FOLDERS = 50  # more are locked by their common parent
_SHARED = "ingest"
_TRY = "SELECT pg_try_advisory_lock{shared}(hashtext('lpisearch ' || current_schema()), %s)"
_RELEASE = "SELECT pg_advisory_unlock_all()"
_HOLDERS = """SELECT application_name, pid FROM pg_locks JOIN pg_stat_activity a USING (pid)
WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database
WHERE datname = current_database()) AND pid <> pg_backend_pid()
AND classid::BIGINT = hashtext('lpisearch ' || current_schema())::BIGINT & 4294967295
AND objid::BIGINT = %s::BIGINT & 4294967295 LIMIT 1"""


@contextmanager
def writer_lock(
    place: Address, purpose: str, wait_seconds: float, folders: Sequence[str] = ()
) -> Iterator[None]:
    """Hold the right to write to some folders of a library, or to all of it."""
    locks = [("library", purpose == _SHARED), *_of_folders(folders)]
    with _locked(place, purpose, locks, wait_seconds):
        yield


@contextmanager
def index_lock(place: Address, wait_seconds: float) -> Iterator[None]:
    """Hold the right to publish an index, while others ingest."""
    with _locked(place, "index", [("indexes", False)], wait_seconds):
        yield


def writer_of(place: Address) -> str:
    """Return the holder of the lock, without waiting; "" if it is free."""
    with translate_errors(place):
        connection = connect(place, autocommit=True)
        try:
            return _holder(connection, "library")
        finally:
            connection.close()


@contextmanager
def _locked(
    place: Address, purpose: str, locks: list[tuple[str, bool]], wait_seconds: float
) -> Iterator[None]:
    deadline = time.monotonic() + wait_seconds
    name = f"lpisearch {purpose} (process {os.getpid()} on {platform.node()})"[:63]
    with translate_errors(place):
        connection = connect(place, application_name=name, autocommit=True)
    try:
        with translate_errors(place):
            if connection.info.server_version >= _HAS_SESSION_TIMEOUT:
                connection.execute("SET idle_session_timeout = 0")
            _take(connection, place, locks, deadline)
        LOCKS.sessions.append(connection)
        yield
    finally:
        with suppress(ValueError):  # the lock was not acquired
            LOCKS.sessions.remove(connection)
        connection.close()


def _take(
    connection: psycopg.Connection[Any],
    place: Address,
    locks: list[tuple[str, bool]],
    deadline: float,
) -> None:
    """Take all locks or none, so that no two processes can deadlock."""
    while True:
        busy = next((name for name, shared in locks if not _try(connection, name, shared)), None)
        if busy is None:
            return
        connection.execute(_RELEASE)
        if not time.monotonic() < deadline:  # written so that "nan" does not wait forever
            raise LibraryLocked(place, _holder(connection, busy) or "another process")
        time.sleep(_PAUSE_SECONDS)


def _try(connection: psycopg.Connection[Any], name: str, shared: bool) -> bool:  # noqa: FBT001 (one of a pair)
    statement = _TRY.format(shared="_shared" if shared else "")
    row = connection.execute(statement, (_number(name),)).fetchone()
    return row is not None and bool(row[0])


def _number(name: str) -> int:
    digest = blake2b(name.encode(errors="surrogateescape"), digest_size=4)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _of_folders(folders: Sequence[str]) -> list[tuple[str, bool]]:
    """Return the locks of folders: each exclusive, those of its parents shared."""
    paths = {PurePath(folder) for folder in folders}
    if len(paths) > _MOST_FOLDERS:
        paths = {PurePath(os.path.commonpath(paths))}
    outer = {path for path in paths if not paths & set(path.parents)}
    above = {parent for path in outer for parent in path.parents}
    return [(str(path), path in above) for path in sorted(outer | above)]


def _holder(connection: psycopg.Connection[Any], name: str) -> str:
    row = connection.execute(_HOLDERS, (_number(name),)).fetchone()
    return str(row[0] or "another process") if row else ""
