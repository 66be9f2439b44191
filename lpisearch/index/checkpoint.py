"""Steps of a build with checkpoints in files, or in memory; timings.

A build is a sequence of steps, each of which produces arrays, rows of a matrix and a few facts. In
a file workspace a step is a folder with its arrays, the partitions of its rows, and `step.json`,
written last, with the size and SHA-256 of every file. Finished steps survive a kill; an incomplete
or changed step is repeated.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lpisearch.errors import BadOption, IndexUnwritable, LpiSearchError, NothingToIndex
from lpisearch.files import create, folder_mode, open_regular, whole_file
from lpisearch.index.format import MOST_MANIFEST, file_digest
from lpisearch.numeric.row_blocks import (
    ArrayTarget,
    RowBlocks,
    RowTarget,
    StackedBlocks,
    TransferStats,
    transfer_stats,
)
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
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse import csr_array

    Array = NDArray[Any]
    Stage = Callable[[str], AbstractContextManager[None]]


@dataclass(slots=True)
class StepResult:
    """The result of a step: arrays (perhaps mapped from files), JSON facts, rows of a matrix."""

    arrays: dict[str, Array] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    rows: RowBlocks | None = None


class RowWriter(Protocol):
    """Collects the rows of a matrix."""

    def add(self, rows: csr_array) -> None:
        """Add rows; later ones may have more columns."""

    def finish(self, n_terms: int) -> RowBlocks:
        """Return all rows, with `n_terms` columns."""


class StepOutput(Protocol):
    """The arrays and rows that a step writes."""

    def put(self, name: str, array: Array) -> None:
        """Store an array."""

    def target(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> RowTarget:
        """Return an array whose rows are written by workers."""

    def drop(self, name: str) -> None:
        """Delete an intermediate array."""

    def rows(self) -> RowWriter:
        """Return a writer for the rows of a matrix."""


class FileStepOutput(StepOutput, Protocol):
    """A step's output in files, which other processes may write."""

    @property
    def folder(self) -> Path:
        """Folder of the step; files left in it are part of the result."""

    @property
    def mode(self) -> int:
        """Mode of the files."""

    @property
    def rows_folder(self) -> Path:
        """Folder of the partitions of its rows."""

    def rows(self) -> PartitionWriter:
        """Return a writer that writes rows, or registers those written by workers."""


class Workspace(Protocol):
    """Runs the steps of a build and keeps their results."""

    @property
    def resumed(self) -> list[str]:
        """Steps finished by an earlier run."""

    def run(self, step: str, work: Callable[[StepOutput], StepResult]) -> StepResult:
        """Return the result of a step, computing it if necessary."""

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
    """Keeps results in memory only."""

    def __init__(self) -> None:
        self.resumed: list[str] = []

    def run(self, step: str, work: Callable[[StepOutput], StepResult]) -> StepResult:
        """Run a step."""
        del step
        output = _MemoryOutput()
        result = work(output)
        result.arrays = output.arrays | result.arrays
        return result

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
    """Keeps the result of every step in a folder, for a later run with the same key."""

    def __init__(self, folder: Path, key: str, mode: int, stage: Stage) -> None:
        self.resumed: list[str] = []
        self._stage = stage
        self._folder = folder
        self._mode = mode
        if folder.is_symlink():  # planted: nothing is written through it
            folder.unlink()
        if _read_json(folder / _BUILD).get("key") != key:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(folder_mode(mode), parents=True, exist_ok=True)
        if not (folder / _BUILD).exists():
            with whole_file(folder / _BUILD, mode) as stream:
                stream.write(json.dumps({"key": key}).encode())
        self._files: dict[str, Path] = {}
        self._mapped: list[Array] = []

    def run(self, step: str, work: Callable[[StepOutput], StepResult]) -> StepResult:
        """Return the result of a finished step from its files, or run it and write them."""
        folder = self._folder / step.replace(" ", "-")
        result = None
        for array in self._mapped:
            release_pages(array)
        if (folder / _STEP).exists():
            with self._stage("resuming an earlier run"):
                result = _read_step(folder)
        if result is None:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(folder_mode(self._mode))
            facts = work(_FileOutput(folder, self._mode)).facts
            _finish_step(folder, facts, self._mode)
            result = _read_step(folder, verify=False) or StepResult()
        else:
            self.resumed.append(step)
        self._files |= {path.stem: path for path in folder.glob("*.npy")}
        self._mapped += result.arrays.values()
        return result

    def files(self) -> dict[str, Path]:
        """Return the file of each array, by name."""
        return dict(self._files)


@contextmanager
def in_files(parent: Path, name: str, key: str, mode: int, stage: Stage) -> Iterator[FileWorkspace]:
    """Yield the workspace of a build; it is deleted when the block ends without an error.

    A second concurrent run of a build of the same name gets its own, which is always deleted.
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
        except (BadOption, NothingToIndex):  # the next run would fail in the same way
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
    """Return the result of a step; None if it is unfinished, changed or damaged."""
    step = _read_json(folder / _STEP)
    if not step:
        return None
    try:
        for name, (size, digest) in step["files"].items() if verify else ():
            path = folder / name
            if path.stat().st_size != size or file_digest(path) != digest:
                return None
        arrays = {path.stem: map_array(path) for path in folder.glob("*.npy")}
        rows = PartitionedRows.open(folder / _ROWS) if (folder / _ROWS).is_dir() else None
    except (OSError, ValueError, TypeError, KeyError, PartitionsDamaged):
        return None
    return StepResult(arrays, step["facts"], rows)


def _read_json(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError), open_regular(path) as stream:
        values = json.loads(stream.read(MOST_MANIFEST))
        if isinstance(values, dict):
            return values
    return {}


_KIBIBYTE = 1024


@dataclass(slots=True)
class Stages:
    """Announces and times stages."""

    on_stage: Callable[[str], None]  # called with the name of a stage
    on_step: Callable[[int, int], None] = lambda _done, _total: None  # documents done, total
    seconds: dict[str, float] = field(default_factory=dict)
    processor_seconds: dict[str, float] = field(default_factory=dict)  # all cores and workers
    traffic: dict[str, TransferStats] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a block as a stage."""
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
    """Return the peak memory of this process; 0 on Windows."""
    if sys.platform == "win32":
        return 0.0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else _KIBIBYTE
    return round(peak * unit / 1e6, 1)
