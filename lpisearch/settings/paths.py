"""Where things lie."""

from __future__ import annotations

from glob import escape
from pathlib import Path

_ENDINGS = ("-wal", "-shm", "-journal", ".lock", ".partial")


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


def own_paths(library: Path) -> list[Path]:
    """Return where the files of a library are, or would be, under the name it goes by here."""
    beside = [library.with_name(f"{library.name}{ending}") for ending in _ENDINGS]
    copies = library.parent.glob(f"{escape(library.name)}.before-*")
    return [library, *beside, index_folder(library), *copies]
