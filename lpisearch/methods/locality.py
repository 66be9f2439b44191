"""Locality directions, by the equation of `LPI`, and Laplacian scores of terms.

The scales S of X = U S Vᵀ cancel, so the equation is solved for U b' with b' = S b. A term is a
column f of X.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from lpisearch.methods.base import GraphProjection, check_count, generator
from lpisearch.methods.eigen import GraphVectors, graph_vectors
from lpisearch.methods.gram import SparseGram, same_documents
from lpisearch.methods.linalg import FULL_SPACE, document_space, graph_grams, whole_space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Affinity, Floats, Matrix


# Below this share of the largest eigenvalue a direction counts as absent.
RANK_TOLERANCE = 1e-10
# The direction closest to the constant is removed if its share of the weight is above this: if it
# is constant.
CONSTANT_SHARE = 1 - 1e-6
# Of an eigenvector of the graph, what its direction may miss.
_LEFT = 3e-3
# Of the constant, so that `CONSTANT_SHARE` can tell it.
_LEFT_OF_CONSTANT = 1e-5
# Of vectors about a mean; and what moves their values above 0, that of the vector left out.
_TOLERANCE, _SHIFT = 1e-6, 2.0


class LocalityDirections(NamedTuple):
    """The vectors a as rows over the terms, and their λ, largest first, all above zero.

    aᵀ Xᵀ D X a is the sum of the degrees. No λ can be larger than its bound.
    """

    components: Floats
    values: Floats
    bounds: Floats | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class LocalityProjection(GraphProjection):
    """A linear map that is found within the SVD space of the documents.

    Attributes
    ----------
    solver_
        "exact", "iterative" in all of the space, or "leading" for a part of it.
    bounds_
        Of an iterative solution: what no eigenvalue can exceed.
    """

    svd_components: int | str | None = "auto"
    random_state: Any = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.svd_components is not None:
            check_count("svd_components", self.svd_components, auto=True)

    def _directions(self, X: Matrix, W: Affinity, mean: Floats | None = None) -> LocalityDirections:
        rng, count, least = generator(self.random_state), int(self.n_components), min(X.shape)
        if self.svd_components == "auto" and least > FULL_SPACE:
            self.solver_: str = "iterative"
            directions = iterated_directions(X, W, count, rng, mean)
        else:
            limit = self.svd_components if isinstance(self.svd_components, int) else None
            self.solver_ = "exact" if limit is None or limit >= least else "leading"
            directions = locality_directions(X, W, count, rng=rng, limit=limit, mean=mean)
        if directions.bounds is not None:
            self.bounds_: Floats = directions.bounds
        return directions


def locality_directions(
    X: Matrix,
    W: Affinity,
    count: int,
    *,
    rng: np.random.Generator,
    limit: int | None = None,
    mean: Floats | None = None,
) -> LocalityDirections:
    """Find the `count` leading directions, or fewer if there are no more.

    A limit leaves that many leading dimensions of the space. If given, `mean` is subtracted.
    """
    linked = np.flatnonzero(participating_degrees(W))
    if len(linked) == 0:
        return LocalityDirections(np.empty((0, X.shape[1]), X.dtype), np.empty(0))
    some: Matrix = X[linked]
    space = document_space(some, limit, rng, mean=mean)
    U = np.zeros((X.shape[0], len(space.scales)))
    U[linked] = space.documents
    values, b = _maximise(U, W, count)
    coefficients = b / space.scales[:, np.newaxis]
    return LocalityDirections(space.over_terms(coefficients).T.astype(X.dtype), values)


def iterated_directions(
    X: Matrix, W: Affinity, count: int, rng: np.random.Generator, mean: Floats | None = None
) -> LocalityDirections:
    """Find directions in all of the space of many documents, without decomposing it.

    If no two documents depend on each other, the places Xa are the eigenvectors y of W y = λ D y
    (rlpi-2007, theorem 1), so a = Xᵀc with XXᵀc = y. What the solution misses of y, and documents
    that do depend, are made up for within the span of all a. About the mean, places sum to 0: the
    y are eigenvectors among such vectors, and c is chosen to sum to 0 as well.
    """
    linked = np.flatnonzero(W.component_labels >= 0)
    some, among = sparse.csr_array(X)[linked], W.of(linked)
    groups = same_documents(some, among.edges)
    some, among = some[np.unique(groups, return_index=True)[1]], among.merged(groups)
    if mean is None:
        found = graph_vectors(among, count, rng=rng, solver="arpack")
    else:
        found = _vectors_of_sum_0(among, np.bincount(groups), count, rng)
    gram = SparseGram.of(some, among.edges, rng)

    def solved(y: Floats, tolerance: float) -> Floats:
        left, tried = y, {}
        for _ in range(5):  # no map reaches what y has along dependences of documents
            c = gram.solve(left, tolerance)
            a = gram.X.T @ c
            tried[float(np.linalg.norm(y - some @ a))] = c
            if gram.reaches(c, a):
                break
            left = left - c * (c @ left) / (c @ c)
        return tried[min(tried)]

    level = solved(np.ones(len(among.degrees)), _LEFT_OF_CONSTANT)
    c = np.column_stack([level, *(solved(y, _LEFT) for y in found.vectors.T)])
    if mean is not None:
        c = c[:, 1:] - np.outer(level, c[:, 1:].sum(axis=0) / level.sum())
    a = some.T @ c
    U, triangle = np.linalg.qr(some @ a - (0 if mean is None else mean @ a))
    values, b = _maximise(U, among, count)
    bounds = found.values
    if np.any(values > bounds[: len(values)]):  # a direction is nearly constant
        bounds = np.append(1.0, bounds)
    a = a @ linalg.solve_triangular(triangle, b)
    return LocalityDirections(a.T.astype(X.dtype), values, bounds[: len(values)])


def _vectors_of_sum_0(
    W: Affinity, sizes: NDArray[np.intp], count: int, rng: np.random.Generator
) -> GraphVectors:
    """Find the largest yᵀ W y / yᵀ D y among the y with sizesᵀ y = 0, orthogonal in D."""
    scale = 1 / np.sqrt(W.degrees)
    level = scale * sizes / np.linalg.norm(scale * sizes)

    def image(u: Floats) -> Floats:
        u = u.ravel() - level * (level @ u.ravel())
        u = scale * (W @ (scale * u)) + _SHIFT * u
        return np.asarray(u - level * (level @ u))

    operator: Any = LinearOperator(W.shape, matvec=image, dtype=np.float64)
    start: Any = rng.standard_normal(len(level))
    values, u = eigsh(operator, k=count, which="LA", v0=start, tol=_TOLERANCE)
    y = scale[:, np.newaxis] * u[:, ::-1] * np.sqrt(W.degrees.sum())
    return GraphVectors(y, values[::-1] - _SHIFT, 0)


def participating_degrees(W: Affinity) -> Floats:
    """Return the degrees, with 0 for isolated documents, even those with an edge to themselves."""
    return np.asarray(np.where(W.component_labels >= 0, W.degrees, 0))


def linked_mean(X: Matrix, W: Affinity) -> Floats:
    """Return the mean of the documents that have a neighbour; of all if none has."""
    linked = np.flatnonzero(W.component_labels >= 0)
    documents = X[linked] if len(linked) else X
    return np.asarray(documents.mean(axis=0, dtype=np.float64)).ravel()


def _maximise(U: Floats, W: Affinity, count: int) -> tuple[Floats, Floats]:
    """Solve Uᵀ W U b = λ Uᵀ D U b for the largest λ, without the constant direction.

    All other eigenvectors y of W y = λ D y have 1ᵀ D y = 0. Where no direction is constant, the
    equation's own are kept, the one that nearly is first of all.
    """
    degrees = participating_degrees(W)
    total = max(float(degrees.sum()), np.finfo(float).tiny)
    rotation = _whitened(U, degrees)
    U = U if rotation is None else U @ rotation
    objective, weights = graph_grams(U, W)
    factor = linalg.cholesky(weights, lower=True)
    objective = _in_standard_form(objective, factor)
    moment = linalg.solve_triangular(factor, U.T @ degrees, lower=True)
    if moment @ moment > CONSTANT_SHARE * total:
        moment /= linalg.norm(moment)
        shared = objective @ moment
        # P (objective) P with P = I - m mᵀ, and the value of m itself moved below all others.
        objective -= np.outer(moment, shared) + np.outer(shared, moment)
        objective += (moment @ shared - 3) * np.outer(moment, moment)
    last = len(objective) - 1
    leading = (max(last - count + 1, 0), last)
    values, vectors = linalg.eigh(objective, subset_by_index=leading, driver="evr")
    top = np.flatnonzero(values > len(objective) * np.finfo(np.float64).eps)[::-1]
    b = linalg.solve_triangular(factor, vectors[:, top], trans="T", lower=True) * np.sqrt(total)
    return values[top], b if rotation is None else rotation @ b


def _in_standard_form(objective: Floats, factor: Floats) -> Floats:
    """Return L⁻¹ M L⁻ᵀ of a symmetric M and a lower triangle L."""
    reduced: Any = linalg.get_lapack_funcs(("sygst",), (objective,))
    lower, _ = reduced[0](objective, factor, lower=1)
    lower = np.tril(lower)
    return np.asarray(lower + np.tril(lower, -1).T)


def _whitened(U: Floats, degrees: Floats) -> Floats | None:
    """Return T with Tᵀ Uᵀ D U T = I, or None if Uᵀ D U is far from singular.

    It is if the degrees are comparable, because U is orthonormal over the documents that have one.
    Otherwise directions of nearly no weight are dropped.
    """
    some = degrees[degrees > 0]
    if len(some) and some.min() > RANK_TOLERANCE * some.max():
        return None
    weighted = U * np.sqrt(degrees)[:, np.newaxis]
    variances, directions = linalg.eigh(weighted.T @ weighted)
    real = variances > RANK_TOLERANCE * variances[-1:].max(initial=0)
    return np.asarray(directions[:, real] / np.sqrt(variances[real]))


# Rows of a sparse product in memory at a time.
ROWS = 512
# A term whose weights differ from their mean by less than this share of them is constant.
CONSTANT_TOLERANCE = 1e-10
# Scores that agree to so many digits are ties: the earlier term wins.
DIGITS = 10


def laplacian_scores(X: Matrix, W: Affinity, *, centred: bool = True) -> Floats:
    """Return fᵀ L f / fᵀ D f of each term f, small for a good one.

    With `centred`, f is centred about (fᵀ D 1 / 1ᵀ D 1) 1 (He, Cai and Niyogi, 2005); equation 7 of
    lpfl-2012 does not centre. A term without a score gets infinity: it occurs in isolated
    documents only or, centred, equally in all.
    """
    degrees = participating_degrees(W)
    double: Any = X.astype(np.float64)
    if not degrees.all():
        linked = (degrees > 0).astype(np.float64)
        by_document = sparse.diags_array(linked, format="csr")
        double = sparse.csr_array(by_document @ double) if sparse.issparse(X) else by_document @ X
    squares: Floats = degrees @ (double**2)
    roughness = np.maximum(squares - _affinities(double, W), 0)
    spread = squares.copy()
    if centred and degrees.any():
        spread -= (degrees @ double) ** 2 / degrees.sum()
    varies = spread > CONSTANT_TOLERANCE * squares
    undefined: Floats = np.full(len(spread), np.inf)
    return np.divide(roughness, spread, out=undefined, where=varies)


def best_terms(scores: Floats, count: int) -> NDArray[np.intp]:
    """Return the terms with the lowest scores, best first; none without a score."""
    order = np.argsort(np.round(scores, DIGITS), kind="stable")[:count]
    return order[np.isfinite(scores[order])]


def checked_selection(n_selected: int, n_terms: int) -> int:
    """Return the number of terms to select; refuse more than there are."""
    if n_selected > n_terms:
        raise ValueError(
            f"n_selected is {n_selected}, but the documents have only {n_terms} terms."
        )
    return int(n_selected)


def sufficient_count(n_linked: int, n_terms: int) -> int:
    """Return a number of terms m that is sufficient for the space of `n_linked` documents.

    With m of the terms, the least sum J of l Laplacian eigenvalues has the bounds
    Σ λᵢ ≤ J ≤ Σ λᵢ₊ᵣ₋ₘ, i = 1 … l (lpfl-2012, theorem 3). There r is the number of terms; but
    dependent terms change neither J nor λ, so r may be the rank of X. The bounds meet at m = r:
    more terms cannot lower J. The number of documents with a neighbour bounds the rank.
    """
    return max(1, min(n_linked, n_terms))


def term_bounds(X: Matrix, W: Affinity, n_components: int, counts: Sequence[int]) -> Floats:
    """Return lower and upper bounds of J for each number of terms m in `counts`.

    J is the least sum of l = `n_components` values of aᵀ Xᵀ L X a / aᵀ Xᵀ D X a with m of the
    terms; see `sufficient_count` (lpfl-2012, theorem 3). Each m must be at least l. The time is
    cubic in the number of documents: use a few thousand.
    """
    linked = np.flatnonzero(participating_degrees(W))
    space = whole_space(X[linked])
    U = np.zeros((X.shape[0], len(space.scales)))
    U[linked] = space.documents
    affinity_gram, degree_gram = graph_grams(U, W)
    values = np.maximum(linalg.eigh(degree_gram - affinity_gram, degree_gram, eigvals_only=True), 0)
    rank = len(values)
    if min(counts) < n_components or rank < n_components:
        raise ValueError(
            f"{n_components} dimensions need as many terms and as many independent documents; "
            f"there are {min(counts)} and {rank}."
        )
    sums = np.concatenate([[0.0], np.cumsum(values)])
    lower = sums[n_components]
    first = np.maximum(rank - np.asarray(counts), 0)
    return np.column_stack([np.full(len(first), lower), sums[first + n_components] - sums[first]])


def _affinities(X: Any, W: Affinity) -> Floats:
    """Return fᵀ W f of each column, a few rows of the product at a time."""
    total = np.zeros(X.shape[1])
    if W.edges is not None:
        for start in range(0, X.shape[0], ROWS):
            rows = slice(start, start + ROWS)
            total += _column_sums(W.edges[rows] @ X, X[rows])
    if W.factor is not None:
        Ft = sparse.csr_array(W.factor.T)
        for start in range(0, Ft.shape[0], ROWS):
            image: Any = Ft[start : start + ROWS] @ X
            total += _column_sums(image, image)
    return total


def _column_sums(A: Any, B: Any) -> Floats:
    """Sum the products of entries by column, dense or sparse."""
    entries = A * B if isinstance(A, np.ndarray) else A.multiply(B)
    return np.asarray(entries.sum(axis=0)).ravel()
