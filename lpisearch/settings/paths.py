"""Where things lie."""

from __future__ import annotations

import os
from pathlib import Path

_OWN_ENDINGS = ("-wal", "-shm", "-journal", ".lock", ".before-")


def shipped_folder(name: str) -> Path:
    """Return a folder that comes with the program: inside the package, or beside a checkout."""
    package = Path(__file__).parents[1]
    installed = package / f"_{name}"
    return installed if installed.is_dir() else package.parent / name


def index_folder(library: Path) -> Path:
    """Return the folder beside a library that holds its indexes; two libraries share none."""
    if library.suffix == ".db":
        return library.with_suffix(".index")
    return library.with_name(f"{library.name}-index")


def is_own_file(path: str, library: Path) -> bool:
    """Tell whether a path is the library itself or one of the files beside it."""
    own = os.path.abspath(library)  # noqa: PTH100 (as discovery makes paths: links stay)
    if not path.startswith(own.removesuffix(library.suffix)):
        return False  # nearly always: it is asked of every file
    if path == str(index_folder(Path(own))):
        return True
    rest = path.removeprefix(own)
    return path.startswith(own) and (not rest or rest.startswith(_OWN_ENDINGS))
