"""Landmark-based spectral clustering (LSC)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse

from lpisearch.methods.base import (
    Embedding,
    check_count,
    check_not_negative,
    generator,
    with_fixed_signs,
)
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.methods.linalg import ROWS, gram
from lpisearch.methods.placement import SAME, InvertedRows, landmark_weights
from lpisearch.numeric.rows import SparseRows, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats


# Of ẐᵀẐ, whose largest eigenvalue is 1.
_LEAST = 1e-9


@dataclass(eq=False, repr=False)
class LSC(Embedding):
    """Landmark-based spectral clustering: eigenvectors of a graph of documents and landmarks.

    1. Some documents are drawn as landmarks u (LSC-R); k-means may move them (LSC-K). Each document
       (a row x of X; the paper writes columns) gets the weights z_j = exp(-γ |x - u_j|²) of its
       nearest landmarks, divided by their sum (equation 6).
    2. With Λ the column sums of Z and Ẑ = Z Λ^-½, the graph is W = Ẑ Ẑᵀ, whose degrees are all 1.
       Its eigenvectors y are left singular vectors of Ẑ, found from ẐᵀẐ (landmarks x landmarks) in
       time linear in the documents; the first, which is constant, is left out.

    k-means on the rows of Y gives the clusters; `Eigenmaps` joins the documents themselves. A new
    document is placed by the same equation: y = √n zᵀ Λ^-½ v / σ, with v the right singular
    vectors and n the number of documents.

    Parameters
    ----------
    n_components
        Dimensions, fewer than landmarks.
    landmarks
        How many documents are drawn; of those in the same direction, one.
    n_rounds
        How often k-means moves each landmark to the mean direction of the documents nearest to it.
    n_neighbors
        The nearest landmarks of a document by cosine, which must be above 0.
    gamma
        γ, for rows at unit length.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power.
    random_state
        Seed of the landmarks.

    Attributes
    ----------
    embedding_
        Documents x n_components_; each dimension's largest absolute entry is positive.
    eigenvalues_
        λ = σ² of each dimension, largest first.
    landmarks_
        The rows that were drawn.

    References
    ----------
    X. Chen, D. Cai: Large scale spectral clustering with landmark-based representation, AAAI 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.lsc import LSC
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> LSC(n_components=1, n_neighbors=2).fit(X).embedding_.round(1).ravel()
    array([ 1.,  1., -1., -1.])
    """

    about = CATALOGUE["lsc"]
    placement = "landmarks"

    n_components: int = DIMENSIONS
    _: KW_ONLY
    landmarks: int = 500
    n_rounds: int = 0
    n_neighbors: int = 5
    gamma: float = 1.0
    eigenvalue_power: float = EIGENVALUE_POWER
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        del y, affinity
        rows = SparseRows.of_matrix(X).unit()
        self._draw(rows)
        Z = self._weights(rows)
        sums = np.asarray(Z.sum(axis=0)).ravel()
        n = np.count_nonzero(np.diff(Z.indptr))
        roots = np.sqrt(np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0))
        scaled = Z @ sparse.diags_array(roots)
        constant = np.sqrt(sums / n)
        products = (scaled.T @ scaled).toarray() - 2 * np.outer(constant, constant)
        # All of them: a part of equal ones would be another basis for every number of dimensions.
        values, vectors = linalg.eigh(products)
        kept = np.flatnonzero(values > _LEAST)[::-1][: int(self.n_components)]
        self._coefficients = roots[:, np.newaxis] * vectors[:, kept] * np.sqrt(n / values[kept])
        places = (Z @ self._coefficients).astype(X.dtype)
        fixed = with_fixed_signs(places.T).T
        self._coefficients *= np.sign(gram(places, fixed).diagonal())
        self._store_vectors(fixed, int(self.n_components))
        self.eigenvalues_ = values[kept].astype(X.dtype)

    def _draw(self, rows: SparseRows) -> None:
        """Draw landmarks among the documents that have a term, no two in the same direction."""
        known = np.flatnonzero(rows.lengths)
        count = min(self.landmarks, len(known))
        drawn = np.sort(generator(self.random_state).choice(known, count, replace=False))
        U: Any = sparse.csr_array((rows.data, rows.indices, rows.indptr), (len(rows), rows.n_terms))
        some = U[drawn].astype(np.float64)
        repeats = sparse.triu(some @ some.T, 1).toarray() > 1 - SAME
        self.landmarks_ = drawn[~repeats.any(axis=0)]
        centres = U[self.landmarks_]
        for _ in range(self.n_rounds):
            centres = _mean_directions(U, centres)
        self._inverted = InvertedRows.of_rows(SparseRows.of_matrix(centres))

    def _weights(self, rows: SparseRows) -> sparse.csr_array:
        """Return Z, documents x landmarks."""
        arrays = {"landmark_limits": self._limits(), **self._inverted.arrays()}
        found = list(landmark_weights(arrays, rows, len(self.landmarks_)))
        indptr = np.concatenate([[0], np.cumsum([len(near) for near, _ in found])])
        near, weights = (np.concatenate([pair[i] for pair in found]) for i in (0, 1))
        return sparse.csr_array((weights, near, indptr), shape=(len(rows), len(self.landmarks_)))

    def _limits(self) -> NDArray[np.float64]:
        return np.array([self.n_neighbors, self.gamma], np.float64)

    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers that the rule takes, by name."""
        coefficients = self._coefficients.astype(self.embedding_.dtype)
        arrays = {"coefficients": coefficients, "landmark_limits": self._limits()}
        return arrays | self._inverted.arrays()

    @property
    def scales_(self) -> Floats:
        """Each eigenvalue to the power `eigenvalue_power`."""
        return np.asarray(self.eigenvalues_) ** self.eigenvalue_power

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("landmarks", self.landmarks)
        check_count("n_neighbors", self.n_neighbors)
        for name in ("n_rounds", "gamma", "eigenvalue_power"):
            check_not_negative(name, getattr(self, name))


def _mean_directions(U: Any, centres: Any) -> Any:
    """Move each centre to the mean direction of the documents nearest to it, if there are any."""
    starts = range(0, U.shape[0], ROWS)
    near = [(U[at : at + ROWS] @ centres.T).toarray().argmax(axis=1) for at in starts]
    groups = (np.ones(U.shape[0], U.dtype), (np.concatenate(near), np.arange(U.shape[0])))
    sums = sparse.csr_array(groups, shape=(centres.shape[0], U.shape[0])) @ U
    return unit_rows(sums + sparse.diags_array((np.diff(sums.indptr) == 0) * 1.0) @ centres)
