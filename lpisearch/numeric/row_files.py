"""Sparse rows in files.

A folder holds three arrays for each shard (where rows begin, terms, weights) as `.npy` files, and
`rows.json`, written last: without it the folder is not whole. Shards are mapped into memory while
they are read and let go afterwards, so that memory does not grow with the number of documents.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lpisearch.files import ANYONE, create

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse import csr_array


_CONTENTS = "rows.json"
_FORMAT = 1
_LENGTH_AT = 8  # in an .npy file: behind the magic number and the version
_ARRAYS = {"indptr": np.int64, "indices": np.int32, "data": None}


class ShardsDamaged(ValueError):
    """The files are not as they were written, or not all were."""


class ShardWriter:
    """Writes rows into an empty folder as they come.

    Parameters
    ----------
    folder
        It is made if it is not there.
    n_terms
        How many columns there are; None, if that is known at the end.
    mode
        Of the files, before the user's umask.

    Examples
    --------
    >>> from pathlib import Path
    >>> from scipy import sparse
    >>> writer = ShardWriter(Path("shards"), n_terms=3)
    >>> writer.add(sparse.csr_array([[1.0, 0, 0], [0, 0, 2.0]]))
    >>> writer.finish().shape
    (2, 3)
    """

    def __init__(self, folder: Path, n_terms: int | None = None, mode: int = ANYONE) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._n_terms = n_terms
        self._mode = mode
        self._sizes: list[tuple[int, int]] = []
        self._dtype: str | None = None

    def add(self, rows: csr_array) -> None:
        """Write some rows as one shard."""
        dtype = np.dtype(rows.dtype).str
        if self._n_terms not in {None, rows.shape[1]} or self._dtype not in {None, dtype}:
            raise ValueError(
                f"Rows of {rows.shape[1]} terms as {rows.dtype} do not go with those before: "
                f"{self._n_terms} as {self._dtype or 'anything'}."
            )
        self._dtype = dtype
        self._sizes.append(write_shard(self._folder, len(self._sizes), rows, self._mode))

    def take(self, sizes: Iterable[tuple[int, int]], dtype: DTypeLike) -> None:
        """Take note of shards that others have written with `write_shard`, in their order."""
        self._dtype = np.dtype(dtype).str
        self._sizes += sizes

    def finish(self, n_terms: int | None = None) -> Shards:
        """Say that these are all, and how many columns if that was not said; give them back."""
        contents = {
            "format": _FORMAT,
            "terms": self._n_terms if n_terms is None else n_terms,
            "dtype": self._dtype or np.dtype(np.float32).str,
            "shards": self._sizes,
        }
        with create(self._folder / _CONTENTS, self._mode) as stream:
            stream.write(json.dumps(contents).encode())
        return Shards.open(self._folder)


def write_shard(folder: Path, number: int, rows: csr_array, mode: int = ANYONE) -> tuple[int, int]:
    """Write some rows as the shard of this number; return how many there are, and entries."""
    for name, kind in _ARRAYS.items():
        array = np.asarray(getattr(rows, name), kind)
        path = _path(folder, number, name)
        path.unlink(missing_ok=True)  # of a worker that died while it wrote
        with create(path, mode) as stream:
            np.save(stream, array, allow_pickle=False)
    return int(rows.shape[0]), int(rows.nnz)


@dataclass(frozen=True, eq=False, slots=True)
class Shards:
    """Rows in files: they keep the contract `lpisearch.numeric.row_blocks.RowBlocks`.

    Attributes
    ----------
    folder
        Where the files lie.
    n_terms
        How many columns there are.
    dtype
        Of the weights.
    sizes
        Rows and entries of each shard.
    """

    folder: Path
    n_terms: int
    dtype: np.dtype[Any]
    sizes: tuple[tuple[int, int], ...]

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Read what is in the folder, without its rows.

        Raises
        ------
        ShardsDamaged
            It was not written to the end, or by another version.
        """
        try:
            contents = json.loads((folder / _CONTENTS).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ShardsDamaged(f"{folder} does not contain all rows of the matrix.") from error
        if contents.get("format") != _FORMAT:
            raise ShardsDamaged(f"{folder} was written by another version.")
        sizes = tuple((int(rows), int(entries)) for rows, entries in contents["shards"])
        return cls(folder, int(contents["terms"]), np.dtype(contents["dtype"]), sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""
        return sum(rows for rows, _ in self.sizes), self.n_terms

    def parts(self) -> Sequence[Shard]:
        """Return the shards in order."""
        starts = accumulate((rows for rows, _ in self.sizes), initial=0)
        return [
            Shard(self.folder, number, start, (*size, self.n_terms), self.dtype)
            for number, (start, size) in enumerate(zip(starts, self.sizes, strict=False))
        ]


@dataclass(frozen=True, slots=True)
class Shard:
    """Some rows in files: they keep the contract `lpisearch.numeric.row_blocks.Part`.

    Attributes
    ----------
    folder, number
        Where they lie.
    start
        The number of the first row.
    size
        Rows, entries, columns.
    dtype
        Of the weights.
    """

    folder: Path
    number: int
    start: int
    size: tuple[int, int, int]
    dtype: np.dtype[Any]

    def rows(self, chosen: NDArray[np.integer[Any]] | None = None) -> csr_array:
        """Map the files into memory, until what is returned is let go; or copy some of the rows.

        Raises
        ------
        ShardsDamaged
            A file is missing, cut short or of another size.
        """
        from scipy.sparse import csr_array

        rows, entries, columns = self.size
        expected = {"indptr": rows + 1, "indices": entries, "data": entries}
        arrays = {name: self._array(name, size) for name, size in expected.items()}
        # With both kinds of numbers SciPy would make the terms wide, too.
        starts = arrays["indptr"].astype(arrays["indices"].dtype, copy=False)
        parts = (arrays["data"], arrays["indices"], starts)
        found: csr_array = csr_array(parts, shape=(rows, columns), copy=False)
        return found if chosen is None else found[chosen]

    def _array(self, name: str, size: int) -> NDArray[Any]:
        path = _path(self.folder, self.number, name)
        dtype = np.dtype(_ARRAYS[name] or self.dtype)
        try:
            begin, header = _header(path)
            is_whole = path.stat().st_size == begin + size * dtype.itemsize
        except OSError as error:
            raise ShardsDamaged(f"{path} cannot be read.") from error
        if not is_whole or f"'descr': '{dtype.str}'" not in header or f"({size},)" not in header:
            raise ShardsDamaged(f"{path} is corrupt.")
        if not size:  # a file without entries cannot be mapped
            return np.empty(0, dtype)
        return np.memmap(path, dtype, "r", begin, (size,))


def _header(path: Path) -> tuple[int, str]:
    """Return where the numbers of an .npy file begin, and what is said of them.

    NumPy would parse that as Python: in threads, Python 3.11 can fail to.
    """
    with path.open("rb") as stream:
        start = stream.read(_LENGTH_AT + 2)
        length = int.from_bytes(start[_LENGTH_AT:], "little")
        return len(start) + length, stream.read(length).decode("latin-1")


def _path(folder: Path, number: int, name: str) -> Path:
    return folder / f"{number:06}.{name}.npy"
