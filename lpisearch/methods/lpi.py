"""LPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from lpisearch.graphs.base import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.methods.base import GraphProjection, check_count, check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.methods.locality import locality_directions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.methods.catalogue import Method


class LPI(GraphProjection):
    """Locality preserving indexing: LPP on documents as they are, not about their mean.

    With documents as rows, X = U S Vᵀ. In the space of the decomposition, Z = U S, the maximising
    form of the problem (rlpi-2007, equation 6; the papers have documents as columns) is

        Zᵀ W Z b = λ Zᵀ D Z b,    a = V b,

    solved for the largest λ, in time cubic in the dimensions of that space.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    svd_components
        How much of the SVD space, its leading part, is worked in. None: all of it, in time cubic
        in the number of documents (or terms), whichever is smaller. "auto": all of it up to
        3,000, else 300, or half as many again as `n_components`.
    graph, n_neighbors, radius, edge_weights, heat_scale
        See `RLPI`.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power.
    random_state
        Seed of a truncated decomposition.

    Attributes
    ----------
    components_
        n_components_ x n_terms, the vectors a, scaled so that aᵀ Xᵀ D X a is the sum of the
        degrees: a typical document is at a distance of about 1 from the origin in each.
    eigenvalues_
        λ of each, largest first, all above zero.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour (they take no part).

    Notes
    -----
    A linear map that takes all documents to one number has λ = 1 and says nothing. What is nearest
    to it, exactly or not, is taken out, as the constant eigenvector is in `RLPI`: the places of
    the documents, counted by degree, have mean 0 in every dimension.

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

    about: ClassVar[Method] = CATALOGUE["lpi"]

    def __init__(
        self,
        n_components: int = DIMENSIONS,
        *,
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
        self.svd_components = svd_components
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.edge_weights = edge_weights
        self.heat_scale = heat_scale
        self.eigenvalue_power = eigenvalue_power
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn the map from documents (rows of X), their labels, or a ready graph."""
        check_count("n_components", self.n_components)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        if self.svd_components is not None:
            check_count("svd_components", self.svd_components, auto=True)
        X = self._documents(X)
        W = self._affinity(X, y, affinity)
        found = locality_directions(
            X,
            W,
            self.n_components,
            rng=generator(self.random_state),
            svd_components=self.svd_components,
        )
        self._keep(found.components, found.values, self.n_components)
        return self
