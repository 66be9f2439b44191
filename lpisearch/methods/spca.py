"""Sparse principal component analysis (SPCA)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from lpisearch.methods.base import TermSelector, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.lasso import cardinality_for, lasso
from lpisearch.methods.linalg import centred_svd


@dataclass(eq=False, repr=False)
class SPCA(TermSelector):
    """Sparse principal components, by a lasso path on each ordinary principal component.

    With documents as rows, m their mean and v an ordinary principal component, the scores
    y = (X - 1mᵀ) v are regressed on the terms: the path of the lasso, which minimises
    |(X - 1mᵀ) a - y|² + β |a|₁, is followed from the β that leaves no term down to where more
    than k terms would enter. Then a is scaled to unit length. The centred documents are never
    stored. Documents without a term are left out. Labels and graphs are not used.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    cardinality
        k, the largest number of terms in a component; "auto" is the square root of the number
        of terms, rounded up.
    solver
        Solver of the ordinary components: "auto", "block", "arpack" or "dense".
    random_state
        Seed of the block solver.

    Attributes
    ----------
    components_
        n_components_ x n_terms, a dense array of unit rows with at most k non-zero entries each.
        They are not orthogonal.
    eigenvalues_
        Variance of each ordinary component, largest first.
    mean_
        The mean document m.
    selected_
        The columns of the terms that any component has.
    penalties_
        β of each component at the end of its path.
    cardinality_
        The k used.

    Notes
    -----
    This is the regression on ordinary components of the first reference (its section 3.2 without
    the ridge term), which the second compares with; not its alternation of two problems.
    `transform` does not subtract the mean, as in `PCA`: all places are shifted by one vector.

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

    about = CATALOGUE["spca"]

    n_components: int = DIMENSIONS
    _: KW_ONLY
    cardinality: int | str = "auto"
    solver: str = "auto"
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        del y, affinity
        self.cardinality_ = cardinality_for(self.cardinality, X.shape[1])
        rng = generator(self.random_state)
        X, self.mean_, svd = centred_svd(X, self.n_components, rng=rng, solver=self.solver)
        scores = svd.documents * svd.values
        paths = lasso(X, scores, cardinality=self.cardinality_, centred=True)
        used = np.flatnonzero(paths.coefficients.any(axis=0))
        components = paths.coefficients.T[used]
        components /= np.linalg.norm(components, axis=1, keepdims=True)
        self.penalties_ = paths.penalties[used]
        self._store(components, svd.values[used] ** 2 / X.shape[0], self.n_components)
