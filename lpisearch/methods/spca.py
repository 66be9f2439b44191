"""Sparse PCA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.methods.base import Projection, check_count, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.lasso import cardinality_for, lasso
from lpisearch.methods.linalg import truncated_svd
from lpisearch.numeric.rows import row_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.methods.catalogue import Method


class SPCA(Projection):
    """Sparse principal components, by a lasso path on each ordinary principal component.

    With documents as rows, m their mean and v an ordinary principal component, the scores
    y = (X - 1mᵀ) v are regressed on the terms: the path of the lasso, which minimises
    |(X - 1mᵀ) a - y|² + β |a|₁, is followed from the β that leaves nothing down to where one term
    more than k would enter. Then a is brought to unit length. The centred documents are never
    written down. Documents without a term take no part. Labels and graphs are not used.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    cardinality
        k, the most terms that a component may use; "auto" is the root of the number of terms,
        rounded up.
    solver
        Of the ordinary components: "auto", "block", "arpack" or "dense".
    random_state
        Seed of the block's start.

    Attributes
    ----------
    components_
        n_components_ x n_terms, a full array of unit rows with exact zeros: at most k others in
        each row. They are not orthogonal.
    eigenvalues_
        Variance of each ordinary component, largest first.
    mean_
        The mean document m.
    penalties_
        β of each component, where its path was left.
    cardinality_
        The k used.

    Notes
    -----
    This is the regression on ordinary components of the first reference (its section 3.2 without
    the ridge term), which the second compares with; not its alternation of two problems.
    `transform` leaves the mean in, as `PCA` does: all places are shifted by one vector.

    References
    ----------
    H. Zou, T. Hastie, R. Tibshirani: Sparse principal component analysis, Journal of
    Computational and Graphical Statistics 15(2), 2006; D. Cai, X. He, J. Han: Sparse projections
    over graph, AAAI 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.spca import SPCA
    >>> X = np.array([[3.0, 1, 0], [3, 0, 1], [0, 1, 1], [0, 0, 0.5]])
    >>> SPCA(n_components=1, cardinality=1).fit(X).components_
    array([[1., 0., 0.]])
    """

    about: ClassVar[Method] = CATALOGUE["spca"]

    def __init__(
        self,
        n_components: int = DIMENSIONS,
        *,
        cardinality: int | str = "auto",
        solver: str = "auto",
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.cardinality = cardinality
        self.solver = solver
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn from the documents (rows of X). `y` and `affinity` are not used."""
        del y, affinity
        check_count("n_components", self.n_components)
        X = self._documents(X)
        cardinality = cardinality_for(self.cardinality, X.shape[1])
        X = X[row_lengths(X) > 0]
        n = X.shape[0]
        self.mean_ = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel().astype(X.dtype)
        rng = generator(self.random_state)
        svd = truncated_svd(X, self.n_components, rng=rng, solver=self.solver, mean=self.mean_)
        # Equal documents differ from their mean by rounding only: that is no dimension.
        real = svd.values > max(X.shape) * np.finfo(X.dtype).eps * np.linalg.norm(self.mean_)
        scores = svd.documents[:, real] * svd.values[real]
        found = lasso(X, scores, cardinality=cardinality, centred=True)
        used = np.flatnonzero(found.coefficients.any(axis=0))
        components = found.coefficients.T[used]
        components /= np.linalg.norm(components, axis=1, keepdims=True)
        variances = svd.values[real][used] ** 2 / n
        self.cardinality_ = cardinality
        self.penalties_ = found.penalties[used]
        self._keep(components, variances, self.n_components)
        return self
