"""Locality preserving indexing (LPI)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.locality import LocalityProjection


@dataclass(eq=False, repr=False)
class LPI(LocalityProjection):
    """Locality preserving indexing: `LPP` on documents that are not centred.

    With documents as rows, X = U S Vᵀ. In the space of the decomposition, Z = U S, the maximising
    form of the problem (rlpi-2007, equation 6; the papers write documents as columns) is

        Zᵀ W Z b = λ Zᵀ D Z b,    a = V b,

    solved for the largest λ, in time cubic in the dimensions of that space.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    svd_components
        How many leading dimensions of the SVD space are used: "auto" or None for all. With None
        the directions are exact, in time cubic in the number of documents or terms, whichever is
        smaller. With "auto" they are found by iteration beyond 3,000 of both. It is close where
        there are at least twice as many terms as documents, and less so with fewer: `bounds_`
        says how close.
    random_state
        Seed of the starts of iterations.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`.

    Attributes
    ----------
    components_
        n_components_ x n_terms, the vectors a, scaled so that aᵀ Xᵀ D X a is the sum of the
        degrees: a typical document is at a distance of about 1 from the origin in each.
    eigenvalues_
        λ of each, largest first, all above zero.
    solver_, bounds_
        "exact", "iterative", or "leading" for a part of the space; and, of an iterative solution,
        what no λ can exceed.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour, which are left out.

    Notes
    -----
    A linear map that takes all documents to one number has λ = 1 and no information. It is
    removed, as the constant eigenvector is in `RLPI`. Where documents depend on each other there
    is none, and the directions of the equation are all kept.

    References
    ----------
    X. He, D. Cai, H. Liu, W.-Y. Ma: Locality preserving indexing for document representation,
    SIGIR 2004; lpp-analysis-2005 (X. He, D. Cai, W. Min: Statistical and computational analysis
    of locality preserving projection, ICML 2005).

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.lpi import LPI
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> LPI(n_components=1, n_neighbors=1).fit(X).eigenvalues_.round(3)
    array([1.])
    """

    about = CATALOGUE["lpi"]

    n_components: int = DIMENSIONS

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        directions = self._directions(X, self._affinity(X, y, affinity))
        self._store(directions.components, directions.values, self.n_components)
