"""Non-negative matrix factorisation (NMF), weighted as for a normalised cut.

With documents as rows (the paper writes them as columns), X ≈ V Uᵀ. The documents are weighted
first:

    X' = D^(-1/2) X,   D = diag(X Xᵀ e),   J = |X' - V Uᵀ|²

D_i is the degree of document i in the complete graph of inner products; X Xᵀ itself is not needed.

W. Xu, X. Liu, Y. Gong: Document clustering based on non-negative matrix factorization, SIGIR 2003.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.methods.base import check_choice
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.factors import SOLVERS, Factorisation, normalised_cut

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse


WEIGHTINGS = ("ncw", "none")


@dataclass(eq=False, repr=False)
class NMF(Factorisation):
    """Non-negative matrix factorisation, with documents weighted as for a normalised cut.

    Documents are rows here; they are compared by the cosine of their parts of the factors.

    Parameters
    ----------
    n_components
        Number of factors.
    weighting
        "ncw": documents are weighted by the inverse root of their degree; "none": equally.
    solver
        "hals" (coordinate descent) or "multiplicative" (the updates of the paper, slower).
    n_init
        Number of starts. Each takes some rounds, and the one with the least J continues.
    max_iter
        Limit of rounds; each improves V, then U.
    tolerance
        Converged when the last rounds lowered J, on average, by less than this share of |X'|².
    random_state
        Seed of the random U of each start.

    Attributes
    ----------
    embedding_
        Documents x n_components_: the parts of the factors in each document at unit length.
    factors_
        Uᵀ, n_components_ x n_terms, rows of unit length.
    objectives_
        J after each round.
    n_iter_
        Number of rounds.
    clusters_
        The factor with the largest part in each fitted document, as by Xu et al.

    Notes
    -----
    Documents, new and fitted, are folded in: `transform` returns the v ≥ 0 with the least
    |x - U v|², for x at unit length. The length of a document and its normalised-cut weight only
    scale its v (converged, V is `embedding_` with scaled rows): they change neither its cluster
    nor its cosines.

    References
    ----------
    W. Xu, X. Liu, Y. Gong: Document clustering based on non-negative matrix factorization, SIGIR
    2003.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.nmf import NMF
    >>> X = np.array([[3.0, 3, 0, 0], [2, 2, 0, 0], [0, 0, 0, 4]])
    >>> np.sort(NMF(n_components=2).fit_transform(X)).round(3)
    array([[0., 1.],
           [0., 1.],
           [0., 1.]])
    """

    about = CATALOGUE["nmf"]
    placement = "nmf"

    n_components: int = DIMENSIONS
    _: KW_ONLY
    weighting: str = "ncw"
    solver: str = "hals"
    n_init: int = 3
    max_iter: int = 500
    tolerance: float = 1e-5
    random_state: Any = 0

    def placement_arrays(self) -> dict[str, NDArray[Any]]:
        """Return U and UᵀU."""
        double = self.factors_.astype(np.float64)
        return {"factors": np.ascontiguousarray(self.factors_.T), "gram": double @ double.T}

    def _learn(self, X: sparse.csr_array, n_factors: int) -> None:
        self._factors(normalised_cut(X) if self.weighting == "ncw" else X, n_factors)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("weighting", self.weighting, WEIGHTINGS)
        check_choice("solver", self.solver, tuple(SOLVERS))
