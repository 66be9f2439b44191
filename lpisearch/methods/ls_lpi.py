"""Laplacian score, then LPI (LS+LPI)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from lpisearch.methods.base import TermSelector, check_count
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.locality import (
    LocalityProjection,
    best_terms,
    checked_selection,
    laplacian_scores,
)


@dataclass(eq=False, repr=False)
class LSLPI(TermSelector, LocalityProjection):
    """Locality preserving indexing on the terms with the best Laplacian scores.

    The two-phase method of lpfl-2012, section 5 (documents are rows here): see `LaplacianScore`
    and `LPI`. Both phases use the graph of all terms. `LPFL` does the two at once.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    n_selected
        Number of terms to keep, m, or "auto": all with a score below 1, which differ less between
        neighbours than between documents at large. (A term that is unrelated to the graph has a
        score of about 1.)
    centred
        Whether terms are centred: see `LaplacianScore`.
    svd_components, random_state
        See `LPI`; the space is that of the selected terms.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`.

    Attributes
    ----------
    components_
        n_components_ x n_terms; columns of terms that are not selected are zero.
    selected_
        The columns of the selected terms, in ascending order.
    scores_
        The Laplacian score of every term.
    eigenvalues_
        λ of each, largest first, all above zero.
    solver_, bounds_
        See `LPI`.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour, which are left out.

    References
    ----------
    Q. Gu, M. Danilevsky, Z. Li, J. Han: Locality preserving feature learning, AISTATS 2012
    (lpfl-2012).

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.ls_lpi import LSLPI
    >>> X = np.array([[1.0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 2], [0, 0, 1, 2]])
    >>> lslpi = LSLPI(n_components=1, n_selected=2, n_neighbors=1).fit(X)
    >>> lslpi.selected_, lslpi.components_[:, lslpi.selected_].round(2)
    (array([0, 3]), array([[ 1.26, -0.4 ]]))
    """

    about = CATALOGUE["ls+lpi"]

    n_components: int = DIMENSIONS
    _: KW_ONLY
    n_selected: int | str = "auto"
    centred: bool = True

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        W = self._affinity(X, y, affinity)
        self.scores_ = laplacian_scores(X, W, centred=self.centred)
        if isinstance(self.n_selected, str):
            count = max(1, int(np.count_nonzero(self.scores_ < 1)))
        else:
            count = checked_selection(self.n_selected, X.shape[1])
        selected = np.sort(best_terms(self.scores_, count))
        directions = self._directions(X[:, selected], W)
        components = np.zeros((len(directions.components), X.shape[1]), X.dtype)
        components[:, selected] = directions.components
        self._store(components, directions.values, self.n_components)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_selected", self.n_selected, auto=True)
