"""Sparse projections over graphs (SPG)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from lpisearch.methods.base import TermSelector, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.lasso import cardinality_for, lasso
from lpisearch.methods.responses import ResponseProjection


@dataclass(eq=False, repr=False)
class SPG(TermSelector, ResponseProjection):
    """Sparse projections over graphs: a lasso path on each eigenvector of a document graph.

    1. A graph W joins each document to its nearest neighbours (or to those of its class).
    2. The leading eigenvectors y of W y = λ D y, without the constant one, place every document
       near its neighbours.
    3. For each y the path of the lasso, which minimises |X a - y|² + β |a|₁ with documents as
       rows of X (equation 5; the paper writes them as columns), is followed from the β that leaves
       no term down to where more than k terms would enter: card(a) ≤ k.

    With labels for all documents the responses y are class indicators made orthogonal to the
    constant vector and to each other (Gram-Schmidt): a sparse linear discriminant analysis. With
    labels for some, both are blended into one graph.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`. Fully
        labelled documents have at most one dimension fewer than classes.
    cardinality
        k, the largest number of terms in a dimension; "auto" is the square root of the number
        of terms, rounded up.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`.
    solver, tolerance, random_state
        Parameters of the eigenproblem: see `RLPI`.

    Attributes
    ----------
    components_
        n_components_ x n_terms, a dense array with at most k non-zero entries in each row.
    eigenvalues_
        λ of each dimension, largest first.
    selected_
        The columns of the terms that any dimension has.
    penalties_
        β of each dimension at the end of its path.
    cardinality_
        The k used. A path that reaches the least squares solution earlier has fewer terms.
    scales_, n_graph_components_, n_isolated_, seconds_
        See `GraphTransformer`; stages are "graph", "eigenvectors" and "regression".

    Notes
    -----
    There is no intercept, neither in the regression nor in `transform`. A response that is
    unrelated to all terms is dropped. A dimension costs k products with X and k³.

    "auto" follows the sparsity that the paper reports for its best results on TDT2 (tables 2
    and 3): between 50 and 125 of 6,000 to 19,000 terms.

    References
    ----------
    D. Cai, X. He, J. Han: Sparse projections over graph, AAAI 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.spg import SPG
    >>> X = np.array([[1.0, 0, 0.2], [0.9, 0.3, 0], [0, 0.2, 1], [0, 0.3, 0.9]])
    >>> SPG(n_components=1, cardinality=2, n_neighbors=1).fit(X).components_.round(1)
    array([[ 1.2,  0. , -1. ]])
    """

    about = CATALOGUE["spg"]

    n_components: int | str = DIMENSIONS
    _: KW_ONLY
    cardinality: int | str = "auto"
    solver: str = "auto"
    tolerance: float = 0.05
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        self.cardinality_ = cardinality_for(self.cardinality, X.shape[1])
        responses = self._responses(X, y, affinity, generator(self.random_state))
        with self._timed("regression"):
            paths = lasso(X, responses.vectors, cardinality=self.cardinality_)
        used = np.flatnonzero(paths.coefficients.any(axis=0))
        self.penalties_ = paths.penalties[used]
        self._store(paths.coefficients.T[used], responses.values[used], responses.requested)
