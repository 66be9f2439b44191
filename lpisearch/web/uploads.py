"""Files of the server: allowed paths, uploads, and original files of documents."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, BinaryIO

from lpisearch.files import make_folders, mode_of, path_below, whole_file
from lpisearch.location import Address
from lpisearch.web.problems import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.web.state import WebState


_NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
LONGEST_NAME, _DEEPEST = 200, 10
_CHUNK = 1 << 18
_FORBIDDEN = "That path is outside the allowed folders."


def uploads_folder(state: WebState) -> Path:
    """Return the folder of uploads."""
    if state.settings.uploads is not None:
        return state.settings.uploads
    path = state.library.path
    if isinstance(path, Address):
        from platformdirs import user_data_path

        return user_data_path("lpisearch", appauthor=False) / "uploads" / path.key
    return path.with_name(f"{path.stem}.uploads")


def allowed_path(state: WebState, named: str) -> Path:
    """Return the real path of a file or folder that may be ingested."""
    if not named or "\0" in named:
        raise Refusal(422, "A path is missing.")
    path = path_below(named, allowed_folders(state))
    if path is None:
        raise Refusal(403, _FORBIDDEN)
    return path


def open_original(state: WebState, path: str) -> BinaryIO:
    """Open the original file of a document, if it may be downloaded.

    It must be below an allowed folder, or be ingested under its own path and not be a link.
    """
    try:
        real = Path(path).resolve(strict=True)
        below = any(real.is_relative_to(root) for root in allowed_folders(state))
        if not below and not (str(real) == path and state.library.is_source(path)):
            raise Refusal(403, "The original file is outside the allowed folders.")
        descriptor = os.open(real, os.O_RDONLY | _NOT_THROUGH_LINKS)
    except (OSError, ValueError, RuntimeError):
        raise Refusal(404, "The original file no longer exists.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refusal(403, "The original is not a regular file.")
    return os.fdopen(descriptor, "rb")


def chunks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield a file in chunks, and close it."""
    with stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def save_upload(state: WebState, name: str, sent: IO[bytes]) -> Path:
    """Save a file below the folder of uploads, over an earlier version; return its path."""
    parts = name.replace("\\", "/").split("/")
    if not 0 < len(parts) <= _DEEPEST or not all(map(_is_plain, parts)):
        raise Refusal(422, "Invalid file name.")
    folder = uploads_folder(state)
    target, mode = folder.joinpath(*parts), mode_of(state.library.path)
    try:
        make_folders(target.parent, mode)
        if not target.parent.resolve().is_relative_to(folder.resolve()):
            raise Refusal(403, _FORBIDDEN)
        with whole_file(target, mode) as stream:
            shutil.copyfileobj(sent, stream)
    except (FileExistsError, IsADirectoryError, NotADirectoryError):
        raise Refusal(409, "The name is that of a folder, or below that of a file.") from None
    except OSError:
        raise Refusal(507, "The file could not be saved.") from None
    return target


def _is_plain(part: str) -> bool:
    return (
        part not in {"", ".", ".."}
        and len(part.encode("utf-8", "replace")) <= LONGEST_NAME
        and part.isprintable()
        and not part.startswith((".", "~"))
        and part == part.encode("utf-8", "replace").decode()
    )


def subfolders(state: WebState, named: str) -> tuple[Path, list[Path], int]:
    """Return an allowed folder, its folders that are not hidden, and the number of its files."""
    folder = allowed_path(state, named)
    try:
        inside = sorted(folder.iterdir(), key=lambda path: path.name.casefold())
    except OSError:
        raise Refusal(403, "The folder cannot be read.") from None
    plain = [path for path in inside if not path.name.startswith(".") and not path.is_symlink()]
    return folder, [path for path in plain if path.is_dir()], sum(map(Path.is_file, plain))


def allowed_folders(state: WebState) -> list[Path]:
    """Return the real paths of the folders whose files may be ingested and downloaded."""
    folders = (*state.roots, uploads_folder(state))
    return [Path(os.path.realpath(folder)) for folder in folders]


@contextmanager
def named_file(sent: Path | None, name: str) -> Iterator[Path]:
    """Provide a sent file under its name, which tells readers its format."""
    plain = PurePosixPath(name.replace("\\", "/")).name
    is_name = plain not in {"", ".."} and len(plain.encode()) <= LONGEST_NAME
    if sent is None or not is_name or not plain.isprintable():
        raise Refusal(422, "name is not the name of a file.")
    with tempfile.TemporaryDirectory(prefix="lpisearch-file-") as folder:
        target = Path(folder) / plain
        shutil.copyfile(sent, target)
        yield target
