"""Rows in files: sparse rows in partitions, dense rows written in place or exported, mapped arrays.

A folder of sparse rows holds three `.npy` files for each partition (row bounds, terms, weights)
and `rows.json`, written last: a folder without it is incomplete. Files are mapped while they are
read and released afterwards, so memory does not grow with the number of documents.
"""

from __future__ import annotations

import json
import math
import mmap
import zipfile
from dataclasses import dataclass
from itertools import accumulate
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from lpisearch.errors import BadOption, LibraryUnwritable, VectorsUnavailable
from lpisearch.files import ANYONE, create, refuse_others, whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse import csr_array

    from lpisearch.model.documents import Entry

    Array = NDArray[Any]


_CONTENTS = "rows.json"
_FORMAT = 1
_LENGTH_AT = 8  # in an .npy file: behind the magic number and the version
_ARRAYS = {"indptr": np.int64, "indices": np.int32, "data": None}


class PartitionsDamaged(ValueError):
    """A file is missing or corrupt, or the folder was not written to the end."""


class PartitionWriter:
    """Writes sparse rows into an empty folder, a partition at a time.

    `n_terms` may be left open until `finish`; `mode` is that of the files, before the umask.
    """

    def __init__(self, folder: Path, n_terms: int | None = None, mode: int = ANYONE) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._n_terms = n_terms
        self._mode = mode
        self._sizes: list[tuple[int, int]] = []
        self._dtype: str | None = None

    def add(self, rows: csr_array) -> None:
        """Write some rows as the next partition."""
        dtype = np.dtype(rows.dtype).str
        if self._n_terms not in {None, rows.shape[1]} or self._dtype not in {None, dtype}:
            raise ValueError(
                f"Rows of {rows.shape[1]} terms as {rows.dtype} do not go with those before: "
                f"{self._n_terms} as {self._dtype or 'anything'}."
            )
        self._dtype = dtype
        self._sizes.append(write_partition(self._folder, len(self._sizes), rows, self._mode))

    def take(self, sizes: Iterable[tuple[int, int]], dtype: DTypeLike) -> None:
        """Register partitions that other processes wrote with `write_partition`, in order."""
        self._dtype = np.dtype(dtype).str
        self._sizes += sizes

    def finish(self, n_terms: int | None = None) -> PartitionedRows:
        """Write the table of contents and open the rows."""
        contents = {
            "format": _FORMAT,
            "terms": self._n_terms if n_terms is None else n_terms,
            "dtype": self._dtype or np.dtype(np.float32).str,
            "shards": self._sizes,
        }
        with create(self._folder / _CONTENTS, self._mode) as stream:
            stream.write(json.dumps(contents).encode())
        return PartitionedRows.open(self._folder)


def write_partition(
    folder: Path, number: int, rows: csr_array, mode: int = ANYONE
) -> tuple[int, int]:
    """Write some rows as the partition of this number; return the counts of rows and entries."""
    for name, kind in _ARRAYS.items():
        array = np.asarray(getattr(rows, name), kind)
        path = _path(folder, number, name)
        path.unlink(missing_ok=True)  # left by a worker that died while it wrote
        with create(path, mode) as stream:
            np.save(stream, array, allow_pickle=False)
    return int(rows.shape[0]), int(rows.nnz)


