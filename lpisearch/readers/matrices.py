"""Term-document matrices: CSR archives and svmlight."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import LpiSearchError
from lpisearch.messages import system_reason

if TYPE_CHECKING:
    from pathlib import Path

    from scipy.sparse import csr_array


_PARTS = ("data", "indices", "indptr", "shape", "label")
_NPZ = b"PK"
_MOST_TERMS = 50_000_000
# What NumPy, SciPy, scikit-learn and zipfile raise for files that are cut short or garbled.
_UNREADABLE = (
    ValueError,
    TypeError,
    OverflowError,
    EOFError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


class MatrixUnreadable(LpiSearchError):
    """A file is not a matrix or cannot be read."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {reason}.",
            "give an .npz file with the arrays data, indices, indptr, shape and label, "
            "or an svmlight file",
        )


@dataclass(frozen=True, eq=False, slots=True)
class Matrix:
    """A published matrix of documents (rows; columns in the papers) x terms, with labels."""

    counts: csr_array
    labels: tuple[tuple[str, ...], ...]


def read_matrix(path: Path) -> Matrix:
    """Read documents x terms with the labels of each document."""
    try:
        with path.open("rb") as stream:
            is_archive = stream.read(len(_NPZ)) == _NPZ
        counts, labels = _archive(path) if is_archive else _svmlight(path)
    except OSError as error:
        raise MatrixUnreadable(path, system_reason(error)) from error
    except _UNREADABLE as error:
        raise MatrixUnreadable(path, str(error).rstrip(".")) from error
    _check(path, counts, labels)
    counts = _compact(counts)
    counts.eliminate_zeros()  # a term that is stored as 0 times there is not there
    return Matrix(counts, labels)


def _archive(path: Path) -> tuple[csr_array, tuple[tuple[str, ...], ...]]:
    from scipy.sparse import csr_array

    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        missing = [name for name in _PARTS if name not in stored]
        if missing:
            raise ValueError(f"it lacks the array {', '.join(missing)}")
        data, indices, indptr, shape, label = (stored[name] for name in _PARTS)
    if np.iscomplexobj(data):
        raise ValueError("its numbers are complex")
    size = tuple(int(length) for length in shape.ravel().tolist())
    if len(size) != 2:  # noqa: PLR2004 (documents and terms)
        raise ValueError("its shape is not two numbers, of documents and of terms")
    matrix = csr_array((data.astype(np.float32), indices, indptr), shape=size)
    matrix.check_format(full_check=True)
    matrix.sum_duplicates()
    return matrix, tuple((str(name),) for name in label.ravel().tolist())


def _compact(counts: csr_array) -> csr_array:
    """Return counts with 32-bit indices where they fit: the linear SVM takes no others."""
    from scipy.sparse import csr_array

    if counts.nnz > np.iinfo(np.int32).max:
        return counts
    index_arrays = (counts.indices.astype(np.int32), counts.indptr.astype(np.int32))
    return csr_array((counts.data, *index_arrays), shape=counts.shape)


def _svmlight(path: Path) -> tuple[csr_array, tuple[tuple[str, ...], ...]]:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    matrix, labels = load_svmlight_file(str(path), dtype=np.float32, multilabel=True)
    counts = csr_array(matrix)
    counts.sum_duplicates()
    return counts, tuple(tuple(f"{label:g}" for label in own) for own in labels)


def _check(path: Path, counts: csr_array, labels: tuple[tuple[str, ...], ...]) -> None:
    if not labels:
        raise MatrixUnreadable(path, "it has no documents")
    if len(labels) != counts.shape[0]:
        raise MatrixUnreadable(
            path, f"it has {counts.shape[0]:,} documents, but {len(labels):,} labels"
        )
    if counts.shape[1] > _MOST_TERMS:
        raise MatrixUnreadable(path, f"it has {counts.shape[1]:,} terms, too many to count")
    if not np.isfinite(counts.data).all() or (counts.data < 0).any():
        raise MatrixUnreadable(path, "it has numbers that are negative or not finite")
