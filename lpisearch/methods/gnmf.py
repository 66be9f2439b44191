"""Graph regularised non-negative matrix factorisation (GNMF)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.methods.base import GraphTransformer, check_not_negative
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.factors import Factorisation, Run
from lpisearch.methods.placement import InvertedRows, average_duplicates
from lpisearch.numeric.rows import SparseRows, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from lpisearch.graphs.affinity import Floats


@dataclass(eq=False, repr=False)
class GNMF(Factorisation, GraphTransformer):
    """Non-negative factors in whose terms neighbours are alike.

    With documents at unit length as rows (the paper writes them as columns), W the affinity of the
    graph, D its degrees and L = D - W, U (terms x factors) and V (documents x factors) have no
    negative entry and minimise

        J = |X - V Uᵀ|² + λ tr(Vᵀ L V)

    (equation 8) by the multiplicative updates

        v ← v (X U + λ W V) / (V Uᵀ U + λ D V),    u ← u (Xᵀ V) / (U Vᵀ V),

    under which J never rises. The scale of U is free: it starts with columns of unit length, and V
    is scaled so that U ends with them. k-means on the rows of V gives the clusters: compare by
    distance, because with a large λ all rows of V have nearly the same direction.

    A new document has the v ≥ 0 with the least |x - U v|² + λ Σ w(x, i) |v - v_i|² over the fitted
    documents i that would be its neighbours by cosine; one in the direction of a fitted document
    has its place.

    Parameters
    ----------
    n_components
        Number of factors.
    graph_weight
        λ. With 0 it is `NMF` without weights of documents.
    max_iter
        Number of rounds, as in the paper. J goes on falling slowly, because a longer u and a
        shorter v have the same product and a smaller penalty.
    n_init, random_state
        See `NMF`.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`. The paper has 5 neighbours and weights of 1. No dimension has an
        eigenvalue, so that the power has no effect.

    Attributes
    ----------
    embedding_
        V, documents x n_components_; documents in the same direction have the mean of their rows.
    factors_, objectives_, n_iter_
        See `NMF`.
    n_graph_components_, n_isolated_
        See `GraphTransformer`.

    References
    ----------
    D. Cai, X. He, J. Han, T. S. Huang: Graph regularized nonnegative matrix factorization for data
    representation, PAMI 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.gnmf import GNMF
    >>> X = np.array([[3.0, 3, 0, 0], [2, 1, 0, 0], [0, 0, 1, 4], [0, 0, 0, 4]])
    >>> GNMF(n_components=2, n_neighbors=1).fit(X).embedding_.argmax(axis=1)
    array([1, 1, 0, 0])
    """

    about = CATALOGUE["gnmf"]
    placement = "gnmf"
    converges = False
    solver = "multiplicative"
    tolerance = 0.0

    n_components: int = DIMENSIONS
    _: KW_ONLY
    graph_weight: float = 100.0
    n_init: int = 3
    max_iter: int = 500
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        W = self._affinity(X, y, affinity)
        rows = SparseRows.of_matrix(X).unit()
        self._graph = W, W.degrees.astype(X.dtype)
        try:
            self._learn(unit_rows(X).astype(X.dtype), self._possible(X))
        finally:
            del self._graph
        self.embedding_ = average_duplicates(self.embedding_, rows)
        self._fitted = InvertedRows.of_rows(rows)
        self._edges = self._edge_arrays(y, affinity, X.shape[0])

    def _learn(self, X: sparse.csr_array, n_factors: int) -> None:
        parts = self._factors(X.astype(np.float64), n_factors)  # single ends rounds too early
        self.factors_ = self.factors_.astype(X.dtype)
        self.embedding_ = np.ascontiguousarray(parts.T, X.dtype)

    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers that the rule takes, by name."""
        double = self.factors_.astype(np.float64)
        return {
            "factors": np.ascontiguousarray(self.factors_.T),
            "gram": double @ double.T,
            "places": self.embedding_,
            "graph_weight": np.array([self.graph_weight], np.float64),
            **self._edges,
            **self._fitted.arrays(),
        }

    @property
    def clusters_(self) -> None:  # type: ignore[override]  # k-means on the rows of V finds them
        """None."""

    @property
    def scales_(self) -> Floats:
        """1 for each dimension."""
        return np.ones(self.n_components_, dtype=self.embedding_.dtype)

    def _start(self, X: sparse.csr_array, n_factors: int, rng: np.random.Generator) -> Run:
        """Begin with equal parts, and factors of unit length."""
        return (run := super()._start(X, n_factors, rng))._replace(factors=unit_rows(run.factors))

    def _improve_parts(self, parts: Floats, gram: Floats, target: Floats) -> None:
        W, degrees = self._graph
        pull = self.graph_weight * (W @ np.ascontiguousarray(parts.T)).T
        present = gram @ parts + self.graph_weight * degrees * parts
        ratio = np.divide(target + pull, present, out=np.zeros_like(present), where=present > 0)
        parts *= ratio

    def _penalty(self, parts: Floats) -> float:
        W, degrees = self._graph
        rough = degrees * parts - (W @ np.ascontiguousarray(parts.T)).T
        return self.graph_weight * float(np.einsum("ij,ij->", parts, rough, dtype=np.float64))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_not_negative("graph_weight", self.graph_weight)

    def _documents(self, X: Any, *, reset: bool = True, any_size: bool = False) -> sparse.csr_array:
        return super()._documents(X, reset=reset, any_size=any_size)
