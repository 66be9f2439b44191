"""Rows of a sparse matrix in files, written and read a shard at a time.

A folder holds three arrays for each shard (where rows begin, terms, weights) as `.npy` files, and
`rows.json`, written last: without it the folder is not whole. Shards are mapped into memory while
they are read and let go afterwards, so that memory does not grow with the number of documents.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

_CONTENTS = "rows.json"
_FORMAT = 1
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
        How many columns there are.

    Examples
    --------
    >>> from pathlib import Path
    >>> from scipy import sparse
    >>> writer = ShardWriter(Path("shards"), n_terms=3)
    >>> writer.add(sparse.csr_array([[1.0, 0, 0], [0, 0, 2.0]]))
    >>> writer.finish().shape
    (2, 3)
    """

    def __init__(self, folder: Path, n_terms: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._n_terms = n_terms
        self._sizes: list[list[int]] = []
        self._dtype: str | None = None

    def add(self, rows: csr_array) -> None:
        """Write some rows as one shard."""
        dtype = np.dtype(rows.dtype).str
        if rows.shape[1] != self._n_terms or self._dtype not in {None, dtype}:
            raise ValueError(
                f"Rows of {rows.shape[1]} terms as {rows.dtype} do not go with those before: "
                f"{self._n_terms} as {self._dtype or 'anything'}."
            )
        self._dtype = dtype
        for name, kind in _ARRAYS.items():
            array = np.asarray(getattr(rows, name), kind)
            np.save(_path(self._folder, len(self._sizes), name), array, allow_pickle=False)
        self._sizes.append([int(rows.shape[0]), int(rows.nnz)])

    def finish(self) -> Shards:
        """Say that these are all, and give them to be read."""
        contents = {
            "format": _FORMAT,
            "terms": self._n_terms,
            "dtype": self._dtype or np.dtype(np.float32).str,
            "shards": self._sizes,
        }
        (self._folder / _CONTENTS).write_text(json.dumps(contents), encoding="utf-8")
        return Shards.open(self._folder)


@dataclass(frozen=True, eq=False, slots=True)
class Shards:
    """Rows in files: they keep the contract `lpisearch.compute.row_blocks.RowBlocks`.

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
            raise ShardsDamaged(f"{folder} does not hold all rows of a matrix.") from error
        if contents.get("format") != _FORMAT:
            raise ShardsDamaged(f"{folder} was written by another version.")
        sizes = tuple((int(rows), int(entries)) for rows, entries in contents["shards"])
        return cls(folder, int(contents["terms"]), np.dtype(contents["dtype"]), sizes)

    @property
    def shape(self) -> tuple[int, int]:
        """Documents x terms."""
        return sum(rows for rows, _ in self.sizes), self.n_terms

    def blocks(self) -> Iterator[csr_array]:
        """Give each shard in turn.

        Raises
        ------
        ShardsDamaged
            A file is missing, cut short or of another size.
        """
        for number in range(len(self.sizes)):
            yield self._shard(number)

    def _shard(self, number: int) -> csr_array:
        from scipy.sparse import csr_array

        rows, entries = self.sizes[number]
        expected = {"indptr": rows + 1, "indices": entries, "data": entries}
        arrays = {name: self._array(number, name, size) for name, size in expected.items()}
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        return csr_array(parts, shape=(rows, self.n_terms), copy=False)

    def _array(self, number: int, name: str, size: int) -> NDArray[Any]:
        path = _path(self.folder, number, name)
        try:
            # A file without entries cannot be mapped.
            found: NDArray[Any] = np.load(path, mmap_mode="r" if size else None, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise ShardsDamaged(f"{path} cannot be read.") from error
        if found.shape != (size,) or (name == "data" and found.dtype != self.dtype):
            raise ShardsDamaged(f"{path} is not as it was written.")
        return found


def _path(folder: Path, number: int, name: str) -> Path:
    return folder / f"{number:06}.{name}.npy"
