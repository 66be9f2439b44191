"""Sparse locality preserving indexing (SLPI)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.methods.base import TermSelector, check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.lasso import lasso, vanishing_penalties
from lpisearch.methods.responses import ResponseProjection
from lpisearch.numeric.rows import row_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Matrix


# Leaves tens of terms in a dimension of a few hundred to a few thousand documents.
BETA_A_DOCUMENT = 0.001


@dataclass(eq=False, repr=False)
class SLPI(TermSelector, ResponseProjection):
    """Sparse locality preserving indexing by spectral regression with an L1 penalty.

    1. A graph W joins each document to its nearest neighbours (or to those of its class).
    2. The leading eigenvectors y of W y = λ D y, without the constant one, place every document
       near its neighbours.
    3. The lasso finds for each y the weights a of the terms: it minimises |X a - y|² + β |a|₁
       with documents as rows of X (the papers write them as columns). The larger β, the fewer
       terms; `SPG` sets their number instead.

    With labels for all documents the responses y are class indicators made orthogonal to the
    constant vector and to each other (Gram-Schmidt). With labels for some, both are blended into
    one graph.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`. Fully
        labelled documents have at most one dimension fewer than classes.
    beta
        β of the formula above, which is not divided by n, the number of documents with a term.
        The length of y is about √n (yᵀ D y is the sum of the degrees D, so that a typical entry is
        1; a paper with yᵀ D y = 1 has its β divided by the root of that sum), so the same effect
        needs a β that grows with n. "auto" is n / 1000
        for rows of unit length (otherwise times their root mean square length), but at most a
        tenth of the β that leaves no term in a dimension.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`.
    solver, tolerance, random_state
        Parameters of the eigenproblem: see `RLPI`.

    Attributes
    ----------
    components_
        n_components_ x n_terms, a dense array with exact zeros.
    eigenvalues_
        λ of each dimension, largest first.
    selected_
        The columns of the terms that any dimension has.
    penalties_
        β of each dimension; all equal `beta` unless that is "auto".
    scales_, n_graph_components_, n_isolated_, seconds_
        See `GraphTransformer`; stages are "graph", "eigenvectors" and "regression".

    Raises
    ------
    ValueError
        β is so large that every coefficient of every dimension is 0. If that is so for some
        dimensions only, they are dropped with the warning `FewerDimensions`.

    Notes
    -----
    There is no intercept, neither in the regression nor in `transform`. A dimension of k terms
    costs k products with X and k³; β = 0 is least squares, for which `RLPI` is faster.

    The experiments of the second reference choose among 10, 20, …, 100, which in the program of
    the first is the number of terms; n / 1000 leaves as many on documents like theirs.

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

    about = CATALOGUE["slpi"]

    n_components: int | str = DIMENSIONS
    _: KW_ONLY
    beta: float | str = "auto"
    solver: str = "auto"
    tolerance: float = 0.05
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        responses = self._responses(X, y, affinity, generator(self.random_state))
        with self._timed("regression"):
            largest = vanishing_penalties(X, responses.vectors)
            paths = lasso(X, responses.vectors, penalty=self._penalties(X, largest))
        used = np.flatnonzero(paths.coefficients.any(axis=0))
        self.penalties_ = paths.penalties[used]
        self._store(paths.coefficients.T[used], responses.values[used], responses.requested)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_not_negative("beta", self.beta, auto=True)

    def _penalties(self, X: Matrix, largest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return β for each response, of which `largest` leaves no term."""
        if isinstance(self.beta, str):
            lengths = row_lengths(X)
            n = np.count_nonzero(lengths)
            default = BETA_A_DOCUMENT * np.sqrt(n) * float(np.linalg.norm(lengths))
            return np.asarray(np.minimum(default, largest / 10))
        most = largest.max(initial=0)
        if self.beta >= most > 0:
            raise ValueError(
                f"beta is {self.beta:g}, which makes every coefficient 0; use less than {most:.6g}."
            )
        return np.full(len(largest), float(self.beta))
