"""Finished steps in memory or files, timings.

A build is a row of steps, each of which gives arrays, rows of a matrix and a few facts. `keep`
works a step out, or gives what an earlier run of the same build left of it: that is for files,
which outlive a kill (`lpisearch.index.checkpoint`).

A step is a folder: its arrays, the shards of its rows, and `step.json`, written last, with the size
and SHA-256 of every file. What is cut short or changed is worked out anew.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lpisearch.errors import BadOption, IndexUnwritable, LpiSearchError, NothingToIndex
from lpisearch.files import create, folder_mode, whole_file
from lpisearch.index.format import file_digest
from lpisearch.numeric.executor import TransferStats, transfer_stats
from lpisearch.numeric.row_blocks import ArrayTarget, StackedBlocks
from lpisearch.numeric.row_files import (
    FileTarget,
    PartitionedRows,
    PartitionsDamaged,
    PartitionWriter,
    map_array,
    release_pages,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse import csr_array

    from lpisearch.numeric.row_blocks import RowBlocks, RowTarget

    Array = NDArray[Any]
    Stage = Callable[[str], AbstractContextManager[None]]


@dataclass(slots=True)
class StepResult:
    """What a step gave.

    Attributes
    ----------
    arrays
        By name; mapped from files, if it was kept there.
    facts
        Values that JSON has.
    rows
        Rows of a matrix, of a step that has any.
    """

    arrays: dict[str, Array] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    rows: RowBlocks | None = None


class RowWriter(Protocol):
    """Takes rows as they come."""

    def add(self, rows: csr_array) -> None:
        """Take some rows; later ones may have more columns."""

    def finish(self, n_terms: int) -> RowBlocks:
        """Give all of them, with so many columns."""


class StepOutput(Protocol):
    """Where a step puts what it works out."""

    def put(self, name: str, array: Array) -> None:
        """Keep an array as it is."""

    def target(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> RowTarget:
        """Give an array whose rows are written by whoever works them out."""

    def drop(self, name: str) -> None:
        """Throw away an array that was only needed on the way."""

    def rows(self) -> RowWriter:
        """Give what takes the rows of a matrix."""


class FileStepOutput(StepOutput, Protocol):
    """Where a step puts what it works out, in files that other processes may write to."""

    @property
    def folder(self) -> Path:
        """Of the step; what is left in it at the end is kept."""

    @property
    def mode(self) -> int:
        """Of the files."""

    @property
    def rows_folder(self) -> Path:
        """Of the shards of its rows."""

    def rows(self) -> PartitionWriter:
        """Give what takes the rows of a matrix, or notes that others wrote them."""


class Workspace(Protocol):
    """Keeps the steps of a build."""

    @property
    def resumed(self) -> list[str]:
        """The steps that an earlier run had finished."""

    def run(self, step: str, work: Callable[[StepOutput], StepResult]) -> StepResult:
        """Return what a step gives, working it out if that was not done."""

    def files(self) -> dict[str, Path]:
        """Return the file of each array that is in one, by name."""


class _MemoryOutput:
    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def put(self, name: str, array: Array) -> None:
        self.arrays[name] = np.ascontiguousarray(array)  # as a file has it

    def target(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> RowTarget:
        self.arrays[name] = np.empty(shape, dtype)
        return ArrayTarget(self.arrays[name])

    def drop(self, name: str) -> None:
        del self.arrays[name]

    def rows(self) -> RowWriter:
        return _Collector()


class _Collector:
    def __init__(self) -> None:
        self._matrices: list[csr_array] = []

    def add(self, rows: csr_array) -> None:
        self._matrices.append(rows)

    def finish(self, n_terms: int) -> RowBlocks:
        return StackedBlocks(self._matrices, n_terms)


class MemoryWorkspace:
    """Keeps nothing beyond the build."""

    def __init__(self) -> None:
        self.resumed: list[str] = []

    def run(self, step: str, work: Callable[[StepOutput], StepResult]) -> StepResult:
        """Work a step out."""
        del step
        output = _MemoryOutput()
        kept = work(output)
        kept.arrays = output.arrays | kept.arrays
        return kept

    def files(self) -> dict[str, Path]:
        """Return nothing: no array is in a file."""
        return {}


_STEP = "step.json"
_BUILD = "build.json"
_ROWS = "rows"
_SUFFIX = ".unfinished"


class _FileOutput:
    def __init__(self, folder: Path, mode: int) -> None:
        self.folder = folder
        self.mode = mode
        self.rows_folder = folder / _ROWS

    def put(self, name: str, array: Array) -> None:
        with create(self._path(name), self.mode) as stream:
            np.save(stream, np.ascontiguousarray(array), allow_pickle=False)

    def target(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> FileTarget:
        path = self._path(name)
        with create(path, self.mode) as stream:
            _write_header(stream, shape, dtype)
            target = FileTarget(path, stream.tell(), shape, np.dtype(dtype))
            os.ftruncate(stream.fileno(), target.begin + target.size)
        return target

    def drop(self, name: str) -> None:
        self._path(name).unlink()

    def rows(self) -> PartitionWriter:
        return PartitionWriter(self.rows_folder, mode=self.mode)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npy"


class FileWorkspace:
    """Keeps every step in a folder, for the next run of the same build."""

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

    def run(self, step: str, work: Callable[[StepOutput], StepResult]) -> StepResult:
        """Take what is finished of a step from its files, or work it out and write it."""
        folder = self._folder / step.replace(" ", "-")
        kept = None
        for array in self._mapped:
            release_pages(array)
        if (folder / _STEP).exists():
            with self._stage("resuming an earlier run"):
                kept = _read_step(folder)
        if kept is None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(folder_mode(self._mode))
            facts = work(_FileOutput(folder, self._mode)).facts
            _finish_step(folder, facts, self._mode)
            kept = _read_step(folder, verify=False) or StepResult()
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


def _read_step(folder: Path, *, verify: bool = True) -> StepResult | None:
    """Return what was finished of a step; None if it was not, or is not as it was written."""
    said = _read_json(folder / _STEP)
    if not said:
        return None
    try:
        for name, (size, digest) in said["files"].items() if verify else ():
            path = folder / name
            if path.stat().st_size != size or file_digest(path) != digest:
                return None
        arrays = {path.stem: map_array(path) for path in folder.glob("*.npy")}
        rows = PartitionedRows.open(folder / _ROWS) if (folder / _ROWS).is_dir() else None
    except (OSError, ValueError, TypeError, KeyError, PartitionsDamaged):
        return None
    return StepResult(arrays, said["facts"], rows)


def _read_json(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        said = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(said, dict):
            return said
    return {}


_KIBIBYTE = 1024


@dataclass(slots=True)
class Stages:
    """Times stages and announces each as it begins.

    Attributes
    ----------
    on_stage
        Called with the name of a stage.
    on_step
        Called with how many documents a stage has done, and of how many.
    seconds
        By stage, in the order in which they ran.
    processor_seconds
        The same of the processor: that of all cores, of this program and of those who work for it.
    traffic
        By stage, what went to other processes and back; of those alone in which something did.
    """

    on_stage: Callable[[str], None]
    on_step: Callable[[int, int], None] = lambda _done, _total: None
    seconds: dict[str, float] = field(default_factory=dict)
    processor_seconds: dict[str, float] = field(default_factory=dict)
    traffic: dict[str, TransferStats] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run a stage."""
        self.on_stage(name)
        begun, worked, went = time.perf_counter(), time.process_time(), transfer_stats()
        yield
        moved = transfer_stats() - went
        self._add(self.seconds, name, time.perf_counter() - begun)
        worked -= moved.processor_seconds
        self._add(self.processor_seconds, name, time.process_time() - worked)
        if moved.parts:
            moved = self.traffic.get(name, TransferStats()) + moved
            rounded = round(moved.processor_seconds, 3)
            self.traffic[name] = replace(moved, processor_seconds=rounded)

    @staticmethod
    def _add(seconds: dict[str, float], name: str, more: float) -> None:
        seconds[name] = round(seconds.get(name, 0.0) + more, 3)


def peak_megabytes() -> float:
    """Return the most memory that this process has held; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0.0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else _KIBIBYTE
    return round(peak * unit / 1e6, 1)
