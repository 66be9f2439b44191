"""Methods in the space of a kernel: their parameters, kernel matrices, and the rule of placement.

Documents are rows of unit length. A function of the space is f(x) = Σⱼ cⱼ k(x, zⱼ), with all
documents as z or, of many, with landmarks that are drawn (Nyström).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.methods.base import Embedding, check_choice, check_count, check_not_negative
from lpisearch.methods.catalogue import EXACT_DOCUMENTS, LANDMARKS
from lpisearch.methods.placement import KERNELS, InvertedRows, kernel
from lpisearch.numeric.rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats


ROWS = 512
# Directions of the landmarks with a squared length below this share are rounding.
LEAST = 1e-10


@dataclass(frozen=True, eq=False, slots=True)
class Kernels:
    """The kernels of documents (rows of unit length), computed a few rows at a time.

    `documents` are their numbers among all.
    """

    X: sparse.csr_array
    name: str
    numbers: tuple[float, float, float]
    documents: NDArray[np.intp]

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def some(self, chosen: NDArray[np.intp]) -> Kernels:
        """Return the kernels among some documents."""
        return Kernels(self.X[chosen], self.name, self.numbers, self.documents[chosen])

    def blocks(self, chosen: NDArray[np.intp]) -> Iterator[tuple[slice, Floats]]:
        """Yield the kernels of consecutive documents with the chosen ones."""
        X = self.X.astype(np.float64)
        Zt = sparse.csr_array(X[chosen].T)
        for start in range(0, len(self), ROWS):
            rows = slice(start, min(start + ROWS, len(self)))
            yield rows, kernel((X[rows] @ Zt).toarray(), self.name, *self.numbers)

    def matrix(self, chosen: NDArray[np.intp]) -> Floats:
        """Return the kernels of all documents with the chosen ones."""
        matrix = np.empty((len(self), len(chosen)))
        for rows, block in self.blocks(chosen):
            matrix[rows] = block
        return matrix


@dataclass(eq=False, repr=False, kw_only=True)
class KernelEmbedding(Embedding):
    """Documents at f(x), one function f of the kernel's space for each dimension."""

    kernel: str = "rbf"
    gamma: float = 1.0
    coef0: float = 1.0
    degree: int = 2
    exact_documents: int = EXACT_DOCUMENTS
    landmarks: int = LANDMARKS

    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers that the kernel expansion takes, by name."""
        return {
            "coefficients": self._coefficients,
            "kernel": np.array([self.kernel]),
            "kernel_numbers": np.array([self.gamma, self.coef0, self.degree], np.float64),
            **self._inverted.arrays(),
        }

    def _kernels(self, X: Any) -> Kernels:
        """Return the kernels of the documents that have a term."""
        rows = SparseRows.of_matrix(X).unit()
        U: Any = sparse.csr_array((rows.data, rows.indices, rows.indptr), (len(rows), rows.n_terms))
        active = np.flatnonzero(rows.lengths)
        numbers = (self.gamma, self.coef0, self.degree)
        return Kernels(U[active], self.kernel, numbers, active)

    def _store_functions(
        self, kernels: Kernels, landmarks: NDArray[np.intp], coefficients: Floats, places: Floats
    ) -> None:
        """Store the functions of landmarks, and the places of the active documents.

        As for the other methods, the largest absolute entry of each dimension is positive.
        """
        largest = np.abs(places).argmax(axis=0)
        signs = np.where(places[largest, np.arange(len(largest))] < 0, -1.0, 1.0)
        self.landmarks_ = kernels.documents[landmarks]
        self._coefficients = coefficients * signs
        self._inverted = InvertedRows.of_rows(SparseRows.of_matrix(kernels.X[landmarks]))
        self.embedding_ = np.zeros_like(self.embedding_)
        self.embedding_[kernels.documents] = places * signs

    def _check_kernel(self) -> None:
        """Refuse parameters of the kernel that are out of range."""
        for name in ("gamma", "coef0"):
            check_not_negative(name, getattr(self, name))
        for name in ("degree", "exact_documents", "landmarks"):
            check_count(name, getattr(self, name))
        check_choice("kernel", self.kernel, KERNELS)
        if self.gamma == 0:
            raise ValueError("gamma must be above 0: with 0, all documents are the same.")
