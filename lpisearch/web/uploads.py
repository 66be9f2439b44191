"""Allowed paths, uploads, downloads."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from lpisearch.files import make_folders, mode_of, whole_file
from lpisearch.location import Address
from lpisearch.web.problems import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lpisearch.web.state import WebState


_NOT_THROUGH_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_LONGEST_NAME, _DEEPEST = 200, 10
_PIECE = 1 << 18
_FORBIDDEN = "That path is outside the allowed folders."


def uploads_folder(state: WebState) -> Path:
    """Return where files are kept that came from a browser."""
    if state.settings.uploads is not None:
        return state.settings.uploads
    path = state.library.path
    if isinstance(path, Address):
        from platformdirs import user_data_path

        return user_data_path("lpisearch", appauthor=False) / "uploads" / path.key
    return path.with_name(f"{path.stem}.uploads")


def allowed_path(state: WebState, named: str) -> Path:
    """Return the real path of a file or folder that may be brought in.

    Links and `..` are followed first: what counts is where they end. A path that is not absolute is
    looked for below each allowed folder.

    Raises
    ------
    Refusal
    """
    if not named or "\0" in named:
        raise Refusal(422, "A path is missing.")
    for root in _roots(state):
        try:
            found = (root / named).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            continue
        if found.is_relative_to(root):
            return found
    raise Refusal(403, _FORBIDDEN)


def open_original(state: WebState, path: str) -> BinaryIO:
    """Open the file that a document came from, if it may be given out.

    That is a file below an allowed folder, or one that was itself brought in and is no link.

    Raises
    ------
    Refusal
    """
    try:
        real = Path(path).resolve(strict=True)
        below = any(real.is_relative_to(root) for root in _roots(state))
        if not below and not (str(real) == path and state.library.is_source(path)):
            raise Refusal(403, "The original file is outside the allowed folders.")
        descriptor = os.open(real, os.O_RDONLY | _NOT_THROUGH_LINKS)
    except (OSError, ValueError, RuntimeError):
        raise Refusal(404, "The original file no longer exists.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refusal(403, "The original is not a regular file.")
    return os.fdopen(descriptor, "rb")


def pieces(stream: BinaryIO) -> Iterator[bytes]:
    """Yield a file a piece at a time, and close it."""
    with stream:
        while piece := stream.read(_PIECE):
            yield piece


def save_upload(state: WebState, name: str, content: Iterable[bytes]) -> Path:
    """Keep a file that came from a browser, below the folder for such; return where.

    A file of the same name is replaced, as a newer version of it.

    Raises
    ------
    Refusal
        Its name leads elsewhere, or is none.
    """
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
            for piece in content:
                stream.write(piece)
    except OSError:
        raise Refusal(507, "The file could not be saved.") from None
    return target


def _is_plain(part: str) -> bool:
    return (
        part not in {"", ".", ".."}
        and len(part.encode("utf-8", "replace")) <= _LONGEST_NAME
        and part.isprintable()
        and not part.startswith((".", "~"))
        and part == part.encode("utf-8", "replace").decode()
    )


def _roots(state: WebState) -> list[Path]:
    """Return the allowed folders as they really are."""
    every = (*state.settings.roots, uploads_folder(state))
    return [Path(os.path.realpath(root)) for root in every]


_LONGEST = 200


@contextmanager
def named_file(sent: Path | None, name: str) -> Iterator[Path]:
    """Give a file that was sent in a folder of its own, with its name: readers go by its ending.

    Raises
    ------
    Refusal
    """
    plain = PurePosixPath(name.replace("\\", "/")).name
    if sent is None or not plain or plain == ".." or len(plain.encode()) > _LONGEST:
        raise Refusal(422, "name is not the name of a file.")
    if not plain.isprintable():
        raise Refusal(422, "name is not the name of a file.")
    with tempfile.TemporaryDirectory(prefix="lpisearch-file-") as folder:
        target = Path(folder) / plain
        shutil.copyfile(sent, target)
        yield target
