"""LSI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from lpisearch.methods.base import Projection, check_count, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import truncated_svd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.methods.catalogue import Method


class LSI(Projection):
    """Latent semantic indexing: the subspace with the least error of reconstruction.

    With documents as rows, X = U S Vᵀ and `components_` is Vᵀ; the papers write documents as
    columns and keep U in its place. Labels and graphs are not used.

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
    eigenvalues_
        Squared singular values: the eigenvalues of Xᵀ X, largest first.
    n_components_
        Dimensions found; fewer than asked if X has a lower rank.

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

    about: ClassVar[Method] = CATALOGUE["lsi"]

    def __init__(
        self, n_components: int = DIMENSIONS, *, solver: str = "auto", random_state: Any = 0
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Decompose the documents (rows of X). `y` and `affinity` are not used."""
        del y, affinity
        check_count("n_components", self.n_components)
        X = self._documents(X)
        svd = truncated_svd(
            X,
            self.n_components,
            rng=generator(self.random_state),
            solver=self.solver,
        )
        self._keep(svd.terms, svd.values**2, self.n_components)
        return self
