"""Identify a file by its header: library, foreign or damaged."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from lpisearch.errors import LibraryDamaged, NotALibrary, SeveralNames
from lpisearch.storage.sqlite.descriptors import close_when_idle

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION_ID = int.from_bytes(b"lpis", "big")  # as migration 0001 writes it into the file
_APPLICATION_AT = slice(68, 72)  # where SQLite keeps it in the header
_SQLITE_MAGIC = b"SQLite format 3\x00"


def is_library(head: bytes) -> bool:
    """Tell from its header whether a file is a library, or a copy of one."""
    return head.startswith(_SQLITE_MAGIC) and _states_ours(head)


def refuse_other_files(path: Path) -> None:
    """Refuse what is no library; what is not there may become one.

    Raises
    ------
    NotALibrary, LibraryDamaged
    """
    if path.is_dir():
        raise NotALibrary(path, "it is a folder")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            head = os.read(descriptor, _APPLICATION_AT.stop)
        finally:
            close_when_idle(descriptor)
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotALibrary(path, f"it cannot be read ({error.strerror})") from error
    if head and not head.startswith(_SQLITE_MAGIC):
        if _states_ours(head):
            raise LibraryDamaged(path, "its header is damaged")
        raise NotALibrary(path, "it is not an SQLite database")


def refuse_hard_links(path: Path) -> None:
    """Refuse to write a file of several names: SQLite would keep a log of changes for each.

    Raises
    ------
    SeveralNames
    """
    with suppress(OSError):
        names = path.stat().st_nlink
        if names > 1:
            raise SeveralNames(path, names)


def _states_ours(head: bytes) -> bool:
    return int.from_bytes(head[_APPLICATION_AT], "big") == APPLICATION_ID
