"""Kernel RLPI (KRLPI): kernel ridge regression of the responses.

Documents are rows of unit length and responses are columns of Y. The coefficients C (documents or
landmarks x responses) are those of the functions f(x) = Σⱼ cⱼ k(x, zⱼ) that minimise
|f(X) - Y|² + α |f|²: with all documents as z that is (K + αI) C = Y.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg

from lpisearch.methods.base import check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.kernels import LEAST, KernelEmbedding, Kernels
from lpisearch.methods.linalg import whitening
from lpisearch.methods.regression import solve_shifted
from lpisearch.methods.responses import ResponseTransformer, alpha_of_spectrum, choose_kernel_alpha

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats


@dataclass(eq=False, repr=False)
class KRLPI(ResponseTransformer, KernelEmbedding):
    """Regularised locality preserving indexing in a reproducing kernel Hilbert space.

    1. The responses y place every document near its neighbours, as in `RLPI`: leading
       eigenvectors of W y = λ D y, or class indicators if all documents have a label.
    2. For each y, the function f(x) = Σᵢ cᵢ k(x, xᵢ) of the kernel's space that minimises
       Σᵢ (f(xᵢ) - y_i)² + α |f|² has (K + αI) c = y, with K the kernel matrix of the documents
       (rows of X; the papers write them as columns). The place of a document is f(x), with one
       f for each dimension.

    Whether kernels help if the document space is not linear is an open question of olpi-2005
    (section 6) and spg-2008 (conclusions). With k(x, z) = xᵀz this is `RLPI` in its dual form:
    Xᵀ (X Xᵀ + αI)⁻¹ y = (Xᵀ X + αI)⁻¹ Xᵀ y.

    Kernels take documents at unit length:

    - "linear": cos(x, z)
    - "rbf": exp(-γ |x - z|²) = exp(-γ (2 - 2 cos(x, z)))
    - "poly": (γ cos(x, z) + c₀)^degree

    Up to `exact_documents` this is exact; K takes 8 bytes per pair, and its factor as much.
    Beyond, `landmarks` documents z are drawn, and f is restricted to the functions
    Σⱼ cⱼ k(x, zⱼ) of the landmarks (Nyström), fitted to all documents.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`. Fully
        labelled documents have at most one dimension fewer than classes.
    kernel
        "linear", "rbf" or "poly".
    gamma
        γ of "rbf" and "poly", above 0.
    coef0, degree
        c₀ of "poly", at least 0, and its degree, a whole number above 0.
    alpha
        Strength of the ridge penalty, or "auto": generalised cross-validation, as in `RLPI`.
    exact_documents
        With more documents that have a term, only landmarks have a coefficient.
    landmarks
        Number of landmarks, drawn without replacement.
    solver, tolerance
        Parameters of the eigenproblem: see `RLPI`.
    random_state
        Seed of the block solver and of the landmarks.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`; neighbours are found by cosine, not by the kernel.

    Attributes
    ----------
    embedding_
        Documents x n_components_; each dimension's largest absolute entry is positive.
    eigenvalues_
        λ of each dimension, largest first.
    alpha_
        The strength used.
    landmarks_
        The documents that have a coefficient.
    scales_, n_graph_components_, n_isolated_, seconds_
        See `GraphTransformer`; stages are "graph", "eigenvectors" and "regression".

    Notes
    -----
    A document without a term is left out, and its place is 0.

    References
    ----------
    D. Cai, X. He, W. V. Zhang, J. Han: Regularized locality preserving indexing via spectral
    regression, CIKM 2007.

    C. Williams, M. Seeger: Using the Nyström method to speed up kernel machines, NIPS 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.krlpi import KRLPI
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> krlpi = KRLPI(n_components=1, kernel="rbf", alpha=0.1, n_neighbors=1).fit(X)
    >>> krlpi.transform(X).round(1).ravel()
    array([ 0.9,  0.9, -0.9, -0.9])
    """

    about = CATALOGUE["krlpi"]
    placement = "kernel"

    n_components: int | str = DIMENSIONS
    _: KW_ONLY
    alpha: float | str = 1.0
    solver: str = "auto"
    tolerance: float = 0.05
    random_state: Any = 0
    alpha_: float = field(init=False)

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        rng = generator(self.random_state)
        responses = self._responses(X, y, affinity, rng)
        self._store_vectors(responses.vectors, responses.requested)
        self.eigenvalues_ = responses.values
        with self._timed("regression"):
            kernels = self._kernels(X)
            solution = kernel_ridge(
                kernels,
                self.embedding_[kernels.documents].astype(np.float64),
                self.alpha,
                responses.values ** (2 * self.eigenvalue_power),
                responses.freedom_cost,
                rng=rng,
                count=None if len(kernels) <= self.exact_documents else self.landmarks,
            )
            self.alpha_ = solution.alpha
            landmarks, coefficients, places, _ = solution
            self._store_functions(kernels, landmarks, coefficients, places)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_kernel()
        check_not_negative("alpha", self.alpha, auto=True)


class KernelRidge(NamedTuple):
    """The documents that have a coefficient, the coefficients, the places of all, and α."""

    landmarks: NDArray[np.intp]
    coefficients: Floats
    places: Floats
    alpha: float


def kernel_ridge(
    kernels: Kernels,
    Y: Floats,
    alpha: float | str,
    weights: Floats,
    cost: float,
    *,
    rng: np.random.Generator,
    count: int | None = None,
) -> KernelRidge:
    """Fit all documents, with a coefficient for each of them or for `count` random landmarks.

    With K_mm the kernels of the landmarks and K_nm those of all documents with them, C minimises
    |K_nm C - Y|² + α Cᵀ K_mm C. With T such that Tᵀ K_mm T = I and F = K_nm T, that is an
    ordinary ridge regression on F; only Fᵀ F is stored. `weights` and `cost` are those of
    `choose_alpha`, for α "auto".
    """
    if count is None:
        every = np.arange(len(kernels))
        K = kernels.matrix(every)
        if isinstance(alpha, str):
            alpha = choose_kernel_alpha(K, Y, weights, rng, cost=cost)
        C = solve_shifted(K, Y, float(alpha))
        return KernelRidge(every, C, K @ C, float(alpha))
    count = min(count, len(kernels))
    landmarks = np.sort(rng.choice(len(kernels), count, replace=False))
    T = whitening(kernels.some(landmarks).matrix(np.arange(count)), LEAST)
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
