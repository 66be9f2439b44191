"""Locality preserving indexing: the exact eigenproblem, after a singular value decomposition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import linalg

from lpisearch.projections.base import GraphProjection, check_count, check_not_negative, generator
from lpisearch.projections.document_space import kept_dimensions
from lpisearch.projections.singular import full_svd, truncated_svd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Affinity, Floats

# The share of the largest eigenvalue below which a constraint direction counts as absent.
RANK_TOLERANCE = 1e-10
CONSTANT_TOLERANCE = 1e-6


class LPI(GraphProjection):
    """Locality preserving indexing, also known as LPP.

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
        1,000, else 300, or half as many again as `n_components`.
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
    If a linear map takes all documents to one number, it has λ = 1 and says nothing. That
    direction is taken out, as the constant eigenvector is in `RLPI`.

    References
    ----------
    X. He, D. Cai, H. Liu, W.-Y. Ma: Locality preserving indexing for document representation,
    SIGIR 2004; lpp-analysis-2005 (X. He, D. Cai, W. Min: Statistical and computational analysis
    of locality preserving projection, ICML 2005).

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.projections.lpi import LPI
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> LPI(n_components=1, n_neighbors=1).fit(X).eigenvalues_.round(3)
    array([1.])
    """

    def __init__(
        self,
        n_components: int = 150,
        *,
        svd_components: int | str | None = "auto",
        graph: str = "auto",
        n_neighbors: int = 15,
        radius: float = 1.2,
        edge_weights: str = "cosine",
        heat_scale: float = 1.0,
        eigenvalue_power: float = 2.0,
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
        most = min(X.shape)
        limit = kept_dimensions(self.svd_components, most, self.n_components)
        if limit == most:
            svd = full_svd(X)
        else:
            svd = truncated_svd(X, limit, rng=generator(self.random_state))
        Z = (svd.documents * svd.values).astype(np.float64)
        values, B = _maximise(Z, W, self.n_components)
        self._keep((B.T @ svd.terms).astype(X.dtype), values, self.n_components)
        return self


def _maximise(Z: Floats, W: Affinity, count: int) -> tuple[Floats, Floats]:
    """Solve Zᵀ W Z b = λ Zᵀ D Z b for the largest λ, the direction of the constant taken out.

    The constraint Zᵀ D Z is diagonalised first, so that directions in which only isolated
    documents lie, and no other, drop out rather than divide by zero.
    """
    degrees = np.where(W.component_labels >= 0, W.degrees, 0)
    Z = Z * (degrees > 0)[:, np.newaxis]
    weighted = Z * np.sqrt(degrees)[:, np.newaxis]
    variances, directions = linalg.eigh(weighted.T @ weighted)
    kept = variances > RANK_TOLERANCE * variances[-1:].max(initial=0)
    white = directions[:, kept] / np.sqrt(variances[kept])
    moment = white.T @ (Z.T @ degrees)
    # Where some direction maps every document to one number, it is `moment`, and its share of
    # the total weight is 1: the squared length of `moment` over the sum of the degrees.
    total = max(float(degrees.sum()), np.finfo(float).tiny)
    objective = white.T @ (Z.T @ (W @ (Z @ white)))
    objective = (objective + objective.T) / 2
    if moment @ moment > (1 - CONSTANT_TOLERANCE) * total:
        objective -= 3 * np.outer(moment, moment) / (moment @ moment)
    values, vectors = linalg.eigh(objective)
    least = len(values) * np.finfo(np.float64).eps
    top = np.flatnonzero(values > least)[::-1][:count]
    return values[top], (white @ vectors[:, top]) * np.sqrt(total)
