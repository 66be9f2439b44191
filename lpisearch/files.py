"""Write files atomically.

Readers see the old or the new file; a kill or a full disk leaves the old one. Nothing is written
through a planted link. The next writer of a file removes what a killed one left: a partial file is
locked as long as its writer lives.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, BinaryIO

from lpisearch.errors import FileInTheWay, ReportUnwritable
from lpisearch.location import Address, Location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


FOR_ME_ALONE = 0o600
ANYONE = 0o666  # of a new file, before the user's umask
_BEGINNING = 1 << 16  # bytes that show the kind of a file
_NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0)
_AS_THEY_ARE = getattr(os, "O_BINARY", 0)


def create(path: Path, mode: int = ANYONE) -> IO[bytes]:
    """Create and open a new file; an existing file or link is an error."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NOT_THROUGH_LINKS | _AS_THEY_ARE
    return os.fdopen(os.open(path, flags, mode), "w+b")


def open_regular(path: Path) -> BinaryIO:
    """Open a file of someone else to read: no pipe, device or link, none of which may end."""
    stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 (returned)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return stream


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What is read for somebody else than the user.

    Attributes
    ----------
    within
        The real paths of folders outside of which no file is opened; () allows all.
    seconds
        Processor time for each file, which a process of low priority reads; 0 for the usual.
    """

    within: tuple[str, ...] = ()
    seconds: float = 0.0

    def allows(self, real: str) -> bool:
        """Tell whether a real path is in one of the folders."""
        return not self.within or any(map(PurePath(real).is_relative_to, self.within))


_UNLIMITED = ReadLimits()
_LIMITS: ContextVar[ReadLimits] = ContextVar("read_limits", default=_UNLIMITED)


def read_limits() -> ReadLimits:
    """Return the limits of what is being done."""
    return _LIMITS.get()


@contextmanager
def limited_reading(within: Iterable[Path] = (), seconds: float = 0.0) -> Iterator[None]:
    """Limit what is read in this block, by this thread and the processes that read for it."""
    token = _LIMITS.set(ReadLimits(tuple(map(os.path.realpath, within)), seconds))
    try:
        yield
    finally:
        _LIMITS.reset(token)


def open_within(path: Path, within: Sequence[str] = ()) -> BinaryIO:
    """Open a file to read, if the file that is open is in one of the folders, whatever was named.

    A folder may have become a link since its name was checked: what counts is the descriptor.
    """
    if not within:
        return path.open("rb")
    stream = open(path, "rb", opener=_at_once)  # noqa: SIM115 (returned)
    is_allowed = ReadLimits(tuple(within)).allows(_real_path(stream.fileno(), str(path)))
    if not (is_allowed and stat.S_ISREG(os.fstat(stream.fileno()).st_mode)):
        stream.close()
        raise PermissionError(errno.EACCES, _OUTSIDE, str(path))
    return stream


_OUTSIDE = "it is outside the allowed folders"


def refuse_outside(folder: str) -> None:
    """Raise PermissionError for a folder outside of those within which is read now."""
    limits = read_limits()
    if not limits.within:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if not limits.allows(_real_path(descriptor, folder)):
            raise PermissionError(errno.EACCES, _OUTSIDE, folder)
    finally:
        os.close(descriptor)


def _real_path(descriptor: int, path: str) -> str:
    """Return the real path of an open file or folder, or "" if nothing tells it."""
    if sys.platform == "linux":
        with suppress(OSError):
            return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    real = Path(path).resolve()
    return str(real) if os.path.samestat(real.stat(), os.fstat(descriptor)) else ""


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | _NOT_THROUGH_LINKS | getattr(os, "O_NONBLOCK", 0))


def path_below(named: str, roots: Iterable[Path]) -> Path | None:
    """Return the real path of a file or folder below one of some folders, or None.

    Links and `..` are resolved first. A relative path is tried below each folder.
    """
    for root in (Path(os.path.realpath(folder)) for folder in roots):
        try:
            path = (root / named).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            continue
        if path.is_relative_to(root):
            return path
    return None


def mode_of(path: Location) -> int:
    """Return the permissions of a library's file, for files that are made from it.

    A database server has permissions of its own: files of such a library are private.
    """
    if isinstance(path, Address):
        return FOR_ME_ALONE
    try:
        return stat.S_IMODE(path.stat().st_mode) & ANYONE
    except FileNotFoundError:
        return ANYONE


def folder_mode(mode: int) -> int:
    """Return the mode of a folder that those can enter who can read files of this mode."""
    return mode | (mode & 0o444) >> 2


def make_folders(folder: Path, mode: int) -> None:
    """Create a folder, and its parents, for files of a mode; its owner can write there."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(folder_mode(mode) | stat.S_IRWXU, exist_ok=True)


