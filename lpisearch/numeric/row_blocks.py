"""Work on parts of very many documents, and sparse rows in blocks.

Everything that runs over very many documents is `map_parts(work, parts)`: in threads of this
process or on a Dask cluster. The caller adds, writes or joins the results in the order of the
parts, so the bits depend on how the documents are cut into parts and on nothing else. A part is a
small handle that reads its documents where they are needed; `work` is a module-level function or a
frozen dataclass with `__call__`, so both can be sent to other processes. `use_executor` replaces
the threads, for instance by `lpisearch.numeric.dask_cluster.Cluster`.

Rows come from a matrix in memory (`MatrixBlocks`) or from files (`lpisearch.numeric.row_files`);
they are read in order, derived, gathered, and written to a target.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from lpisearch.numeric.threads import THREADS, one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Array = NDArray[Any]
    RowNumbers = NDArray[np.integer[Any]]


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TransferStats:
    """What this process exchanged with its workers.

    `parts` counts parts that were worked on, repeated ones again; `sent` and `received` are bytes
    of work and results, `shared` bytes of large arrays that are sent once for all parts;
    `processor_seconds` are those of the workers.
    """

    parts: int = 0
    sent: int = 0
    received: int = 0
    shared: int = 0
    processor_seconds: float = 0.0

    def __sub__(self, before: TransferStats) -> TransferStats:
        earlier = asdict(before)
        return TransferStats(**{name: now - earlier[name] for name, now in asdict(self).items()})

    def __add__(self, more: TransferStats) -> TransferStats:
        added = asdict(more)
        return TransferStats(**{name: now + added[name] for name, now in asdict(self).items()})


class Executor(Protocol):
    """Works on parts, in threads or in other processes."""

    @property
    def is_remote(self) -> bool:
        """Whether other processes work, which share files with this one, but no memory."""

    @property
    def stats(self) -> TransferStats:
        """What was exchanged so far."""

    def map(self, work: Callable[[Any], T], parts: Iterable[Any]) -> Iterator[T]:
        """Call `work` for each part; yield the results in the order of the parts.

        Parts are taken only a few ahead of the results, so that waiting results do not fill the
        memory.
        """


class ThreadExecutor:
    """Distributes parts over threads of this process."""

    is_remote = False
    stats = TransferStats()

    def map(self, work: Callable[[Any], T], parts: Iterable[Any]) -> Iterator[T]:
        """Call `work` for each part; yield the results in the order of the parts."""
        with one_blas_thread(), ThreadPoolExecutor(THREADS) as pool:
            waiting: deque[Any] = deque()
            try:
                for part in parts:
                    waiting.append(pool.submit(work, part))
                    if len(waiting) > THREADS:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


_EXECUTOR: ContextVar[Executor] = ContextVar("executor", default=ThreadExecutor())  # noqa: B039 (it has no state)


def map_parts(work: Callable[[Any], T], parts: Iterable[Any]) -> Iterator[T]:
    """Call `work` for each part on the current executor; yield the results in order."""
    return _EXECUTOR.get().map(work, parts)


def is_remote() -> bool:
    """Whether other processes work on parts now, which share no memory with this one."""
    return _EXECUTOR.get().is_remote


def transfer_stats() -> TransferStats:
    """Return what was exchanged with other processes so far."""
    return _EXECUTOR.get().stats


@contextmanager
def use_executor(executor: Executor) -> Iterator[None]:
    """Work on parts with this executor inside the block."""
    token = _EXECUTOR.set(executor)
    try:
        yield
    finally:
        _EXECUTOR.reset(token)


BLOCK_ROWS = 8192


class Part(Protocol):
    """Consecutive rows: a small handle that reads them where they are needed."""

    @property
    def start(self) -> int:
        """The number of its first row."""

    def rows(self, chosen: RowNumbers | None = None) -> csr_array:
        """Read all rows, or the chosen ones, counted from the first row of the part."""


class RowBlocks(Protocol):
    """Documents x terms, read from the first row to the last as often as needed."""

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the weights."""

    def parts(self) -> Sequence[Part]:
        """Return the rows in order, in parts that are always the same."""


@dataclass(frozen=True, eq=False, slots=True)
class _MatrixPart:
    """Consecutive rows of a matrix in memory."""

    start: int
    matrix: csr_array

    def rows(self, chosen: RowNumbers | None = None) -> csr_array:
        return self.matrix if chosen is None else self.matrix[chosen]


