"""Write files whole, or leave what was there."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from lpisearch.errors import ReportUnwritable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write all files beside their places, bring them to disk, then move them in, in order.

    When anything fails before the first is moved, for one a full disk, all stays as it was.

    Raises
    ------
    ReportUnwritable
    """
    partials: dict[Path, Path] = {}
    try:
        for path, data in contents.items():
            with _stated(path):
                partial = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.partial")
                partials[path] = partial
                _write(partial, data)
        for path, partial in partials.items():
            with _stated(path):
                partial.replace(path)
    finally:
        for partial in partials.values():
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless it is there.

    Raises
    ------
    ReportUnwritable
    """
    with _stated(folder):
        if folder.exists() and not folder.is_dir():
            raise ReportUnwritable(folder, "it is not a folder")
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def _stated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReportUnwritable(path, error.strerror or str(error)) from error


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
