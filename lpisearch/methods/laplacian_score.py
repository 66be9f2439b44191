"""Laplacian score: selection of terms."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from lpisearch.methods.base import SelectedTerms
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.locality import best_terms, laplacian_scores


@dataclass(eq=False, repr=False)
class LaplacianScore(SelectedTerms):
    """Selection of terms by their Laplacian score.

    With documents as rows, W the affinity of the graph, D its degrees and L = D - W, the score of
    a term f (a column of X; the papers write documents as columns) is

        LS = fᵀ L f / fᵀ D f,

    and the terms with the lowest scores are selected (lpfl-2012, equation 7). The map is linear: it
    selects columns, so that its dimensions are terms.

    Parameters
    ----------
    n_components
        Number of terms to keep. The papers keep thousands; each is a dimension that an index
        stores for every document.
    centred
        Whether f is centred in fᵀ D f, as by He, Cai and Niyogi. Equation 7 of lpfl-2012 does not
        centre: a term that all documents share equally then has the best score of all, although
        it distinguishes none of them.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`.

    Attributes
    ----------
    selected_
        The columns of the terms, best first.
    scores_
        LS of every term; infinite if undefined: the term occurs in isolated documents only, or
        equally in all.
    eigenvalues_
        1 - LS of each selected term, fᵀ W f / fᵀ D f, on the scale of the graph eigenvalues.
    components_
        The map as a matrix, n_components_ x n_terms, with a single 1 in each row. It is made on
        demand; `transform` does not need it.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour, which are left out.

    References
    ----------
    X. He, D. Cai, P. Niyogi: Laplacian score for feature selection, NIPS 2005; lpfl-2012 (Q. Gu,
    M. Danilevsky, Z. Li, J. Han: Locality preserving feature learning, AISTATS 2012), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.laplacian_score import LaplacianScore
    >>> X = np.array([[1.0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 2], [0, 0, 1, 2]])
    >>> LaplacianScore(n_components=2, n_neighbors=1).fit(X).selected_
    array([0, 3])
    """

    about = CATALOGUE["laplacian-score"]

    n_components: int = DIMENSIONS
    _: KW_ONLY
    centred: bool = True

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        W = self._affinity(X, y, affinity)
        self.scores_ = laplacian_scores(X, W, centred=self.centred)
        selected = best_terms(self.scores_, self.n_components)
        self._select(selected, (1 - self.scores_[selected]).astype(X.dtype))
