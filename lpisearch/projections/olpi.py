"""Orthogonal locality preserving indexing: directions at right angles that keep neighbours near."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.graphs.options import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.projections.base import GraphProjection, check_count, check_not_negative, generator
from lpisearch.projections.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.projections.document_space import (
    FULL_SPACE_ORTHOGONAL,
    document_space,
    graph_grams,
)
from lpisearch.projections.orthogonal import orthogonal_directions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Floats
    from lpisearch.projections.catalogue import Method


class OLPI(GraphProjection):
    """Orthogonal locality preserving indexing (olpi-2005).

    With documents as rows, X = U S Vᵀ, W the affinity of the graph, D its degrees and L = D - W,
    the directions a_1, a_2, … are unit vectors in the space of the SVD; each minimises

        f(a) = aᵀXᵀLXa / aᵀXᵀDXa

    (equation 6; the paper writes documents as columns) among those orthogonal to all before it.
    So the map keeps the metric of the document space: with all dimensions it is a rotation.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    svd_components
        How much of the SVD space, its leading part, the directions are sought in. None: all of
        it, in time cubic in the number of documents (or terms), whichever is smaller. "auto":
        all of it up to 1,000, else 300, or half as many again as `n_components`. Beyond 1,000
        the leading part is found by a few steps of iteration from a random start.
    graph
        "nearest", "ball", "complete", "label", "blend", or "auto": by label where documents
        have one, by nearness elsewhere.
    n_neighbors, radius, edge_weights, heat_scale
        Options of the graph: see `GraphOptions`. The paper's experiments use 7 neighbours.
    eigenvalue_power
        Where documents are compared by cosine (`embed`), a dimension counts by its graph
        eigenvalue to this power. 0 leaves the metric as it is.
    random_state
        Seed of that start; the whole space has no use for it.

    Attributes
    ----------
    components_
        n_components_ x n_terms, orthonormal rows.
    eigenvalues_
        1 - f of each component, largest first: aᵀXᵀWXa / aᵀXᵀDXa, on the scale of the graph
        eigenvalues of W y = λ D y. They are at least as large as those of LPI in the same space.
    n_components_
        Dimensions found; fewer than asked if the SVD space has fewer.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour.
    seconds_
        Time of the stages: "graph", "space", "directions".

    Notes
    -----
    *The constant direction.* If the rows of X are independent, one direction maps all documents
    to the same value, with f = 0. As in the paper it is kept, as the first: all others are
    orthogonal to it, it changes no distance, and without it the map would not be a rotation. A
    graph in k parts has k such directions, one constant on each part; they come first.

    *Isolated documents.* No edge sees a direction on which only documents without a neighbour
    differ from zero: f is 0 / 0. Such directions come last, with eigenvalue 0. Where no document
    has a neighbour there is nothing to learn from, and `fit` says so, as that of the others does.

    References
    ----------
    D. Cai, X. He: Orthogonal locality preserving indexing, SIGIR 2005 (olpi-2005).

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.projections.olpi import OLPI
    >>> X = np.array([[1.0, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1]])
    >>> olpi = OLPI(n_components=2, n_neighbors=1).fit(X)
    >>> olpi.components_.shape, olpi.n_graph_components_
    ((2, 4), 2)
    >>> olpi.eigenvalues_.round(6)
    array([1., 1.])
    """

    about: ClassVar[Method] = CATALOGUE["olpi"]

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
        """Learn the directions from documents (rows of X), their labels, or a ready graph."""
        check_count("n_components", self.n_components)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        if self.svd_components is not None:
            check_count("svd_components", self.svd_components, auto=True)
        X = self._documents(X)
        began = perf_counter()
        W = self._affinity(X, y, affinity)
        linked = perf_counter()
        rng = generator(self.random_state)
        space = document_space(
            X, self.svd_components, self.n_components, rng, full=FULL_SPACE_ORTHOGONAL
        )
        placed = perf_counter()
        affinity_gram, degree_gram = graph_grams(space.documents, W)
        # Without any edge the directions would be those of LSI, each of weight 0.
        wanted = 0 if W.n_isolated == X.shape[0] else min(self.n_components, len(space.scales))
        found = orthogonal_directions(affinity_gram, degree_gram, space.scales, wanted)
        components = space.to_terms(found.vectors).astype(X.dtype)
        self._keep(components, found.values, self.n_components)
        self.seconds_ = {
            "graph": linked - began,
            "space": placed - linked,
            "directions": perf_counter() - placed,
        }
        return self

    @property
    def locality_(self) -> Floats:
        """The paper's eigenvalues, f of each component: 1 - `eigenvalues_`, smallest first."""
        return np.asarray(1 - self.eigenvalues_)
