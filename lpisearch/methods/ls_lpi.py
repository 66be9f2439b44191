"""Laplacian score, then LPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.graphs.base import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.methods.base import GraphProjection, check_count, check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.methods.locality import (
    best_terms,
    given_count,
    laplacian_scores,
    locality_directions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.methods.catalogue import Method


class LSLPI(GraphProjection):
    """Locality preserving indexing on the terms with the best Laplacian scores.

    The two-phase method of lpfl-2012, section 5: see `LaplacianScore` and `LPI`. Both phases use
    the graph of all terms. `LPFL` does the two at once.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    n_selected
        How many terms to keep, m, or "auto": all with a score below 1, which differ less between
        neighbours than between documents at large. (The score of a term that has nothing to do
        with the graph is about 1.)
    centred
        Whether a term is scored about its mean: see `LaplacianScore`.
    svd_components
        How much of the space of those terms is worked in: see `LPI`.
    graph, n_neighbors, radius, edge_weights, heat_scale
        See `RLPI`.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power.
    random_state
        Seed of a truncated decomposition.

    Attributes
    ----------
    components_
        n_components_ x n_terms; columns of terms that are not selected are zero.
    selected_
        The columns of the selected terms, in the order of their numbers.
    scores_
        The Laplacian score of every term.
    eigenvalues_
        λ of each, largest first, all above zero.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour (they take no part).

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

    about: ClassVar[Method] = CATALOGUE["ls+lpi"]

    def __init__(
        self,
        n_components: int = DIMENSIONS,
        *,
        n_selected: int | str = "auto",
        centred: bool = True,
        svd_components: int | str | None = "auto",
        graph: str = "auto",
        n_neighbors: int = NEIGHBOURS,
        radius: float = RADIUS,
        edge_weights: str = EDGE_WEIGHTS[0],
        heat_scale: float = HEAT_SCALE,
        eigenvalue_power: float = EIGENVALUE_POWER,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_selected = n_selected
        self.centred = centred
        self.svd_components = svd_components
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.edge_weights = edge_weights
        self.heat_scale = heat_scale
        self.eigenvalue_power = eigenvalue_power
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Select terms and learn the map from documents (rows of X), labels, or a ready graph."""
        check_count("n_components", self.n_components)
        check_count("n_selected", self.n_selected, auto=True)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        if self.svd_components is not None:
            check_count("svd_components", self.svd_components, auto=True)
        X = self._documents(X)
        W = self._affinity(X, y, affinity)
        self.scores_ = laplacian_scores(X, W, centred=self.centred)
        if isinstance(self.n_selected, str):
            count = max(1, int(np.count_nonzero(self.scores_ < 1)))
        else:
            count = given_count(self.n_selected, X.shape[1])
        self.selected_ = np.sort(best_terms(self.scores_, count))
        found = locality_directions(
            X[:, self.selected_],
            W,
            self.n_components,
            rng=generator(self.random_state),
            svd_components=self.svd_components,
        )
        components = np.zeros((len(found.components), X.shape[1]), X.dtype)
        components[:, self.selected_] = found.components
        self._keep(components, found.values, self.n_components)
        return self
