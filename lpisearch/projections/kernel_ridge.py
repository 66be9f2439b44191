"""Kernel ridge regression for many responses at once: all documents, or landmarks among them.

Documents are rows of unit length and responses are columns of Y. The coefficients C (documents or
landmarks x responses) are those of the functions f(x) = Σⱼ cⱼ k(x, zⱼ) that minimise
|f(X) - Y|² + α |f|²: with all documents as z that is (K + αI) C = Y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import linalg, sparse

from lpisearch.projections.blocks import whitening
from lpisearch.projections.choices import alpha_of_spectrum, choose_kernel_alpha
from lpisearch.projections.kernel_expansion import kernel
from lpisearch.projections.least_squares import solve_shifted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats

ROWS = 512
# A direction of the landmarks whose squared length is below this share of theirs is rounding.
LEAST = 1e-10


class KernelRidge(NamedTuple):
    """Which documents have a coefficient, theirs, where all documents come to lie, and α."""

    landmarks: NDArray[np.intp]
    coefficients: Floats
    places: Floats
    alpha: float


@dataclass(frozen=True, eq=False, slots=True)
class Kernels:
    """The kernels of documents, worked out a few rows at a time.

    Attributes
    ----------
    X
        Documents as rows of unit length.
    name, numbers
        Of the kernel: see `lpisearch.projections.kernel_expansion.kernel`.
    """

    X: sparse.csr_array
    name: str
    numbers: tuple[float, float, float]

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def blocks(self, of: NDArray[np.intp]) -> Iterator[tuple[slice, Floats]]:
        """Yield the kernels of some documents after the others with those that are chosen."""
        X = self.X.astype(np.float64)
        Zt = sparse.csr_array(X[of].T)
        for start in range(0, len(self), ROWS):
            rows = slice(start, min(start + ROWS, len(self)))
            yield rows, kernel((X[rows] @ Zt).toarray(), self.name, *self.numbers)

    def matrix(self, of: NDArray[np.intp]) -> Floats:
        """Return all of them at once: documents x those that are chosen."""
        whole = np.empty((len(self), len(of)))
        for rows, block in self.blocks(of):
            whole[rows] = block
        return whole


def exact_ridge(
    kernels: Kernels,
    Y: Floats,
    alpha: float | str,
    weights: Floats,
    cost: float,
    *,
    rng: np.random.Generator,
) -> KernelRidge:
    """Give every document a coefficient.

    Parameters
    ----------
    alpha
        "auto" chooses it as `choose_alpha` does.
    weights
        How much each response counts in that choice.
    cost
        What a degree of freedom costs in it.
    """
    every = np.arange(len(kernels))
    K = kernels.matrix(every)
    if isinstance(alpha, str):
        alpha = choose_kernel_alpha(K, Y, weights, rng, cost=cost)
    C = solve_shifted(K, Y, float(alpha))
    return KernelRidge(every, C, K @ C, float(alpha))


def landmark_ridge(
    kernels: Kernels,
    Y: Floats,
    alpha: float | str,
    weights: Floats,
    cost: float,
    *,
    rng: np.random.Generator,
    count: int,
) -> KernelRidge:
    """Draw landmarks, and give only them a coefficient; all documents are fitted.

    With K_mm the kernels of the landmarks and K_nm those of all documents with them, C minimises
    |K_nm C - Y|² + α Cᵀ K_mm C. With T such that Tᵀ K_mm T = I and F = K_nm T, that is an
    ordinary ridge regression on F; only Fᵀ F is kept, never F.
    """
    count = min(count, len(kernels))
    landmarks = np.sort(rng.choice(len(kernels), count, replace=False))
    chosen = Kernels(kernels.X[landmarks], kernels.name, kernels.numbers)
    T = whitening(chosen.matrix(np.arange(count)), LEAST)
    gram, right = np.zeros((T.shape[1], T.shape[1])), np.zeros((T.shape[1], Y.shape[1]))
    for rows, block in kernels.blocks(landmarks):
        F = block @ T
        gram += F.T @ F
        right += F.T @ Y[rows]
    values, vectors = linalg.eigh(gram)
    keep = values > len(gram) * np.finfo(np.float64).eps * values[-1]
    values, vectors = values[keep], vectors[:, keep]
    along = vectors.T @ right
    if isinstance(alpha, str):
        energies = np.square(along) @ weights / values
        beyond = max(float(np.square(Y).sum(axis=0) @ weights - energies.sum()), 0.0)
        alpha = alpha_of_spectrum(values, energies, beyond, len(kernels), cost=cost)
    C = T @ (vectors @ (along / (values + float(alpha))[:, np.newaxis]))
    places = np.empty_like(Y)
    for rows, block in kernels.blocks(landmarks):
        places[rows] = block @ C
    return KernelRidge(landmarks, C, places, float(alpha))
