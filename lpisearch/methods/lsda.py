"""Locality sensitive discriminant analysis (LSDA)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse

from lpisearch.graphs.affinity import Affinity
from lpisearch.graphs.supervision import memberships
from lpisearch.methods.base import check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import FULL_SPACE, document_space, graph_grams
from lpisearch.methods.locality import RANK_TOLERANCE, LocalityProjection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Floats


# Dimensions of the space where not all are used.
_LEADING = 1000


@dataclass(eq=False, repr=False)
class LSDA(LocalityProjection):
    """Locality sensitive discriminant analysis: near to neighbours of its class, far from others.

    1. Each document (a row of X; the paper writes columns) is joined to its nearest. Edges between
       documents with a label in common are W_w, all others W_b.
    2. With L_b the Laplacian of W_b and D_w the degrees of W_w, the vectors

           Xᵀ (β L_b + (1 - β) W_w) X a = λ (Xᵀ D_w X + σ I) a

       with the largest λ keep neighbours of one class together and move others apart (equation 17,
       in which β is α, and σ is 0: see Notes).

    Parameters
    ----------
    n_components
        Dimensions to keep.
    balance
        β, from 0 to 1.
    shrinkage
        σ as a share of the mean eigenvalue of Xᵀ D_w X.
    svd_components
        How many leading dimensions of the space of the documents are used: None for all, "auto"
        for all up to 3,000 documents or terms, and beyond for 1,000.
    random_state
        Seed of the starts of iterations.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`. Labels divide the edges; "auto" is "nearest". The paper has 5
        neighbours and weights of 1.

    Attributes
    ----------
    components_
        n_components_ x n_terms, of unit length in the norm of the right side.
    eigenvalues_
        λ of each, largest first, all above zero.
    solver_
        "exact", or "leading" for a part of the space.
    n_graph_components_, n_isolated_
        Connected parts of the graph of both, and documents without a neighbour.

    Notes
    -----
    An edge of a document without a label counts as one within its class: without any label, and
    with β = σ = 0, this is `LPI` with the constant direction. Of fewer documents than terms, σ = 0
    separates every document that has more neighbours of other classes than of its own: the paper
    removes null directions of Xᵀ D_w X by PCA, which is not enough for text.

    References
    ----------
    D. Cai, X. He, K. Zhou, J. Han, H. Bao: Locality sensitive discriminant analysis, IJCAI 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.lsda import LSDA
    >>> X = np.array([[1.0, 0, 0.3], [0.9, 0.1, 0.3], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> LSDA(n_components=1, n_neighbors=2).fit(X, list("aabb")).transform(X).round(1).ravel()
    array([ 0.4,  0.4, -0.4, -0.3])
    """

    about = CATALOGUE["lsda"]

    n_components: int = DIMENSIONS
    _: KW_ONLY
    balance: float = 0.5
    shrinkage: float = 1.0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        W = self._affinity(X, y, affinity)
        within, between = divided(W, y)
        least, limit = min(X.shape), self.svd_components
        if limit == "auto":
            limit = _LEADING if least > FULL_SPACE else None
        self.solver_ = "exact" if limit is None or int(limit) >= least else "leading"
        linked = np.flatnonzero(W.component_labels >= 0)
        part = linked if len(linked) else np.arange(X.shape[0])
        rng = generator(self.random_state)
        space = document_space(X[part], None if limit is None else int(limit), rng)
        within, between = within.of(part), between.of(part)
        scales = np.outer(space.scales, space.scales)
        near, weights = (scales * gram for gram in graph_grams(space.documents, within))
        far, far_weights = (scales * gram for gram in graph_grams(space.documents, between))
        objective = self.balance * (far_weights - far) + (1 - self.balance) * near
        sigma = self.shrinkage * np.trace(weights) / len(weights)
        values, b = _generalised_eigh(objective, weights + sigma * np.eye(len(weights)))
        found = np.flatnonzero(values > len(values) * np.finfo(np.float64).eps)
        found = found[: self.n_components] if len(linked) else found[:0]
        components = space.over_terms(b[:, found]).T.astype(X.dtype)
        self._store(components, values[found], self.n_components)

    def _graph_name(self, y: Sequence[Any] | None, n_documents: int) -> str:
        if y is not None:
            memberships(y, n_documents)
        return super()._graph_name(None, n_documents)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_not_negative("balance", self.balance)
        check_not_negative("shrinkage", self.shrinkage)
        if self.balance > 1:
            raise ValueError(f"balance must be from 0 to 1, not {self.balance}.")


def divided(W: Affinity, y: Any) -> tuple[Affinity, Affinity]:
    """Return the edges within classes, or of documents without a label, and those between."""
    edges = W.edges if W.edges is not None else sparse.csr_array(W.shape)
    apart = np.zeros(edges.nnz, np.bool_)
    if y is not None:
        shares = memberships(y, W.shape[0])[0]
        rows, columns = edges.tocoo().coords
        known = np.diff(shares.indptr) > 0
        together = shares[rows].multiply(shares[columns]).sum(axis=1) > 0
        apart = ~np.asarray(together).ravel() & known[rows] & known[columns]
    parts = (
        sparse.csr_array((edges.data * chosen, edges.indices, edges.indptr), edges.shape)
        for chosen in (~apart, apart)
    )
    within, between = parts
    return Affinity(within, W.factor), Affinity(between)


def _generalised_eigh(objective: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return all λ, largest first, and b with bᵀ (weights) b = 1, where the weights are above 0."""
    variances, directions = linalg.eigh(weights)
    real = variances > RANK_TOLERANCE * variances[-1]
    T = directions[:, real] / np.sqrt(variances[real])
    values, vectors = linalg.eigh(T.T @ objective @ T)
    return values[::-1], T @ vectors[:, ::-1]
