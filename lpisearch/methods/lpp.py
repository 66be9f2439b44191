"""LPP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.graphs.base import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.methods.base import GraphProjection, check_count, check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.methods.locality import locality_directions, participating_degrees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Affinity, Floats, Matrix
    from lpisearch.methods.catalogue import Method


class LPP(GraphProjection):
    """Locality preserving projections (lpp-analysis-2005).

    1. Documents are taken about their mean m and brought into the space of their principal
       components. Only directions without variance are dropped, unless `svd_components` says so.
    2. There, with Z = X - 1mᵀ, W the affinity of the graph and D its degrees, the vectors

           Zᵀ W Z a = λ Zᵀ D Z a

       with the largest λ are the directions in which neighbours stay nearest: the maximising
       form of Zᵀ L Z a = (1 - λ) Zᵀ D Z a, L = D - W (equation 4; the paper writes documents as
       columns).

    `LPI` does the same without the first step's mean. Where the documents are independent and
    have the same degree, both place them as Laplacian eigenmaps do (proposition 4.1). Over a
    complete graph, LPP finds the principal components, as far as degrees are equal (section
    4.2), where LPI finds the singular vectors.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    centred
        Whether documents are taken about their mean. Section 4.1 of lpp-analysis-2005 takes them as
        they are: then, where they are linearly independent, the places are those of `Eigenmaps`
        (proposition 4.1), and the map is that of `LPI`.
    svd_components
        How many principal components are worked in. None: all, in time cubic in the number of
        documents (or terms), whichever is smaller. "auto": all of them up to 1,000, else 300, or
        half as many again as `n_components`.
    graph, n_neighbors, radius, edge_weights, heat_scale
        See `RLPI`. The graph is that of the documents as they are: about their mean, all inner
        products of a document sum to 0, and a complete graph would have no degrees.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power.
    random_state
        Seed of a truncated decomposition.

    Attributes
    ----------
    components_
        n_components_ x n_terms, the vectors a, scaled so that aᵀ Zᵀ D Z a is the sum of the
        degrees.
    mean_
        The mean m of the documents that have a neighbour.
    eigenvalues_
        λ of each, largest first, all above zero.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour (they take no part).

    Notes
    -----
    `transform` is `X @ components_.T`: the mean stays in, which changes no distance.

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

    about: ClassVar[Method] = CATALOGUE["lpp"]

    def __init__(
        self,
        n_components: int = DIMENSIONS,
        *,
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
        """Learn the map from documents (rows of X), their labels, or a ready graph."""
        check_count("n_components", self.n_components)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        if self.svd_components is not None:
            check_count("svd_components", self.svd_components, auto=True)
        X = self._documents(X)
        W = self._affinity(X, y, affinity)
        self.mean_ = self._mean(X, W)
        found = locality_directions(
            X,
            W,
            self.n_components,
            rng=generator(self.random_state),
            svd_components=self.svd_components,
            mean=self.mean_ if self.centred else None,
        )
        self._keep(found.components, found.values, self.n_components)
        return self

    def _mean(self, X: Matrix, W: Affinity) -> Floats:
        """Return the mean of the documents with a neighbour; zeros where none is taken."""
        if not self.centred:
            return np.zeros(X.shape[1], X.dtype)
        linked = np.flatnonzero(participating_degrees(W))
        documents = X[linked] if len(linked) else X
        return np.asarray(documents.mean(axis=0, dtype=np.float64)).ravel().astype(X.dtype)
