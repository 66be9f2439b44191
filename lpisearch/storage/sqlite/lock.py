"""One writer at a time: a lock file beside the library, released by the system at any death.

SQLite alone would let two ingests take turns batch by batch and trip over each other's
documents; and it could not say who holds the library.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import IO, TYPE_CHECKING

from lpisearch.errors import LibraryLocked, LibraryUnwritable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PAUSE_SECONDS = 0.05
_SIGNATURE = {"purpose", "process", "host", "since"}


@contextmanager
def writer_lock(library: Path, purpose: str, wait_seconds: float) -> Iterator[None]:
    """Hold the right to write to a library.

    Raises
    ------
    LibraryLocked
        Another process still holds it after `wait_seconds`; the message names it.
    LibraryUnwritable
        The folder cannot hold the lock file.
    """
    lock = library.with_name(f"{library.name}.lock")
    try:
        # Append mode neither truncates what the holder wrote nor needs the file to exist.
        stream = lock.open("a+", encoding="utf-8")
    except OSError as error:
        raise LibraryUnwritable(library, error.strerror or str(error)) from error
    with stream:
        deadline = time.monotonic() + wait_seconds
        while not _try_lock(stream):
            if not time.monotonic() < deadline:  # so that "nan" does not wait for ever
                raise LibraryLocked(library, _holder(stream))
            time.sleep(_PAUSE_SECONDS)
        _sign(stream, purpose)
        yield


def _sign(stream: IO[str], purpose: str) -> None:
    holder = {
        "purpose": purpose,
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    # A courtesy to those who wait: a full disk must not stop a writer here, unsaid.
    with suppress(OSError):
        os.ftruncate(stream.fileno(), 0)
        os.write(stream.fileno(), json.dumps(holder).encode())


def is_signature(content: bytes) -> bool:
    """Tell whether a file is the lock of a library, as its last holder signed it."""
    if not content.startswith(b"{"):
        return False
    try:
        signature = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(signature, dict) and signature.keys() == _SIGNATURE


def _holder(stream: IO[str]) -> str:
    try:
        stream.seek(0)
        holder = json.loads(stream.read())
        return "lpisearch {purpose} (process {process} on {host}, since {since})".format(**holder)
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


if sys.platform == "win32":  # pragma: no cover (the lock of the other system is tested)
    import msvcrt

    _LOCKED_BYTE = 1 << 30  # far behind what the holder writes, so that it can be read

    def _try_lock(stream: IO[str]) -> bool:
        os.lseek(stream.fileno(), _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(stream: IO[str]) -> bool:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
