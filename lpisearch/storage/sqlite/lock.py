"""One writer at a time.

SQLite alone would let two ingests take turns batch by batch and trip over each other's
documents; and it could not say who holds the library. So a writer holds two locks. One is on a
file beside the library, at the real path that all links lead to; it says who holds it, and goes
when it is let go. The other is on a byte of the library itself, far behind all that SQLite
writes or locks: no name escapes it. Readers ask for neither.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import IO, TYPE_CHECKING

from lpisearch.errors import LibraryLocked, LibraryUnwritable
from lpisearch.files import mode_of
from lpisearch.location import real_path
from lpisearch.storage.sqlite.database import close_when_idle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


_PAUSE_SECONDS = 0.05
_SIGNATURE = {"purpose", "process", "host", "since"}
_NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0)
_LOCKED_BYTE = 1 << 62


@contextmanager
def writer_lock(library: Path, purpose: str, wait_seconds: float) -> Iterator[None]:
    """Hold the right to write to a library."""
    deadline = time.monotonic() + wait_seconds
    path = real_path(library)
    with _stated(library):
        stream = _locked_file(library, path.with_name(f"{path.name}.lock"), deadline)
    with stream:
        try:
            _sign(stream, purpose)
            with _locked_library(library, path, deadline):
                yield
        finally:
            _forget(path.with_name(f"{path.name}.lock"))


@contextmanager
def _stated(library: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LibraryUnwritable(library, error.strerror or str(error)) from error


def _locked_file(library: Path, lock: Path, deadline: float) -> IO[str]:
    """Open the lock file and lock it; anew, where the holder before took it away."""
    while True:
        stream = _open(library, lock)
        try:
            _wait(partial(_try_lock, stream), deadline, library, partial(_holder, stream))
            if os.path.samestat(os.fstat(stream.fileno()), lock.stat()):
                return stream
        except FileNotFoundError:
            pass
        except BaseException:
            stream.close()
            raise
        stream.close()


def _open(library: Path, lock: Path) -> IO[str]:
    """Open the lock file, which is not followed if it is a link to another file."""
    mode = mode_of(library)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | _NOT_THROUGH_LINKS, mode)
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
        os.close(descriptor)
        raise LibraryUnwritable(library, f"{lock.name} exists and is not an lpisearch lock file")
    return os.fdopen(descriptor, "r+", encoding="utf-8")


def _wait(
    locks: Callable[[], bool], deadline: float, library: Path, holder: Callable[[], str]
) -> None:
    while not locks():
        if not time.monotonic() < deadline:  # so that "nan" does not wait for ever
            raise LibraryLocked(library, holder())
        time.sleep(_PAUSE_SECONDS)


def _sign(stream: IO[str], purpose: str) -> None:
    holder = {
        "purpose": purpose,
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    # A courtesy to those who wait: a full disk must not stop a writer here, unsaid.
    with suppress(OSError):
        os.ftruncate(stream.fileno(), 0)
        os.write(stream.fileno(), json.dumps(holder).encode())


def writer_of(library: Path) -> str:
    """Return who holds the right to write, without waiting for it; "" if nobody does."""
    path = real_path(library)
    try:
        stream = path.with_name(f"{path.name}.lock").open("r+", encoding="utf-8")
    except OSError:
        return ""
    with stream:  # which lets go of the lock, if nobody had it
        return "" if _try_lock(stream) else _holder(stream)


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

    _BYTE = 1 << 30  # far behind what the holder writes, so that it can be read

    def _try_lock(stream: IO[str]) -> bool:
        os.lseek(stream.fileno(), _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _forget(lock: Path) -> None:
        """Leave it: an open file cannot be taken away here."""

else:
    import fcntl

    def _try_lock(stream: IO[str]) -> bool:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _forget(lock: Path) -> None:
        with suppress(OSError):
            lock.unlink()


if sys.platform == "linux":
    import errno
    import struct

    @contextmanager
    def _locked_library(library: Path, path: Path, deadline: float) -> Iterator[None]:
        """Lock a byte of the library itself, if it is there and the file system can."""
        with _stated(library):
            try:
                descriptor = os.open(path, os.O_RDWR | _NOT_THROUGH_LINKS)
            except (FileNotFoundError, IsADirectoryError):  # said by who opens it
                descriptor = -1
        if descriptor < 0:
            yield
            return
        try:
            _wait(partial(_try_byte, descriptor), deadline, library, lambda: "another process")
            yield
        finally:
            _set_byte(descriptor, fcntl.F_UNLCK)
            close_when_idle(descriptor)

    def _try_byte(descriptor: int) -> bool:
        try:
            _set_byte(descriptor, fcntl.F_WRLCK)
        except OSError as error:
            return error.errno not in {errno.EAGAIN, errno.EACCES}  # else it knows no such locks
        return True

    def _set_byte(descriptor: int, kind: int) -> None:
        # A lock of the open file, not of the process: SQLite cannot let it go by closing the file.
        lock = struct.pack("hhqqi", kind, os.SEEK_SET, _LOCKED_BYTE, 1, 0)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)

else:  # pragma: no cover (the file beside the library is the lock there)

    @contextmanager
    def _locked_library(_library: Path, _path: Path, _deadline: float) -> Iterator[None]:
        yield
