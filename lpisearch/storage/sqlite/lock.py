"""One writer at a time.

SQLite alone would let two ingests alternate batch by batch and overwrite each other's documents,
and could not name the holder. So a writer holds two locks: one on a file next to the library, at
the real path that all links lead to, which names the holder and is removed on release; the other on
a byte of the library itself, far beyond those that SQLite uses, so that no hard link escapes it.
Readers need neither.
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
    """Hold the right to write to a library; LibraryLocked names the current holder."""
    deadline = time.monotonic() + wait_seconds
    path = real_path(library)
    with _translate_os_errors(library):
        stream = _locked_file(library, path.with_name(f"{path.name}.lock"), deadline)
    with stream:
        try:
            _sign(stream, purpose)
            with _locked_library(library, path, deadline):
                yield
        finally:
            _forget(path.with_name(f"{path.name}.lock"))


@contextmanager
def _translate_os_errors(library: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LibraryUnwritable(library, error.strerror or str(error)) from error


def _locked_file(library: Path, lock: Path, deadline: float) -> IO[str]:
    """Open and lock the lock file, again if its last holder removed it meanwhile."""
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
    """Open the lock file without following links."""
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
    # For the messages of waiting processes only: a full disk must not stop the writer here.
    with suppress(OSError):
        os.ftruncate(stream.fileno(), 0)
        os.write(stream.fileno(), json.dumps(holder).encode())


def writer_of(library: Path) -> str:
    """Return the holder of the lock, without waiting; "" if it is free."""
    path = real_path(library)
    try:
        stream = path.with_name(f"{path.name}.lock").open("r+", encoding="utf-8")
    except OSError:
        return ""
    with stream:  # closing it releases the lock, if it was free
        return "" if _try_lock(stream) else _holder(stream)


def is_signature(content: bytes) -> bool:
    """Tell whether a file is a lock file, as signed by its last holder."""
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

    _BYTE = 1 << 30  # far beyond the signature, which stays readable

    def _try_lock(stream: IO[str]) -> bool:
        os.lseek(stream.fileno(), _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _forget(lock: Path) -> None:
        """Leave the file: Windows cannot delete an open file."""

else:
    import fcntl

    def _try_lock(stream: IO[str]) -> bool:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _forget(lock: Path) -> None:
        """Leave the file: Windows cannot delete an open file."""
        with suppress(OSError):
            lock.unlink()


if sys.platform == "linux":
    import errno
    import struct

    @contextmanager
    def _locked_library(library: Path, path: Path, deadline: float) -> Iterator[None]:
        """Lock a byte of the library itself, if it exists and the file system supports it."""
        with _translate_os_errors(library):
            try:
                descriptor = os.open(path, os.O_RDWR | _NOT_THROUGH_LINKS)
            except (FileNotFoundError, IsADirectoryError):  # reported when it is opened
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
            # Any other error: the file system does not support such locks.
            return error.errno not in {errno.EAGAIN, errno.EACCES}
        return True

    def _set_byte(descriptor: int, kind: int) -> None:
        # A lock of the open file, not of the process, so that SQLite closing the file keeps it.
        lock = struct.pack("hhqqi", kind, os.SEEK_SET, _LOCKED_BYTE, 1, 0)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)

else:  # pragma: no cover (only the lock file is used there)

    @contextmanager
    def _locked_library(_library: Path, _path: Path, _deadline: float) -> Iterator[None]:
        """Lock a byte of the library itself, if it exists and the file system supports it."""
        yield
