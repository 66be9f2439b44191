"""Locality preserving projections (LPP)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.locality import LocalityProjection, linked_mean


@dataclass(eq=False, repr=False)
class LPP(LocalityProjection):
    """Locality preserving projections (lpp-analysis-2005).

    1. Documents are centred about their mean m and represented by their principal components.
       Only directions without variance are dropped, unless `svd_components` is smaller.
    2. There, with Z = X - 1mᵀ, W the affinity of the graph and D its degrees, the vectors

           Zᵀ W Z a = λ Zᵀ D Z a

       with the largest λ are the directions in which neighbours stay closest: the maximising
       form of Zᵀ L Z a = (1 - λ) Zᵀ D Z a, L = D - W (equation 4; the paper writes documents as
       columns, here they are rows).

    `LPI` does the same without centring. If the documents are linearly independent and have the
    same degree, both place them as Laplacian eigenmaps do (proposition 4.1). Over a complete
    graph of equal degrees, LPP finds the principal components (section 4.2), and LPI the
    singular vectors.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    centred
        Whether documents are centred. Section 4.1 of lpp-analysis-2005 does not centre them:
        then, if they are linearly independent, the places are those of `Eigenmaps`
        (proposition 4.1), and the map is that of `LPI`.
    svd_components
        How many principal components are used: "auto" or None for all; see `LPI`.
    random_state
        Seed of the starts of iterations.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`. The graph is that of uncentred documents: inner products of
        centred ones sum to 0, so that a complete graph would have no degrees.

    Attributes
    ----------
    components_
        n_components_ x n_terms, the vectors a, scaled so that aᵀ Zᵀ D Z a is the sum of the
        degrees.
    mean_
        The mean m of the documents that have a neighbour.
    eigenvalues_
        λ of each, largest first, all above zero.
    solver_, bounds_
        See `LPI`.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour, which are left out.

    Notes
    -----
    `transform` is `X @ components_.T`, without subtracting the mean: no distance changes.

    References
    ----------
    X. He, D. Cai, W. Min: Statistical and computational analysis of locality preserving
    projection, ICML 2005; X. He, P. Niyogi: Locality preserving projections, NIPS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.lpp import LPP
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> LPP(n_components=1, n_neighbors=1).fit(X).eigenvalues_.round(3)
    array([1.])
    """

    about = CATALOGUE["lpp"]

    n_components: int = DIMENSIONS
    _: KW_ONLY
    centred: bool = True

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        W = self._affinity(X, y, affinity)
        mean = linked_mean(X, W) if self.centred else None
        self.mean_ = np.zeros(X.shape[1], X.dtype) if mean is None else mean.astype(X.dtype)
        directions = self._directions(X, W, mean)
        self._store(directions.components, directions.values, self.n_components)
