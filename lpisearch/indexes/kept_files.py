"""Checkpoint the steps of a build in files, so that a killed build can resume.

A step is a folder: its arrays, the shards of its rows, and `step.json`, written last, with the size
and SHA-256 of every file. What is cut short or changed is worked out anew.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.mapped import let_go, mapped
from lpisearch.compute.row_targets import RowsInFile
from lpisearch.compute.shards import Shards, ShardsDamaged, ShardWriter
from lpisearch.errors import BadOption, IndexUnwritable, LpiSearchError, NothingToIndex
from lpisearch.files import create, folder_mode, whole_file
from lpisearch.indexes.workspace import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

    from lpisearch.indexes.workspace import Room

    Array = NDArray[Any]
    Stage = Callable[[str], AbstractContextManager[None]]

_STEP = "step.json"
_BUILD = "build.json"
_ROWS = "rows"
_SUFFIX = ".unfinished"
_READ_AT_ONCE = 1 << 20


class _RoomInFiles:
    def __init__(self, folder: Path, mode: int) -> None:
        self.folder = folder
        self.mode = mode
        self.rows_folder = folder / _ROWS

    def put(self, name: str, array: Array) -> None:
        with create(self._path(name), self.mode) as stream:
            np.save(stream, np.ascontiguousarray(array), allow_pickle=False)

    def target(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> RowsInFile:
        path = self._path(name)
        with create(path, self.mode) as stream:
            _write_header(stream, shape, dtype)
            target = RowsInFile(path, stream.tell(), shape, np.dtype(dtype))
            os.ftruncate(stream.fileno(), target.begin + target.size)
        return target

    def drop(self, name: str) -> None:
        self._path(name).unlink()

    def rows(self) -> ShardWriter:
        return ShardWriter(self.rows_folder, mode=self.mode)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npy"


class FileWorkspace:
    """Keeps every step in a folder, for the next run of the same build.

    Parameters
    ----------
    folder
        Of this build; made if it is not there, emptied if it is of another build.
    key
        What the build is made from and how: only a run with the same key goes on from it.
    mode
        Of the files, before the user's umask.
    stage
        Times and announces that files of an earlier run are compared with their checksums.
    """

    def __init__(self, folder: Path, key: str, mode: int, stage: Stage) -> None:
        self.resumed: list[str] = []
        self._stage = stage
        self._folder = folder
        self._mode = mode
        if _read_json(folder / _BUILD).get("key") != key:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(folder_mode(mode), parents=True, exist_ok=True)
        if not (folder / _BUILD).exists():
            with whole_file(folder / _BUILD, mode) as stream:
                stream.write(json.dumps({"key": key}).encode())
        self._files: dict[str, Path] = {}
        self._mapped: list[Array] = []

    def keep(self, step: str, work: Callable[[Room], Kept]) -> Kept:
        """Take what is finished of a step from its files, or work it out and write it."""
        folder = self._folder / step.replace(" ", "-")
        kept = None
        for array in self._mapped:
            let_go(array)
        if (folder / _STEP).exists():
            with self._stage("resuming an earlier run"):
                kept = _read_step(folder)
        if kept is None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(folder_mode(self._mode))
            facts = work(_RoomInFiles(folder, self._mode)).facts
            _finish_step(folder, facts, self._mode)
            kept = _read_step(folder, verify=False) or Kept()
        else:
            self.resumed.append(step)
        self._files |= {path.stem: path for path in folder.glob("*.npy")}
        self._mapped += kept.arrays.values()
        return kept

    def files(self) -> dict[str, Path]:
        """Return the file of each array, by name."""
        return dict(self._files)


@contextmanager
def in_files(parent: Path, name: str, key: str, mode: int, stage: Stage) -> Iterator[FileWorkspace]:
    """Give the workspace of a build; it goes when the block ends without an error.

    Two runs of a build of one name do not meet in it: the second has one of its own, which
    always goes.

    Raises
    ------
    IndexUnwritable
    """
    from lpisearch.storage import writer_lock

    own = parent / f".{name}{_SUFFIX}"
    with ExitStack() as held:
        try:
            parent.mkdir(folder_mode(mode), parents=True, exist_ok=True)
            held.enter_context(writer_lock(own, "index", 0))
        except LpiSearchError:
            own = parent / f".{name}-{os.getpid()}{_SUFFIX}"
            held.callback(shutil.rmtree, own, ignore_errors=True)
        except OSError as error:
            raise IndexUnwritable(parent, error.strerror or str(error)) from error
        try:
            yield FileWorkspace(own, key, mode, stage)
        except (BadOption, NothingToIndex):  # the next run would come to no other end
            shutil.rmtree(own, ignore_errors=True)
            raise
        except OSError as error:
            raise IndexUnwritable(own, error.strerror or str(error)) from error
        shutil.rmtree(own, ignore_errors=True)


def _write_header(stream: Any, shape: tuple[int, ...], dtype: DTypeLike) -> None:
    described = np.lib.format.dtype_to_descr(np.dtype(dtype))
    header = {"descr": described, "fortran_order": False, "shape": tuple(map(int, shape))}
    np.lib.format.write_array_header_1_0(stream, header)


def _finish_step(folder: Path, facts: dict[str, Any], mode: int) -> None:
    files = {
        str(path.relative_to(folder)): [path.stat().st_size, file_digest(path)]
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    with whole_file(folder / _STEP, mode) as stream:
        stream.write(json.dumps({"facts": facts, "files": files}).encode())


def _read_step(folder: Path, *, verify: bool = True) -> Kept | None:
    """Return what was finished of a step; None if it was not, or is not as it was written."""
    said = _read_json(folder / _STEP)
    if not said:
        return None
    try:
        for name, (size, digest) in said["files"].items() if verify else ():
            path = folder / name
            if path.stat().st_size != size or file_digest(path) != digest:
                return None
        arrays = {path.stem: mapped(path) for path in folder.glob("*.npy")}
        rows = Shards.open(folder / _ROWS) if (folder / _ROWS).is_dir() else None
    except (OSError, ValueError, TypeError, KeyError, ShardsDamaged):
        return None
    return Kept(arrays, said["facts"], rows)


def _read_json(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        said = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(said, dict):
            return said
    return {}


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = sha256()
    with path.open("rb") as stream:
        while block := stream.read(_READ_AT_ONCE):
            digest.update(block)
    return digest.hexdigest()