@dataclass(frozen=True, eq=False, slots=True)
class MatrixBlocks:
    """A matrix in memory, in blocks of `block_rows` rows."""

    matrix: csr_array
    block_rows: int = BLOCK_ROWS

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the weights."""
        return np.dtype(self.matrix.dtype)

    def parts(self) -> Sequence[Part]:
        """Return the blocks in order."""
        starts = range(0, self.shape[0], self.block_rows)
        return [_MatrixPart(at, rows_of(self.matrix, at, at + self.block_rows)) for at in starts]


def rows_of(matrix: csr_array, start: int, stop: int) -> csr_array:
    """Return consecutive rows of a matrix without copying them."""
    from scipy.sparse import csr_array

    bounds = matrix.indptr[start : stop + 1]
    own = slice(int(bounds[0]), int(bounds[-1]))
    parts = (matrix.data[own], matrix.indices[own], bounds - bounds[0])
    some: csr_array = csr_array(parts, shape=(len(bounds) - 1, matrix.shape[1]), copy=False)
    some.has_canonical_format = matrix.has_canonical_format
    return some


def blocks(rows: RowBlocks) -> Iterator[csr_array]:
    """Yield the rows of each part, in order."""
    for part in rows.parts():
        yield part.rows()


def map_blocks(work: Callable[[csr_array, int], T], rows: RowBlocks) -> Iterator[T]:
    """Call `work` with the rows of each part and the number of its first row; results in order."""
    return map_parts(_ReadAndCall(work), rows.parts())


@dataclass(frozen=True, eq=False, slots=True)
class _ReadAndCall:
    """Reads the rows of a part in the process that works on them."""

    work: Callable[[csr_array, int], Any]

    def __call__(self, part: Part) -> Any:
        return self.work(part.rows(), part.start)


@dataclass(frozen=True, eq=False, slots=True)
class StackedBlocks:
    """Matrices one below the other, each perhaps narrower than `n_terms` columns."""

    matrices: Sequence[csr_array]
    n_terms: int

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""
        return sum(matrix.shape[0] for matrix in self.matrices), self.n_terms

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the weights."""
        return np.dtype(self.matrices[0].dtype if self.matrices else np.float32)

    def parts(self) -> Sequence[Part]:
        """Return the matrices in order."""
        starts = accumulate((matrix.shape[0] for matrix in self.matrices), initial=0)
        wide = (widened(matrix, self.n_terms) for matrix in self.matrices)
        return [_MatrixPart(start, matrix) for start, matrix in zip(starts, wide, strict=False)]


@dataclass(frozen=True, eq=False, slots=True)
class DerivedBlocks:
    """Rows computed from those of a source, one by one, whenever they are read.

    `work` turns rows of the source into rows of `n_terms` columns.
    """

    source: RowBlocks
    work: Callable[[csr_array], csr_array]
    n_terms: int

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""
        return self.source.shape[0], self.n_terms

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the weights."""
        return self.source.dtype

    def parts(self) -> Sequence[Part]:
        """Return the rows in the parts of the source."""
        return [_DerivedPart(part, self.work) for part in self.source.parts()]


@dataclass(frozen=True, eq=False, slots=True)
class _DerivedPart:
    source: Part
    work: Callable[[csr_array], csr_array]

    @property
    def start(self) -> int:
        return self.source.start

    def rows(self, chosen: RowNumbers | None = None) -> csr_array:
        return self.work(self.source.rows(chosen))


def whole(rows: RowBlocks) -> csr_array:
    """Return all rows as one matrix in memory."""
    return rows.matrix if isinstance(rows, MatrixBlocks) else _stacked(list(blocks(rows)), rows)


def gather(rows: RowBlocks, numbers: RowNumbers) -> csr_array:
    """Return the rows of these numbers, ascending, as one matrix in memory."""
    parts = rows.parts()
    starts = np.array([part.start for part in parts], np.int64)
    cuts = np.append(np.searchsorted(numbers, starts), len(numbers)).tolist()
    requests = [
        (part, numbers[first:last] - part.start)
        for part, (first, last) in zip(parts, pairwise(cuts), strict=True)
        if first < last
    ]
    return _stacked(list(map_parts(_read_chosen, requests)), rows)


class LazyRows:
    """Rows in blocks that can be indexed like a matrix: `rows[numbers]`, ascending.

    `sizes` has the number of entries of each row.
    """

    def __init__(self, rows: RowBlocks, sizes: RowNumbers) -> None:
        self.shape = rows.shape
        self.indptr = np.append(0, np.cumsum(sizes, dtype=np.int64))
        self._rows = rows

    def __getitem__(self, numbers: RowNumbers) -> csr_array:
        return gather(self._rows, numbers)


def _read_chosen(request: tuple[Part, RowNumbers]) -> csr_array:
    part, chosen = request
    return part.rows(chosen)


def _stacked(matrices: Sequence[csr_array], rows: RowBlocks) -> csr_array:
    from scipy.sparse import csr_array, vstack

    if not matrices:
        return csr_array((0, rows.shape[1]), dtype=rows.dtype)
    stacked: csr_array = csr_array(vstack(matrices, format="csr"))
    return stacked


def widened(matrix: csr_array, n_terms: int) -> csr_array:
    """Return a matrix with more columns to the right of its own, without copying."""
    from scipy.sparse import csr_array

    parts = (matrix.data, matrix.indices, matrix.indptr)
    wide: csr_array = csr_array(parts, shape=(matrix.shape[0], n_terms), copy=False)
    wide.has_canonical_format = matrix.has_canonical_format
    return wide


class RowTarget(Protocol):
    """Receives rows in any order, from any thread and, if it is a file, from any process."""

    def write(self, start: int, rows: Array) -> None:
        """Write some rows, the first of which has the number `start`."""

    def array(self) -> Array:
        """Return all rows."""


@dataclass(frozen=True, eq=False, slots=True)
class ArrayTarget:
    """Rows in memory."""

    rows: Array

    def write(self, start: int, rows: Array) -> None:
        """Write some rows, the first of which has the number `start`."""
        self.rows[start : start + len(rows)] = rows

    def array(self) -> Array:
        """Return all rows."""
        return self.rows
