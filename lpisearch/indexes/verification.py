"""Remember which index files passed their checksums.

Hashing every byte before each query would take longer than the query: of a million documents,
seconds. So who has just written the files and read them back for their checksums notes what the
system says of each: size, times of the last change of content and of state, and inode. As long as
these stay, the files are what they were, and none is read when the index is opened. Whoever writes
to one, or puts another in its place, changes them, and the next opening compares all and notes it
again: so does the first after an index was copied or restored. What a disk loses without telling
the system is found by `lpisearch doctor`, which always compares.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lpisearch.files import mode_of, whole_file
from lpisearch.indexes.folder import open_folder
from lpisearch.indexes.manifest import FILE as MANIFEST

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    from lpisearch.indexes.manifest import Manifest

FILE = "verified.json"


def open_verified(folder: Path) -> tuple[Manifest, dict[str, NDArray[Any]]]:
    """Open an index folder, comparing checksums unless the files are as they were last time.

    Raises
    ------
    IndexDamaged, IndexTooNew
    """
    before = _state(folder)
    known = before is not None and before == _remembered(folder)
    opened = open_folder(folder, verify=not known)
    if not known and before is not None:
        _remember(folder, before)
    return opened


def note_written(folder: Path) -> None:
    """Note that the files of an index are as its manifest says: who calls it has just seen that."""
    state = _state(folder)
    if state is not None:
        _remember(folder, state)


def _state(folder: Path) -> dict[str, list[int]] | None:
    """Return what the system says of the files, or None if it cannot say."""
    try:
        return {path.name: _facts(path.stat()) for path in sorted(folder.glob("*.npy"))}
    except OSError:
        return None


def _facts(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _remembered(folder: Path) -> object:
    try:
        return json.loads((folder / FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _remember(folder: Path, state: dict[str, list[int]]) -> None:
    """Write the note whole or not at all; where it cannot be written, all is compared again."""
    with suppress(OSError), whole_file(folder / FILE, mode_of(folder / MANIFEST)) as stream:
        stream.write(json.dumps(state).encode())
