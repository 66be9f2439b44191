"""Write the files of a report atomically."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING

from lpisearch.errors import ReportUnwritable
from lpisearch.files import ANYONE, make_folders, partial_beside, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


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