@dataclass(frozen=True, eq=False, slots=True)
class PartitionedRows:
    """Sparse rows in files, as `RowBlocks`; `sizes` has the rows and entries of each partition."""

    folder: Path
    n_terms: int
    dtype: np.dtype[Any]
    sizes: tuple[tuple[int, int], ...]

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Read the table of contents; raise PartitionsDamaged if it is missing or unknown."""
        try:
            contents = json.loads((folder / _CONTENTS).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise PartitionsDamaged(f"{folder} does not contain all rows of the matrix.") from error
        if contents.get("format") != _FORMAT:
            raise PartitionsDamaged(f"{folder} was written by another version.")
        sizes = tuple((int(rows), int(entries)) for rows, entries in contents["shards"])
        return cls(folder, int(contents["terms"]), np.dtype(contents["dtype"]), sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""
        return sum(rows for rows, _ in self.sizes), self.n_terms

    def parts(self) -> Sequence[RowPartition]:
        """Return the partitions in order."""
        starts = accumulate((rows for rows, _ in self.sizes), initial=0)
        return [
            RowPartition(self.folder, number, start, (*size, self.n_terms), self.dtype)
            for number, (start, size) in enumerate(zip(starts, self.sizes, strict=False))
        ]


@dataclass(frozen=True, slots=True)
class RowPartition:
    """A partition in files, as `Part`; `size` is its rows, entries and columns."""

    folder: Path
    number: int
    start: int
    size: tuple[int, int, int]
    dtype: np.dtype[Any]

    def rows(self, chosen: NDArray[np.integer[Any]] | None = None) -> csr_array:
        """Map the rows, or copy the chosen ones; raise PartitionsDamaged if a file is corrupt."""
        from scipy.sparse import csr_array

        rows, entries, columns = self.size
        expected = {"indptr": rows + 1, "indices": entries, "data": entries}
        arrays = {name: self._array(name, size) for name, size in expected.items()}
        # With mixed integer types SciPy would widen the terms, too.
        starts = arrays["indptr"].astype(arrays["indices"].dtype, copy=False)
        parts = (arrays["data"], arrays["indices"], starts)
        matrix: csr_array = csr_array(parts, shape=(rows, columns), copy=False)
        return matrix if chosen is None else matrix[chosen]

    def _array(self, name: str, size: int) -> Array:
        path = _path(self.folder, self.number, name)
        dtype = np.dtype(_ARRAYS[name] or self.dtype)
        try:
            begin, header = _header(path)
            is_whole = path.stat().st_size == begin + size * dtype.itemsize
        except OSError as error:
            raise PartitionsDamaged(f"{path} cannot be read.") from error
        if not is_whole or f"'descr': '{dtype.str}'" not in header or f"({size},)" not in header:
            raise PartitionsDamaged(f"{path} is corrupt.")
        return map_region(path, dtype, begin, (size,))


def _header(path: Path) -> tuple[int, str]:
    """Return the offset of the numbers in an .npy file, and its header.

    NumPy would parse the header as Python code, which can fail in threads of Python 3.11.
    """
    with path.open("rb") as stream:
        start = stream.read(_LENGTH_AT + 2)
        length = int.from_bytes(start[_LENGTH_AT:], "little")
        return len(start) + length, stream.read(length).decode("latin-1")


def _path(folder: Path, number: int, name: str) -> Path:
    return folder / f"{number:06}.{name}.npy"


@dataclass(frozen=True, slots=True)
class FileTarget:
    """Dense rows in a file from the byte `begin` on, as `RowTarget`.

    They are written, not mapped, so that they need not stay in memory.
    """

    path: Path
    begin: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """The number of bytes of all rows."""
        return math.prod(self.shape) * self.dtype.itemsize

    def write(self, start: int, rows: Array) -> None:
        """Write some rows, the first of which has the number `start`."""
        content = np.ascontiguousarray(rows, self.dtype)
        if rows.shape[1:] != self.shape[1:] or start + len(rows) > self.shape[0]:
            raise ValueError(f"Rows of {rows.shape} from {start} on are not of {self.shape}.")
        width = self.size // self.shape[0] if self.shape[0] else 0
        with self.path.open("r+b") as stream:
            stream.seek(self.begin + start * width)
            stream.write(content.data)

    def array(self) -> Array:
        """Map all rows."""
        return map_region(self.path, self.dtype, self.begin, self.shape)


def map_region(
    path: Path | str, dtype: Any, begin: int, shape: tuple[int, ...], mode: Any = "r"
) -> Array:
    """Map an array that begins at a byte of a file; one without entries is made in memory."""
    if not math.prod(shape):
        return np.empty(shape, dtype)
    mapped: Array = np.memmap(path, dtype, mode, begin, shape)
    return mapped


def map_array(path: Path) -> Array:
    """Map the array of an .npy file for reading."""
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError:  # an array without entries cannot be mapped
        array = np.load(path, allow_pickle=False)
    return array


def release_pages(array: Array) -> None:
    """Give the memory of a mapped array, or of a view of one, back to the system."""
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


_EXPORTS = {".npz": b"PK\x03\x04", ".parquet": b"PAR1"}
_TITLE = 200  # characters in .npz, whose texts all take as much room as the longest


def export_vectors(
    target: Path,
    ids: Sequence[str],
    vectors: NDArray[np.float32],
    entries: Iterable[Entry],
    *,
    force: bool,
    mode: int = ANYONE,
) -> int:
    """Write id, title, labels and vector of documents to .npz or .parquet; return how many.

    The bytes are determined by the documents. Documents without an entry are left out.
    """
    begins = _EXPORTS.get(target.suffix.lower())
    if begins is None:
        raise BadOption("target", f"{target.name} must end in .npz or .parquet")
    if not force:
        refuse_others(target, "an export of vectors", lambda head: head.startswith(begins))
    known = {entry.id: entry for entry in entries}
    rows = [row for row, name in enumerate(ids) if name in known]
    chosen = [known[ids[row]] for row in rows]
    write = _write_npz if target.suffix.lower() == ".npz" else _write_parquet
    try:
        with whole_file(target, mode) as stream:
            write(stream, chosen, np.ascontiguousarray(vectors[rows], np.float32))
    except OSError as error:
        raise LibraryUnwritable(target, error.strerror or str(error)) from error
    return len(rows)


def _write_npz(stream: IO[bytes], entries: Sequence[Entry], vectors: NDArray[np.float32]) -> None:
    """Write arrays that `numpy.load` reads without pickle; several labels are joined by lines."""
    arrays: dict[str, Array] = {
        "ids": np.array([entry.id for entry in entries], np.str_),
        "titles": np.array([entry.title[:_TITLE] for entry in entries], np.str_),
        "labels": np.array(["\n".join(entry.labels) for entry in entries], np.str_),
        "vectors": vectors,
    }
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            about = zipfile.ZipInfo(f"{name}.npy")  # of 1980: no date of now
            about.compress_type = zipfile.ZIP_STORED if name == "vectors" else zipfile.ZIP_DEFLATED
            with archive.open(about, "w", force_zip64=True) as part:
                np.lib.format.write_array(part, array, allow_pickle=False)


def _write_parquet(
    stream: IO[bytes], entries: Sequence[Entry], vectors: NDArray[np.float32]
) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        reason = "Parquet files require pyarrow"
        raise VectorsUnavailable(reason, "pip install 'lpisearch[parquet]'") from error
    flat = pa.array(vectors.ravel(), pa.float32())
    columns = {
        "id": pa.array([entry.id for entry in entries], pa.string()),
        "title": pa.array([entry.title for entry in entries], pa.string()),
        "labels": pa.array([list(entry.labels) for entry in entries], pa.list_(pa.string())),
        "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
    }
    parquet.write_table(pa.table(columns), stream)
