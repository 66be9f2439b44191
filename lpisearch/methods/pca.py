"""PCA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.methods.base import Projection, check_count, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import truncated_svd
from lpisearch.numeric.rows import row_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.methods.catalogue import Method


class PCA(Projection):
    """Principal component analysis, without writing the centred documents down.

    With documents as rows and m their mean, the components are the eigenvectors of the covariance
    matrix, which has the largest eigenvalues first (lpp-analysis-2005, section 2; the paper writes
    documents as columns):

        C = (X - 1mᵀ)ᵀ (X - 1mᵀ) / n.

    Documents without a term take no part. Labels and graphs are not used.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    solver
        "auto", "block" (randomised subspace iteration), "arpack" or "dense".
    random_state
        Seed of the block's start.

    Attributes
    ----------
    components_
        n_components_ x n_terms, orthonormal rows.
    mean_
        The mean document m.
    eigenvalues_
        Variances: the eigenvalues of C, largest first.
    n_components_
        Dimensions found; fewer than asked if the centred documents have a lower rank.

    Notes
    -----
    As every projection here, `transform` is linear: `X @ components_.T`, the mean stays in. All
    places are shifted by `components_ @ mean_` against those about the mean, so distances between
    documents, and clusters found by them, are the same. Cosines are those of uncentred documents.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.pca import PCA
    >>> PCA(n_components=1).fit_transform(np.array([[1.0, 1.0], [1.0, 3.0]])).round(6)
    array([[1.],
           [3.]])
    """

    about: ClassVar[Method] = CATALOGUE["pca"]

    def __init__(
        self, n_components: int = DIMENSIONS, *, solver: str = "auto", random_state: Any = 0
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Decompose the documents (rows of X) about their mean. `y` and `affinity` are not used."""
        del y, affinity
        check_count("n_components", self.n_components)
        X = self._documents(X)
        X = X[row_lengths(X) > 0]
        self.mean_ = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel().astype(X.dtype)
        svd = truncated_svd(
            X,
            self.n_components,
            rng=generator(self.random_state),
            solver=self.solver,
            mean=self.mean_,
        )
        # Equal documents differ from their mean by rounding only: that is no dimension.
        noise = max(X.shape) * np.finfo(X.dtype).eps * np.linalg.norm(self.mean_)
        real = svd.values > noise
        self._keep(svd.terms[real], svd.values[real] ** 2 / X.shape[0], self.n_components)
        return self
