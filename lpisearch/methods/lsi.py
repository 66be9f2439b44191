"""Latent semantic indexing (LSI)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from lpisearch.methods.base import Projection, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import truncated_svd


@dataclass(eq=False, repr=False)
class LSI(Projection):
    """Latent semantic indexing: the subspace with the least reconstruction error.

    With documents as rows, X = U S Vᵀ and `components_` is Vᵀ; the papers write documents as
    columns and keep U instead. Labels and graphs are not used.

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
    eigenvalues_
        Squared singular values: the eigenvalues of Xᵀ X, largest first.
    n_components_
        Number of dimensions; fewer than requested if X has a lower rank.

    References
    ----------
    S. Deerwester and others, Indexing by latent semantic analysis, 1990; section 2.1 of
    rlpi-2007 (Cai, He, Zhang, Han: Regularized locality preserving indexing via spectral
    regression, CIKM 2007).

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.lsi import LSI
    >>> LSI(n_components=1).fit_transform(np.array([[1.0, 0.0], [0.0, 2.0]])).round(6)
    array([[0.],
           [2.]])
    """

    about = CATALOGUE["lsi"]

    n_components: int = DIMENSIONS
    _: KW_ONLY
    solver: str = "auto"
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        del y, affinity
        rng = generator(self.random_state)
        svd = truncated_svd(X, self.n_components, rng=rng, solver=self.solver)
        self._store(svd.terms, svd.values**2, self.n_components)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add documents: decompose them together with what was kept of all before.

        With as many dimensions as the documents have, the result is that of `fit` on all of them.
        """
        if not hasattr(self, "components_"):
            return self.fit(X, y)
        X = sparse.csr_array(self._documents(X, reset=False))
        kept = self.components_ * np.sqrt(self.eigenvalues_)[:, np.newaxis]
        self._fit(sparse.csr_array(sparse.vstack([sparse.csr_array(kept), X])), y, None)
        return self
