"""Write index folders atomically and open them memory-mapped.

A folder is written under a temporary name, brought to disk, and renamed: a reader finds the old
one or the new one. Arrays are memory-mapped and never unpickled.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import IndexDamaged, IndexUnreadable, IndexUnwritable, SubspaceError
from lpisearch.files import ANYONE, create, folder_mode, sync_folder
from lpisearch.indexes.kept_files import file_digest
from lpisearch.indexes.manifest import (
    FILE,
    ArrayFacts,
    Manifest,
    check_sizes,
    folder_name,
    unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[Any]

_PARTIAL = ".partial-"
# The folder may hold what others put there: only what is named as we name it is ours to remove.
_OURS = re.compile(r".+-[0-9a-f]{12}")


def check_writable(parent: Path) -> None:
    """Refuse a folder that cannot be written, before an index is worked out for it.

    Raises
    ------
    IndexUnwritable
    """
    if parent.exists() and not parent.is_dir():
        raise IndexUnwritable(parent, "it is not a folder")
    nearest = next((each for each in (parent, *parent.absolute().parents) if each.exists()), parent)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise IndexUnwritable(parent, os.strerror(errno.EACCES))


def publish(
    parent: Path,
    manifest: Manifest,
    arrays: Mapping[str, Array],
    unchanged: Mapping[str, Path] | None = None,
    mode: int = ANYONE,
) -> Path:
    """Write an index as a new folder.

    Parameters
    ----------
    parent
        The folder that holds all indexes of a library.
    manifest
        Without its `arrays`, which are filled in here.
    arrays
        What to write, by name.
    unchanged
        Files of an earlier version that stay as they are, by name: linked, not copied.
    mode
        Of the files, before the user's umask: that of the library.

    Returns
    -------
    pathlib.Path
        The folder, whole and on disk.

    Raises
    ------
    IndexUnwritable
    """
    try:
        parent.mkdir(folder_mode(mode), parents=True, exist_ok=True)
        partial = parent / f"{_PARTIAL}{secrets.token_hex(6)}"
        partial.mkdir(folder_mode(mode))
    except OSError as error:
        raise IndexUnwritable(parent, error.strerror or str(error)) from error
    try:
        facts = {
            name: _write(partial / f"{name}.npy", array, mode) for name, array in arrays.items()
        }
        for name, path in (unchanged or {}).items():
            facts[name] = _link(path, partial / f"{name}.npy")
        text = replace(manifest, arrays=facts).as_text().encode()
        _write_bytes(partial / FILE, text, mode)
        sync_folder(partial)
        target = parent / folder_name(manifest.name, text)
        if not _is_sound(target):  # else it may be in use, and is what would be written
            shutil.rmtree(target, ignore_errors=True)
            partial.rename(target)
        sync_folder(parent)
    except OSError as error:
        raise IndexUnwritable(parent, error.strerror or str(error)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def open_folder(folder: Path, *, verify: bool = True) -> tuple[Manifest, dict[str, Array]]:
    """Map the arrays of an index folder into memory.

    Parameters
    ----------
    folder
        As `publish` returned it.
    verify
        Whether each file's SHA-256 is compared with the manifest.

    Raises
    ------
    IndexDamaged, IndexTooNew
    """
    manifest = Manifest.read(folder)
    check_sizes(folder, manifest)
    arrays = {}
    for name, facts in manifest.arrays.items():
        path = folder / f"{name}.npy"
        try:
            changed = verify and file_digest(path) != facts.sha256
        except OSError as error:
            raise unreadable(folder, path.name, error) from error
        if changed:
            raise IndexDamaged(folder, f"{path.name} is corrupt")
        arrays[name] = _map(path, facts, folder)
    return manifest, arrays


def sweep(parent: Path, keep: set[str]) -> None:
    """Remove folders that no index refers to: superseded ones, and remains of a kill."""
    with suppress(OSError):  # what cannot be removed now is removed another time
        for path in parent.iterdir():
            if path.name not in keep and _OURS.fullmatch(path.name) and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)


def _is_sound(folder: Path) -> bool:
    try:
        open_folder(folder)
    except IndexUnreadable:  # nothing is known of it, and it may be in use
        raise
    except SubspaceError:
        return False
    return True


def _map(path: Path, facts: ArrayFacts, folder: Path) -> Array:
    try:
        array: Array = np.lib.format.open_memmap(path, mode="r")  # never unpickles
    except Exception as error:  # NumPy's parser of headers raises whatever Python's does
        raise unreadable(folder, path.name, error) from error
    if (array.dtype.str, array.shape) != (facts.dtype, facts.shape):
        raise IndexDamaged(folder, f"{path.name} has the wrong type or shape")
    return array


def _write(path: Path, array: Array, mode: int) -> ArrayFacts:
    with create(path, mode) as stream:
        np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
        stream.flush()
        os.fsync(stream.fileno())
    return _facts(path)


def _link(source: Path, target: Path) -> ArrayFacts:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copyfile(source, target)
    with target.open("rb+") as stream:  # one that a build has just written is not on disk yet
        os.fsync(stream.fileno())
    return _facts(target)


def _facts(path: Path) -> ArrayFacts:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return ArrayFacts(array.dtype.str, array.shape, path.stat().st_size, file_digest(path))


def _write_bytes(path: Path, data: bytes, mode: int) -> None:
    with create(path, mode) as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
