"""Write files whole or not at all.

A reader finds the file of before or the new one, a kill or a full disk leaves the one of before.
Nothing is written through a link that somebody planted, and what a kill leaves behind is removed
by the next who writes the same file: the name is held by a lock that dies with its holder.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, TYPE_CHECKING

from lpisearch.errors import FileInTheWay, ReportUnwritable
from lpisearch.location import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from lpisearch.location import Location


FOR_ME_ALONE = 0o600
ANYONE = 0o666  # as any new file: the user's umask takes from it
_LOOKED_AT = 1 << 16  # the beginning of a file, by which its kind is told
_NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0)
_AS_THEY_ARE = getattr(os, "O_BINARY", 0)


def create(path: Path, mode: int = ANYONE) -> IO[bytes]:
    """Make a file that is not there yet, and open it; a link in its place is refused."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NOT_THROUGH_LINKS | _AS_THEY_ARE
    return os.fdopen(os.open(path, flags, mode), "w+b")


def mode_of(path: Location) -> int:
    """Return who may read and write a library, so that what is made of it is no more open.

    Who may read one of a server is for the server to say: a file of it is for its maker alone.
    """
    if isinstance(path, Address):
        return FOR_ME_ALONE
    try:
        return stat.S_IMODE(path.stat().st_mode) & ANYONE
    except FileNotFoundError:
        return ANYONE


def folder_mode(mode: int) -> int:
    """Return the mode of a folder: who may read a file of this mode may look into it."""
    return mode | (mode & 0o444) >> 2


def make_folders(folder: Path, mode: int) -> None:
    """Make a folder for files of a mode, and those above it; who makes them may write there."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(folder_mode(mode) | stat.S_IRWXU, exist_ok=True)


class Partial:
    """A file on its way to its place.

    Attributes
    ----------
    path
        Where it is for now.
    stream
        To write it.
    """

    def __init__(self, target: Path, mode: int) -> None:
        self.path = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.partial")
        self.stream = create(self.path, mode)
        self._target = target
        _try_lock(self.stream)
        if target.is_file() and hasattr(os, "fchmod"):
            os.fchmod(self.stream.fileno(), stat.S_IMODE(target.stat().st_mode))

    def save(self) -> None:
        """Bring it to disk."""
        self.stream.flush()
        os.fsync(self.stream.fileno())

    def move_in(self) -> None:
        """Put it in its place, instead of what was there."""
        self.path.replace(self._target)


@contextmanager
def partial_beside(target: Path, mode: int = ANYONE) -> Iterator[Partial]:
    """Give a new file beside its place; unless it is moved in, it goes when the block ends."""
    sweep(target)
    partial = Partial(target, mode)
    try:
        yield partial
    finally:
        with suppress(OSError):  # what a full disk refuses was said when it was to be saved
            partial.stream.close()
        with suppress(OSError):
            partial.path.unlink(missing_ok=True)


@contextmanager
def whole_file(target: Path, mode: int = ANYONE) -> Iterator[IO[bytes]]:
    """Give a stream whose content appears at a place when the block ends without an error.

    Parameters
    ----------
    target
        The place. A device or a pipe is written to as it is.
    mode
        Of a new file, before the user's umask; one that is replaced passes its own on.
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
    """Refuse to replace a file that is not of the kind that is to be written.

    Parameters
    ----------
    target
        What would be replaced.
    kind
        What is to be written, such as "a report".
    is_ours
        Tells that kind by the beginning of a file.

    Raises
    ------
    FileInTheWay
    """
    if not target.is_file():
        return
    try:
        with target.open("rb") as stream:
            beginning = stream.read(_LOOKED_AT)
    except OSError as error:
        raise FileInTheWay(target, kind) from error
    if beginning and not is_ours(beginning):
        raise FileInTheWay(target, kind)


def sweep(target: Path) -> None:
    """Remove what killed writers of a file left beside it."""
    _sweep(target.parent, re.escape(target.name[:100]))


def sweep_copies(folder: Path, stem: str) -> None:
    """Remove what killed writers of copies left of a library: the names of those are dated."""
    _sweep(folder, rf"{re.escape(stem)}-\d{{8}}-\d{{6}}.*")


def _sweep(folder: Path, name: str) -> None:
    ours = re.compile(rf"\.{name}\.[0-9a-f]{{12}}\.partial")
    with suppress(OSError):
        for path in folder.iterdir():
            if ours.fullmatch(path.name) and _is_abandoned(path):
                for kind in ("-wal", "-shm"):  # of a database on its way
                    path.with_name(f"{path.name}{kind}").unlink(missing_ok=True)
                path.unlink()


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_abandoned(path: Path) -> bool:
    """Tell whether nobody holds a partial file any more."""
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
    """Write all files beside their places, bring them to disk, then move them in, in order.

    When anything fails before the first is moved, for one a full disk, all stays as it was.

    Raises
    ------
    ReportUnwritable
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
    """Make a folder for files of a mode, and those above it, unless it is there.

    Raises
    ------
    ReportUnwritable
    """
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
    stream.write(data)
