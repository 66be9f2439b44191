"""Responses of documents, and the choice of α and of the number of dimensions.

The responses Y are documents x dimensions: leading eigenvectors of the document graph without the
constant one, or, if all documents have a label, class indicators made orthogonal. A typical entry
is 1, and isolated documents have 0. Methods differ in how they find a map X A ≈ Y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy import linalg, sparse

from lpisearch.graphs.supervision import memberships, several_classes
from lpisearch.methods.base import (
    GraphProjection,
    GraphTransformer,
    check_count,
    check_not_negative,
)
from lpisearch.methods.eigen import GraphVectors, graph_vectors
from lpisearch.methods.linalg import product, transposed
from lpisearch.numeric.rows import row_lengths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scipy.sparse import csr_array

    from lpisearch.graphs.affinity import Affinity, Floats, Matrix

    Multiply: TypeAlias = Callable[[Floats], Floats]


ALPHAS = np.logspace(-2, 2, 33)
# Plain generalised cross-validation chooses α too small if rows are not independent, as neighbours
# in a corpus are not. The usual remedy weights the degrees of freedom by 1.2 to 1.4 (Kim and Gu,
# Smoothing spline Gaussian regression, 2004). Responses from a graph repeat what the documents
# share, those from labels less so: docs/projections.md.
GRAPH_COST = 1.4
LABEL_COST = 1.2
PROBES = 8
LANCZOS_STEPS = 20

MOST_DIMENSIONS = 300
LEAST_WEIGHT = 0.05


def choose_dimensions(eigenvalues: Floats, power: float) -> int:
    """Choose the number of dimensions from the spectrum of the graph, largest first.

    A dimension has the weight λ^power where documents are compared. Those with at least a
    twentieth of the first weight are kept, 300 at most: docs/ranking.md.
    """
    weights = np.maximum(eigenvalues[:MOST_DIMENSIONS], 0) ** max(power, 1)
    return int(np.count_nonzero(weights >= LEAST_WEIGHT * weights[:1].max(initial=0)))


def choose_alpha(
    X: Matrix,
    Y: Floats,
    weights: Floats,
    rng: np.random.Generator,
    *,
    cost: float = GRAPH_COST,
) -> float:
    """Choose α by modified generalised cross-validation, from 0.01 to 100.

    It is the α with the least |(I - S)Y|² / (1 - cost · tr(S)/n)², where S = K (K + αI)⁻¹,
    K = X Xᵀ, n is the number of documents with a term, and responses count by their weight.
    Both parts are sums of vᵀ f(K) v, over random combinations v of the responses for the first
    and over random signs for the second. A few Lanczos steps on all of them at once give these
    for every α by Gauss quadrature, at the cost of a few columns of the regression.
    """
    n = int(np.count_nonzero(row_lengths(X)))
    return _choose_alpha(_of_rows(X), n, Y.astype(X.dtype, copy=False), weights, rng, cost=cost)


def choose_kernel_alpha(
    K: Floats, Y: Floats, weights: Floats, rng: np.random.Generator, *, cost: float = GRAPH_COST
) -> float:
    """Choose α in the same way for a kernel matrix K (documents x documents)."""
    return _choose_alpha(lambda block: np.asarray(K @ block), len(K), Y, weights, rng, cost=cost)


def alpha_of_spectrum(
    values: Floats, energies: Floats, beyond: float, n: int, *, cost: float = GRAPH_COST
) -> float:
    """Choose α in the same way from known eigenvalues of K above zero, without estimates.

    `energies` are the squared components of the responses along each eigenvector, weighted and
    summed, and `beyond` that of what is orthogonal to all; n documents have a term.
    """
    scores = []
    for alpha in ALPHAS:
        shrunk = alpha / (values + alpha)
        left = 1 - cost * np.sum(1 - shrunk) / n
        residual = beyond + np.sum(energies * shrunk**2)
        scores.append(residual / left**2 if left > 0 else np.inf)
    return float(ALPHAS[int(np.argmin(scores))])


def _choose_alpha(
    multiply: Multiply,
    n: int,
    Y: Floats,
    weights: Floats,
    rng: np.random.Generator,
    *,
    cost: float,
) -> float:
    mixing = rng.choice([-1.0, 1.0], (Y.shape[1], PROBES)) * np.sqrt(weights)[:, np.newaxis]
    signs = rng.choice([-1.0, 1.0], (len(Y), PROBES))
    probes = np.concatenate([Y @ mixing.astype(Y.dtype), signs], axis=1).astype(Y.dtype)
    nodes, masses = _quadrature(multiply, probes, min(LANCZOS_STEPS, n))
    scores = [_score(nodes, masses, alpha, n, cost) for alpha in ALPHAS]
    return float(ALPHAS[int(np.argmin(scores))])


def _of_rows(X: Matrix) -> Multiply:
    """Return the product with K = X Xᵀ, which is not stored."""
    Xt = transposed(X)
    return lambda block: product(X, product(Xt, block))


def _quadrature(multiply: Multiply, probes: Floats, steps: int) -> tuple[Floats, Floats]:
    """Return nodes and masses (probes x steps): vᵀ f(X Xᵀ) v is about the sum of mass · f(node).

    They are the eigenvalues, and the squared first components of the eigenvectors, of the
    tridiagonal matrices of `steps` Lanczos steps with X Xᵀ from each probe v.
    """
    dtype = probes.dtype
    lengths = np.asarray(linalg.norm(probes, axis=0))
    now, before = _divided(probes, lengths), np.zeros_like(probes)
    diagonal = np.zeros((steps, probes.shape[1]))
    beside = np.zeros((steps, probes.shape[1]))
    for step in range(steps):
        image = multiply(now) - before * beside[step - 1].astype(dtype)
        diagonal[step] = np.einsum("ij,ij->j", image, now)
        image -= now * diagonal[step].astype(dtype)
        beside[step] = linalg.norm(image, axis=0)
        before, now = now, _divided(image, beside[step])
    nodes, masses = np.empty_like(diagonal.T), np.empty_like(diagonal.T)
    for column, length in enumerate(lengths):
        values, vectors = linalg.eigh_tridiagonal(diagonal[:, column], beside[:-1, column])
        nodes[column], masses[column] = np.maximum(values, 0), np.square(length * vectors[0])
    return nodes, masses


def _score(nodes: Floats, masses: Floats, alpha: float, n: int, cost: float) -> float:
    """Estimate the error of prediction; infinite if no degrees of freedom are left."""
    shrunk = alpha / (nodes + alpha)
    residual = np.sum((masses * shrunk**2)[:PROBES])
    freedom = np.sum((masses * (1 - shrunk))[PROBES:]) / PROBES
    left = 1 - cost * freedom / n
    return float(residual / left**2) if left > 0 else float("inf")


def _divided(block: Floats, lengths: Any) -> Floats:
    """Scale columns to unit length; an exhausted one becomes 0."""
    safe = lengths > np.finfo(block.dtype).eps * np.max(lengths, initial=0)
    inverse = np.divide(1, lengths, out=np.zeros(len(lengths)), where=safe)
    return np.asarray(block * inverse.astype(block.dtype))


class Responses(NamedTuple):
    """Documents x dimensions, the eigenvalue of each, and the number of dimensions requested.

    There are fewer if the graph has no more with λ > 0. Responses from labels have the `shares` of
    each class in each document. `freedom_cost` weights a degree of freedom in generalised
    cross-validation.
    """

    vectors: Floats
    values: Floats
    requested: int
    freedom_cost: float = GRAPH_COST
    shares: csr_array | None = None


class ResponseTransformer(GraphTransformer):
    """A graph method that fits `_responses`: eigenvectors of the graph, or class indicators.

    `n_components` may be "auto"; `solver` and `tolerance` of the eigenproblem (see
    `lpisearch.methods.eigen.graph_vectors`) are parameters of some subclasses.
    """

    n_components: int | str
    solver: str = "auto"
    tolerance: float = 0.05

    _ready: Responses | None = None

    def fit_responses(self, X: Any, responses: Any) -> Self:
        """Learn from ready responses (documents x dimensions) in place of labels or a graph."""
        self._check_parameters()
        X = self._documents(X)
        Y = np.asarray(responses, X.dtype).reshape(len(responses), -1)
        if len(Y) != X.shape[0]:
            raise ValueError(f"There are {X.shape[0]} documents, but {len(Y)} rows of responses.")
        self._ready = Responses(Y, np.ones(Y.shape[1], X.dtype), Y.shape[1])
        try:
            self._fit(X, None, None)
        finally:
            del self._ready
        return self

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components, auto=True)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        check_not_negative("tolerance", self.tolerance)

    def _responses(
        self, X: Matrix, y: Sequence[Any] | None, affinity: Any, rng: np.random.Generator
    ) -> Responses:
        """Find the responses by label or by graph; store facts about the graph, and times."""
        self.seconds_ = {"graph": 0.0}
        if self._ready is not None:
            self.n_graph_components_, self.n_isolated_ = 1, 0
            return self._ready
        if affinity is None and self._graph_name(y, X.shape[0]) == "label":
            with self._timed("eigenvectors"):
                found = label_responses(y, X.shape[0], X.dtype)
            count = resolve_dimensions(self.n_components, found.values, self.eigenvalue_power)
            self.n_graph_components_ = found.vectors.shape[1] + 1
            self.n_isolated_ = int(np.count_nonzero(~found.vectors.any(axis=1)))
            # One dimension fewer than classes is all there is, not fewer than requested.
            some = _first(found, min(count, len(found.values)))
            shares = memberships(y, X.shape[0])[0]
            return some._replace(freedom_cost=LABEL_COST, shares=shares)
        with self._timed("graph"):
            W = self._affinity(X, y, affinity)
        with self._timed("eigenvectors"):
            return graph_responses(
                W,
                X,
                self.n_components,
                rng=rng,
                solver=self.solver,
                power=self.eigenvalue_power,
                tolerance=self.tolerance,
            )


class ResponseProjection(ResponseTransformer, GraphProjection):
    """A linear map: a regression of the responses on the terms."""


def graph_responses(
    W: Affinity,
    X: Matrix,
    n_components: int | str,
    *,
    rng: np.random.Generator,
    solver: str = "auto",
    power: float = 2.0,
    tolerance: float = 0.05,
) -> Responses:
    """Return the leading eigenvectors of a graph: see `eigen.graph_vectors`."""
    found = graph_vectors(
        W,
        MOST_DIMENSIONS if isinstance(n_components, str) else int(n_components),
        rng=rng,
        start=X,
        solver=solver,
        power=power,
        tolerance=tolerance,
        dtype=X.dtype,
    )
    return _first(found, resolve_dimensions(n_components, found.values, power))


def label_responses(y: Sequence[Any] | None, n_documents: int, dtype: Any) -> GraphVectors:
    """Make class indicators orthogonal to the constant vector and to each other.

    This is the Gram-Schmidt process of rlpi-2007, section 3.3. It starts with the vector of ones,
    which is then dropped, as are indicators that depend on earlier ones: the last one does if
    every document has one label. Every eigenvalue is 1. A typical entry is 1; documents without a
    label have 0.
    """
    found = shares_responses(several_classes(y, n_documents), dtype)
    if found.vectors.shape[1] == 0:
        raise ValueError("All documents have the same labels, so that nothing distinguishes them.")
    return found


def shares_responses(shares: csr_array, dtype: Any) -> GraphVectors:
    """Do the same for a matrix of documents x classes; no vector if all are of one class."""
    known = np.diff(shares.indptr) > 0
    indicators = sparse.hstack([sparse.csr_array(known[:, np.newaxis], dtype=float), shares], "csr")
    gram = (indicators.T @ indicators).toarray()
    least = 10 * np.sqrt(np.finfo(float).eps * gram[0, 0])
    # Gram-Schmidt by the products of the indicators alone: the vectors themselves are long.
    kept = np.empty((0, len(gram)))
    for column in np.eye(len(gram)):
        for _ in range(2):  # once would leave rounding
            column -= (kept @ (gram @ column)) @ kept  # noqa: PLW2901 (in place)
        length = np.sqrt(max(column @ gram @ column, 0))
        kept = np.vstack([kept, column / length]) if length > least else kept
    vectors = np.asarray(indicators @ (kept[1:].T * np.sqrt(gram[0, 0])), dtype)
    return GraphVectors(vectors, np.ones(vectors.shape[1], dtype), 0)


def resolve_dimensions(n_components: int | str, eigenvalues: Floats, power: float) -> int:
    """Resolve "auto" by the spectrum."""
    if isinstance(n_components, str):
        return choose_dimensions(eigenvalues, power)
    return int(n_components)


def _first(found: GraphVectors, count: int) -> Responses:
    return Responses(found.vectors[:, :count], found.values[:count], count)
