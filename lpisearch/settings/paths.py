"""File and folder names."""

from __future__ import annotations

import os
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.places import Address

if TYPE_CHECKING:
    from lpisearch.places import Place

FILE_BESIDE = "lpisearch.toml"
"""The settings of the libraries in a folder."""
_ENDINGS = ("-wal", "-shm", "-journal", ".lock", ".partial")


def shipped_folder(name: str) -> Path:
    """Return a folder that comes with the program: inside the package, or beside a checkout."""
    package = Path(__file__).parents[1]
    installed = package / f"_{name}"
    return installed if installed.is_dir() else package.parent / name


def real_path(library: Path) -> Path:
    """Return where a library lies, whatever links lead to it: all its names share lock and index.

    Two hard links to a file are two real paths; such a library is not written.
    """
    return Path(os.path.realpath(library))


def index_folder(library: Path) -> Path:
    """Return the folder beside a library that holds its indexes; two libraries share none."""
    library = real_path(library)
    if library.suffix == ".db":
        return library.with_suffix(".index")
    return library.with_name(f"{library.name}-index")


def own_paths(library: Path) -> list[Path]:
    """Return where the files of a library are, or would be, under the name it goes by here."""
    beside = [library.with_name(f"{library.name}{ending}") for ending in _ENDINGS]
    settings = library.with_name(FILE_BESIDE)
    copies = library.parent.glob(f"{escape(library.name)}.before-*")
    return [library, *beside, index_folder(library), settings, *copies]


def is_own_place(target: Path, library: Place) -> bool:
    """Tell whether a place is one of a library's files, or of its indexes, there or not yet."""
    if isinstance(library, Address):
        return False
    place = real_path(target)
    real = real_path(library)
    if place in own_paths(real) or place.is_relative_to(index_folder(library)):
        return True
    return target.exists() and library.exists() and target.samefile(library)
