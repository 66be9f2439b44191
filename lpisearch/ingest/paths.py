"""Expand a PATH argument to files and folders."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import NamedTuple

from lpisearch.errors import LpiSearchError, NothingThere


class TooDeep(LpiSearchError):
    """A PATH with a glob goes through more nested folders than can be followed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Folders are nested too deeply: {name}.", "give the folder directly")


_LONGEST = 4096  # characters: no system takes a longer path
_SHOWN = 60


class Named(NamedTuple):
    """A file or folder that was named: absolute, and the folder that its ids begin in."""

    path: str
    root: str


def expand(argument: str) -> list[Named]:
    """Return the absolute paths that a PATH means, each with its root folder.

    Raises
    ------
    NothingThere, TooDeep
    """
    if not argument:  # an unset variable of the shell must not mean the current folder
        raise NothingThere("an empty PATH")
    if len(argument) > _LONGEST:
        raise NothingThere(f"{argument[:_SHOWN]}…, a PATH of {len(argument):,} characters")
    name = os.path.abspath(Path(argument).expanduser())
    if os.path.isdir(name):
        return [Named(name, name)]
    if os.path.lexists(name):
        return [Named(name, os.path.dirname(name))]
    try:
        found = sorted(glob.glob(name, recursive=True))
    except RecursionError as error:
        raise TooDeep(argument) from error
    if not found:
        raise NothingThere(argument)
    root = _fixed_part(name)
    return [Named(path, root) for path in found]


def is_under(path: str, folder: str) -> bool:
    """Tell whether a path lies within a folder."""
    return path.startswith(os.path.join(folder, ""))


def _fixed_part(pattern: str) -> str:
    parts = Path(pattern).parts
    fixed = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return str(Path(*parts[:fixed]))