class Partial:
    """A file with a temporary name next to its target: its path, and a stream to write it."""

    def __init__(self, target: Path, mode: int) -> None:
        self.path = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.partial")
        self.stream = create(self.path, mode)
        self._target = target
        _try_lock(self.stream)
        if target.is_file() and hasattr(os, "fchmod"):
            os.fchmod(self.stream.fileno(), stat.S_IMODE(target.stat().st_mode))

    def save(self) -> None:
        """Flush the file to disk."""
        self.stream.flush()
        os.fsync(self.stream.fileno())

    def move_in(self) -> None:
        """Replace the target by the file."""
        self.path.replace(self._target)


@contextmanager
def partial_beside(target: Path, mode: int = ANYONE) -> Iterator[Partial]:
    """Create a partial file, which is removed at the end of the block unless it is moved in."""
    sweep(target)
    partial = Partial(target, mode)
    try:
        yield partial
    finally:
        with suppress(OSError):  # `save` reported a full disk
            partial.stream.close()
        with suppress(OSError):
            partial.path.unlink(missing_ok=True)


@contextmanager
def whole_file(target: Path, mode: int = ANYONE) -> Iterator[IO[bytes]]:
    """Open a stream whose content replaces the target when the block ends without an error.

    A device or a pipe is written directly. `mode` is that of a new file, before the user's umask;
    an existing one keeps its mode.
    """
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            yield stream
        return
    with partial_beside(target, mode) as partial:
        yield partial.stream
        partial.save()
        partial.move_in()
    sync_folder(target.parent)


def refuse_others(target: Path, kind: str, is_ours: Callable[[bytes], bool]) -> None:
    """Raise `FileInTheWay` if the target is not of the kind to be written, such as "a report".

    `is_ours` recognises the kind by the beginning of a file.
    """
    if not target.is_file():
        return
    try:
        with target.open("rb") as stream:
            beginning = stream.read(_BEGINNING)
    except OSError as error:
        raise FileInTheWay(target, kind) from error
    if beginning and not is_ours(beginning):
        raise FileInTheWay(target, kind)


def sweep(target: Path) -> None:
    """Remove partial files that killed writers of a file left."""
    _sweep(target.parent, re.escape(target.name[:100]))


def sweep_copies(folder: Path, stem: str) -> None:
    """Remove partial files that killed writers of a library's dated copies left."""
    _sweep(folder, rf"{re.escape(stem)}-\d{{8}}-\d{{6}}.*")


def _sweep(folder: Path, name: str) -> None:
    ours = re.compile(rf"\.{name}\.[0-9a-f]{{12}}\.partial")
    with suppress(OSError):
        for path in folder.iterdir():
            if ours.fullmatch(path.name) and _is_abandoned(path):
                for kind in ("-wal", "-shm"):  # of a partial database
                    path.with_name(f"{path.name}{kind}").unlink(missing_ok=True)
                path.unlink()


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk, if the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_abandoned(path: Path) -> bool:
    """Tell whether the writer of a partial file is gone."""
    with suppress(OSError), os.fdopen(os.open(path, os.O_RDWR | _NOT_THROUGH_LINKS)) as stream:
        return _try_lock(stream)
    return False


if sys.platform == "win32":  # pragma: no cover (an open file cannot be removed there)

    def _try_lock(_stream: IO[bytes] | IO[str]) -> bool:
        return True

else:
    import fcntl

    def _try_lock(stream: IO[bytes] | IO[str]) -> bool:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def write_files(contents: Mapping[Path, bytes], mode: int = ANYONE) -> None:
    """Write partial files, flush all to disk, and then move them in, in order.

    A failure before the first move, such as a full disk, changes nothing; it raises
    `ReportUnwritable`.
    """
    with ExitStack() as partials:
        written = {}
        for path, data in contents.items():
            with _stated(path):
                partial = written[path] = partials.enter_context(partial_beside(path, mode))
                _write(partial.stream, data)
                partial.save()
        for path, partial in written.items():
            with _stated(path):
                partial.move_in()
        for folder in {path.parent for path in contents}:
            with _stated(folder):
                sync_folder(folder)


def make_folder(folder: Path, mode: int) -> None:
    """Create a folder with its parents, unless it exists; a failure raises `ReportUnwritable`."""
    with _stated(folder):
        if folder.exists() and not folder.is_dir():
            raise ReportUnwritable(folder, "it is not a folder")
        make_folders(folder, mode)


@contextmanager
def _stated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReportUnwritable(path, error.strerror or str(error)) from error


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(data)  # tests replace it by a disk that is full
