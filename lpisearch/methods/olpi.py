"""Orthogonal locality preserving indexing (OLPI): the solvers are in `orthogonal.py`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.methods.base import generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.gram import DecomposedGram, SparseGram, same_documents
from lpisearch.methods.linalg import FULL_SPACE, document_space, graph_grams
from lpisearch.methods.locality import LocalityProjection, linked_mean
from lpisearch.methods.orthogonal import document_directions, orthogonal_directions
from lpisearch.numeric.threads import one_blas_thread

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Affinity, Floats


@dataclass(eq=False, repr=False)
class OLPI(LocalityProjection):
    """Orthogonal locality preserving indexing (olpi-2005).

    1. Documents are centred about their mean m and represented by their principal components.
    2. There, with Z = X - 1mᵀ, W the affinity of the graph, D its degrees and L = D - W, each of
       the directions a_1, a_2, …, which are unit vectors, minimises

           f(a) = aᵀZᵀLZa / aᵀZᵀDZa

       (equation 6; the paper writes documents as columns) among those orthogonal to all before
       it. With all dimensions, distances are those of the documents.

    Parameters
    ----------
    n_components
        Dimensions to keep.
    centred
        Whether documents are centred. If not, and they are independent, the first direction maps
        all of them to the same value, with f = 0, and with all dimensions the map is a rotation.
    svd_components
        How many principal components are used: "auto" or None for all. With None
        the directions are exact, in time cubic in the number of documents or terms, whichever is
        smaller. With "auto" they are found by iteration beyond 3,000 (see Notes).
    random_state
        Seed of the starts of iterations.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`. The paper's experiments use 7 neighbours. With an eigenvalue power
        of 0, `embed` keeps the metric.

    Attributes
    ----------
    components_
        n_components_ x n_terms, orthonormal rows.
    eigenvalues_
        1 - f of each component, largest first: aᵀZᵀWZa / aᵀZᵀDZa, on the scale of the graph
        eigenvalues of W y = λ D y. They are at least as large as those of `LPP` in the same space.
    solver_
        "exact", "iterative", or "leading" for a part of the space.
    bounds_
        Of an iterative solution: no direction could have a larger eigenvalue than this, given
        those before it.
    n_components_
        Number of dimensions; fewer than requested if the SVD space has fewer.
    n_graph_components_, n_isolated_, seconds_
        See `GraphTransformer`; stages are "graph", "space" and "directions".

    Notes
    -----
    `transform` is `X @ components_.T`, without subtracting the mean: no distance changes. A graph
    of k parts has k - 1 directions with f = 0 (k, if not centred); they come first.

    *Many documents.* Beyond 3,000 documents and terms, ZZᵀc = Za is solved by iteration until what
    is left of Za raises f by 1 % at most, and a hardly changes any more. The map stays orthonormal
    to rounding. `bounds_` says how near f is. With fewer than twice as many terms as documents ZZᵀ
    is nearly singular: 1e-6 is added to its diagonal, and f is further from its bound.

    *Isolated documents.* f is 0 / 0 for a direction in which only documents without a neighbour
    are non-zero. Such directions come last, with eigenvalue 0. If no document has a neighbour,
    `fit` raises a ValueError.

    References
    ----------
    D. Cai, X. He: Orthogonal locality preserving indexing, SIGIR 2005 (olpi-2005).

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.olpi import OLPI
    >>> X = np.array([[1.0, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1]])
    >>> olpi = OLPI(n_components=2, n_neighbors=1).fit(X)
    >>> olpi.components_.shape, olpi.n_graph_components_
    ((2, 4), 2)
    >>> olpi.eigenvalues_.round(6)
    array([1.      , 0.611452])
    """

    about = CATALOGUE["olpi"]

    n_components: int = DIMENSIONS
    _: KW_ONLY
    centred: bool = True

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        self.seconds_: dict[str, float] = {}
        with self._timed("graph"):
            W = self._affinity(X, y, affinity)
        least = min(X.shape)
        # Two documents that are each other's only neighbour have the constant direction alone.
        self._set_dimensions(max(X.shape[0] - W.n_isolated - 2, 0), 0, X.shape[1])
        part = isinstance(self.svd_components, int) and self.svd_components < least
        whole = least <= FULL_SPACE or self.svd_components is None
        self.solver_ = "leading" if part else "exact" if whole else "iterative"
        # In the space of the decomposition all of its dimensions can be found, and those that only
        # isolated documents have.
        if part or least <= SMALL or (whole and X.shape[1] < X.shape[0]):
            self._fit_space(X, W)
        else:
            self._fit_documents(X, W)

    def _fit_space(self, X: Any, W: Affinity) -> None:
        limit = self.svd_components if isinstance(self.svd_components, int) else None
        with self._timed("space"):
            mean = linked_mean(X, W) if self.centred else None
            space = document_space(X, limit, generator(self.random_state), mean=mean)
        with self._timed("directions"):
            affinity_gram, degree_gram = graph_grams(space.documents, W)
            # Without any edge the directions would be those of LSI, each of weight 0.
            count = 0 if W.n_isolated == X.shape[0] else min(self.n_components, len(space.scales))
            directions = orthogonal_directions(affinity_gram, degree_gram, space.scales, count)
            components = space.to_terms(directions.vectors).astype(X.dtype)
            self._store(components, directions.values, self.n_components)

    def _fit_documents(self, X: Any, W: Affinity) -> None:
        rng, exact = generator(self.random_state), self.solver_ == "exact"
        with self._timed("space"):
            linked = np.flatnonzero(W.component_labels >= 0)
            X, W = sparse.csr_array(X)[linked].astype(np.float64), W.of(linked)
            gram: DecomposedGram | SparseGram
            if exact:
                gram = DecomposedGram.of(X, linked_mean(X, W) if self.centred else None)
            else:
                groups = same_documents(X, W.edges)
                X, W = X[np.unique(groups, return_index=True)[1]], W.merged(groups)
                shares = np.bincount(groups) / len(groups)
                gram = SparseGram.of(X, W.edges, rng, shares if self.centred else None)
        with self._timed("directions"), one_blas_thread():
            count = min(self.n_components, X.shape[0] - gram.null.shape[1])
            found = document_directions(X, W, gram, count, rng)
            self._store(found.components, found.values, self.n_components)
            if not exact:
                self.bounds_ = found.bounds

    @property
    def locality_(self) -> Floats:
        """The paper's eigenvalues, f of each component: 1 - `eigenvalues_`, smallest first."""
        return np.asarray(1 - self.eigenvalues_)


# Up to so many documents or terms a decomposition costs less than a second.
SMALL = 600
