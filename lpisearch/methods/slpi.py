"""SLPI."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.graphs.base import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.methods.base import check_count, check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.methods.lasso import largest_penalties, lasso
from lpisearch.methods.responses import ResponseProjection
from lpisearch.numeric.rows import row_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Matrix
    from lpisearch.methods.catalogue import Method


# With it, tens of terms are left in a dimension of a few hundred to a few thousand documents.
BETA_A_DOCUMENT = 0.001


class SLPI(ResponseProjection):
    """Sparse locality preserving indexing by spectral regression with an L1 penalty.

    1. A graph W joins each document to its nearest (or to those of its class).
    2. The leading eigenvectors y of W y = λ D y, without the constant one, place every document
       near its neighbours.
    3. The lasso finds for each y the weights a of the terms: it minimises |X a - y|² + β |a|₁
       with documents as rows of X (the papers have them as columns). The larger β, the fewer
       terms; `SPG` takes their number instead.

    With labels for all documents the responses y are class indicators made orthogonal to the
    constant vector and to each other (Gram-Schmidt). With labels for some, both are blended into
    one graph.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`. Fully
        labelled documents have one dimension fewer than classes, whatever is asked beyond that.
    beta
        β of the formula above, with nothing divided by n, the number of documents with a term;
        y is as long as √n, so for the same effect β grows with n. "auto" is n / 1000 for rows of
        unit length (for others, times their root mean square length), but no more than a tenth
        of what leaves no term in a dimension.
    graph
        "auto" (by label where there are labels, by nearness elsewhere), or a name from `GRAPHS`;
        graphs by nearness take no notice of labels.
    n_neighbors, radius, edge_weights, heat_scale
        See `lpisearch.graphs.GraphOptions`.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power. `components_` does not
        contain the scale.
    solver, tolerance
        Of the eigenproblem: see `RLPI`.
    random_state
        Seed of the eigenproblem.

    Attributes
    ----------
    components_
        n_components_ x n_terms, a full array with exact zeros.
    eigenvalues_
        λ of each dimension, largest first.
    penalties_
        β of each dimension: all are `beta` unless that is "auto".
    scales_
        eigenvalues_ ** eigenvalue_power.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour.
    seconds_
        Time of the stages: "graph", "eigenvectors", "regression".

    Raises
    ------
    ValueError
        β is so large that every coefficient of every dimension is 0. Where that is so for some
        dimensions only, they are left out, with the warning `FewerDimensions`.

    Notes
    -----
    There is no intercept, in the regression as in `transform`. The cost of a dimension is, for k
    terms left, k products with X, and k³; β = 0 is least squares, for which `RLPI` is quicker.

    The experiments of the second reference choose among 10, 20, …, 100, which in the program of
    the first is the number of terms that are left; n / 1000 leaves as many on documents like
    theirs.

    References
    ----------
    D. Cai, X. He, J. Han: Spectral regression: a unified approach for sparse subspace learning,
    ICDM 2007; lpfl-2012 (Q. Gu, M. Danilevsky, Z. Li, J. Han: Locality preserving feature
    learning, AISTATS 2012), section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.slpi import SLPI
    >>> X = np.array([[1.0, 0, 0.2], [0.9, 0.3, 0], [0, 0.2, 1], [0, 0.3, 0.9]])
    >>> SLPI(n_components=1, beta=0.5, n_neighbors=1).fit(X).components_.round(1)
    array([[ 1. ,  0. , -0.9]])
    """

    about: ClassVar[Method] = CATALOGUE["slpi"]

    def __init__(
        self,
        n_components: int | str = DIMENSIONS,
        *,
        beta: float | str = "auto",
        graph: str = "auto",
        n_neighbors: int = NEIGHBOURS,
        radius: float = RADIUS,
        edge_weights: str = EDGE_WEIGHTS[0],
        heat_scale: float = HEAT_SCALE,
        eigenvalue_power: float = EIGENVALUE_POWER,
        solver: str = "auto",
        tolerance: float = 0.05,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.edge_weights = edge_weights
        self.heat_scale = heat_scale
        self.eigenvalue_power = eigenvalue_power
        self.solver = solver
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn the map.

        Parameters
        ----------
        X
            Documents as rows, best at unit length; sparse or dense.
        y
            A label for each document; None, -1, "" or NaN is unlabelled; a list holds several.
        affinity
            A ready graph, in place of one built from X and y.
        """
        check_count("n_components", self.n_components, auto=True)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        check_not_negative("tolerance", self.tolerance)
        check_not_negative("beta", self.beta, auto=True)
        X = self._documents(X)
        responses = self._responses(X, y, affinity, generator(self.random_state))
        began = perf_counter()
        largest = largest_penalties(X, responses.vectors)
        found = lasso(X, responses.vectors, penalty=self._penalties(X, largest))
        self.seconds_["regression"] = perf_counter() - began
        used = np.flatnonzero(found.coefficients.any(axis=0))
        self.penalties_ = found.penalties[used]
        self._keep(found.coefficients.T[used], responses.values[used], responses.asked)
        return self

    def _penalties(self, X: Matrix, largest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Resolve β, given the β of each response that leaves nothing of it."""
        if isinstance(self.beta, str):
            lengths = row_lengths(X)
            n = np.count_nonzero(lengths)
            usual = BETA_A_DOCUMENT * np.sqrt(n) * float(np.linalg.norm(lengths))
            return np.asarray(np.minimum(usual, largest / 10))
        most = largest.max(initial=0)
        if self.beta >= most > 0:
            raise ValueError(
                f"beta is {self.beta:g}, which makes every coefficient 0; use less than {most:.6g}."
            )
        return np.full(len(largest), float(self.beta))
