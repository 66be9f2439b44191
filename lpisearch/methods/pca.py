"""Principal component analysis (PCA)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from lpisearch.methods.base import Projection, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import centred_svd


@dataclass(eq=False, repr=False)
class PCA(Projection):
    """Principal component analysis; places are those of uncentred documents.

    With documents as rows and m their mean, the components are the leading eigenvectors of the
    covariance matrix (lpp-analysis-2005, section 2; the paper writes documents as columns):

        C = (X - 1mᵀ)ᵀ (X - 1mᵀ) / n.

    The centred documents are never stored, and `transform` does not centre (see Notes).

    Documents without a term are left out. Labels and graphs are not used.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    solver
        "auto", "block" (randomised subspace iteration), "arpack" or "dense".
    random_state
        Seed of the block solver.

    Attributes
    ----------
    components_
        n_components_ x n_terms, orthonormal rows.
    mean_
        The mean document m.
    eigenvalues_
        Variances: the eigenvalues of C, largest first.
    n_components_
        Number of dimensions; fewer than requested if the centred documents have a lower rank.

    Notes
    -----
    As for every projection here, `transform` is `X @ components_.T`: the mean is not subtracted.
    All places are shifted by `components_ @ mean_`, so distances between documents, and clusters
    found by them, are those of centred documents. Cosines are those of uncentred ones.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.pca import PCA
    >>> PCA(n_components=1).fit_transform(np.array([[1.0, 1.0], [1.0, 3.0]])).round(6)
    array([[1.],
           [3.]])
    """

    about = CATALOGUE["pca"]

    n_components: int = DIMENSIONS
    _: KW_ONLY
    solver: str = "auto"
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        del y, affinity
        rng = generator(self.random_state)
        X, self.mean_, svd = centred_svd(X, self.n_components, rng=rng, solver=self.solver)
        self._store(svd.terms, svd.values**2 / X.shape[0], self.n_components)
