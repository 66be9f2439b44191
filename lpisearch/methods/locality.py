"""Exact locality directions, Laplacian term scores.

With documents as rows, X = U S Vᵀ, possibly about their mean. In the space of the decomposition,
Z = U S, the maximising form of the problem (rlpi-2007, equation 6) is

    Zᵀ W Z b = λ Zᵀ D Z b,    a = V b,

solved for the largest λ, in time cubic in the dimensions of that space. The scales S cancel, so it
is solved for U b' with b' = S b.

Documents are rows of X, so that a term is a column f of X. In: documents and their graph; out: a
number for each term, or terms in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from lpisearch.methods.linalg import document_space, graph_grams, transposed, whole_space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Affinity, Floats, Matrix


# The share of the largest eigenvalue below which a constraint direction counts as absent.
RANK_TOLERANCE = 1e-10
# What is nearest to the constant is taken out where its share of the weight is above this: always,
# but for rounding; of documents about their mean only where a direction is constant.
CONSTANT_SHARE = 1e-10
CENTRED_CONSTANT_SHARE = 1 - 1e-6


class LocalityDirections(NamedTuple):
    """The vectors a as rows over the terms, and their λ, largest first, all above zero.

    aᵀ Xᵀ D X a is the sum of the degrees: a typical document is at a distance of about 1 from the
    origin in each.
    """

    components: Floats
    values: Floats


def locality_directions(
    X: Matrix,
    W: Affinity,
    count: int,
    *,
    rng: np.random.Generator,
    svd_components: int | str | None = "auto",
    mean: Floats | None = None,
) -> LocalityDirections:
    """Find the `count` leading directions, or fewer if there are no more.

    `svd_components` says how much of the space is worked in (see `kept_dimensions`). With a
    mean, documents are taken about it.
    """
    linked = np.flatnonzero(participating_degrees(W))
    if len(linked) == 0:
        return LocalityDirections(np.empty((0, X.shape[1]), X.dtype), np.empty(0))
    some: Matrix = X[linked]
    space = document_space(some, svd_components, count, rng, mean=mean)
    U = np.zeros((X.shape[0], len(space.scales)))
    U[linked] = space.documents
    constant = CONSTANT_SHARE if mean is None else CENTRED_CONSTANT_SHARE
    values, b = _maximise(U, W, count, constant)
    coefficients = b / space.scales[:, np.newaxis]
    return LocalityDirections(space.over_terms(coefficients).T.astype(X.dtype), values)


def participating_degrees(W: Affinity) -> Floats:
    """Give the degrees, with 0 for isolated documents, even where they are their own neighbour."""
    return np.asarray(np.where(W.component_labels >= 0, W.degrees, 0))


def _maximise(U: Floats, W: Affinity, count: int, constant: float) -> tuple[Floats, Floats]:
    """Solve Uᵀ W U b = λ Uᵀ D U b for the largest λ; those with 1ᵀ D U b = 0, if not centred.

    Every eigenvector y of W y = λ D y but the constant one has 1ᵀ D y = 0, so here, too, what is
    nearest to the constant is taken out. Where the space holds less than all of the documents no
    direction is quite constant; the one that nearly is would come first and tell nothing.
    `constant` is the share of the weight that the nearest must have to be taken out.
    """
    degrees = participating_degrees(W)
    total = max(float(degrees.sum()), np.finfo(float).tiny)
    turn = _whitened(U, degrees)
    U = U if turn is None else U @ turn
    objective, weights = graph_grams(U, W)
    factor = linalg.cholesky(weights, lower=True)
    objective = _in_standard_form(objective, factor)
    moment = linalg.solve_triangular(factor, U.T @ degrees, lower=True)
    if moment @ moment > constant * total:
        moment /= linalg.norm(moment)
        shared = objective @ moment
        # P (objective) P with P = I - m mᵀ, and the value of m itself moved below all others.
        objective -= np.outer(moment, shared) + np.outer(shared, moment)
        objective += (moment @ shared - 3) * np.outer(moment, moment)
    last = len(objective) - 1
    wanted = (max(last - count + 1, 0), last)
    values, vectors = linalg.eigh(objective, subset_by_index=wanted, driver="evr")
    top = np.flatnonzero(values > len(objective) * np.finfo(np.float64).eps)[::-1]
    b = linalg.solve_triangular(factor, vectors[:, top], trans="T", lower=True) * np.sqrt(total)
    return values[top], b if turn is None else turn @ b


def _in_standard_form(objective: Floats, factor: Floats) -> Floats:
    """Return L⁻¹ M L⁻ᵀ of a symmetric M and a lower triangle L."""
    reduced: Any = linalg.get_lapack_funcs(("sygst",), (objective,))
    lower, _ = reduced[0](objective, factor, lower=1)
    lower = np.tril(lower)
    return np.asarray(lower + np.tril(lower, -1).T)


def _whitened(U: Floats, degrees: Floats) -> Floats | None:
    """Give T with Tᵀ Uᵀ D U T = I; None where Uᵀ D U is far from singular as it stands.

    That is so where degrees are comparable, as U is orthonormal over the documents that have one.
    Else directions with next to no weight drop out rather than divide by zero.
    """
    some = degrees[degrees > 0]
    if len(some) and some.min() > RANK_TOLERANCE * some.max():
        return None
    weighted = U * np.sqrt(degrees)[:, np.newaxis]
    variances, directions = linalg.eigh(weighted.T @ weighted)
    kept = variances > RANK_TOLERANCE * variances[-1:].max(initial=0)
    return np.asarray(directions[:, kept] / np.sqrt(variances[kept]))


# Rows of a sparse product that are held at a time.
ROWS = 512
# A term whose weights differ from their mean by less than this share of them is constant.
CONSTANT_TOLERANCE = 1e-10
# Scores that agree to so many digits differ by rounding: the earlier term is taken.
DIGITS = 10


def laplacian_scores(X: Matrix, W: Affinity, *, centred: bool = True) -> Floats:
    """Give fᵀ L f / fᵀ D f of each term f, each about its mean; small is good.

    The mean is (fᵀ D 1 / 1ᵀ D 1) 1 (He, Cai and Niyogi, 2005). Without `centred` it stays in, as
    in lpfl-2012, equation 7. A term that has no score gets infinity: one that stands in isolated
    documents only or, centred, in all alike.
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
    """Give the terms with the lowest scores, best first; none without a score."""
    order = np.argsort(np.round(scores, DIGITS), kind="stable")[:count]
    return order[np.isfinite(scores[order])]


def given_count(n_selected: int, n_terms: int) -> int:
    """Refuse to select more terms than there are."""
    if n_selected > n_terms:
        raise ValueError(
            f"n_selected is {n_selected}, but the documents have only {n_terms} terms."
        )
    return int(n_selected)


def sufficient_count(n_linked: int, n_terms: int) -> int:
    """Give a number of terms that is enough for all that `n_linked` documents can hold.

    With m of the terms, the least sum J of l Laplacian eigenvalues lies between two bounds
    (lpfl-2012, theorem 3): Σ λᵢ ≤ J ≤ Σ λᵢ₊ᵣ₋ₘ, i = 1 … l. There r is the number of terms; but
    terms that depend on others change neither J nor λ, so it may be the rank of X. The bounds
    meet at m = r: more terms cannot lower J, and with fewer it may rise. The rank is no larger
    than the number of documents with a neighbour, which is taken in its place.
    """
    return max(1, min(n_linked, n_terms))


def term_bounds(X: Matrix, W: Affinity, n_components: int, counts: Sequence[int]) -> Floats:
    """Bound what the best m terms can reach, before they are chosen (lpfl-2012, theorem 3).

    J is the least sum of `n_components` values of aᵀ Xᵀ L X a / aᵀ Xᵀ D X a with m of the terms.
    With all eigenvalues of the pencil in ascending order, Σ λᵢ ≤ J ≤ Σ λᵢ₊ᵣ₋ₘ, where r is the rank
    of the documents with a neighbour: see `sufficient_count`. All the space of the documents is
    needed, in time cubic in their number: take a few thousand.

    Parameters
    ----------
    X
        Documents as rows.
    W
        Their graph.
    n_components
        l, how many values are summed up.
    counts
        Numbers of terms m, at least `n_components` each.

    Returns
    -------
    numpy.ndarray
        A row for each m: the lower and the upper bound.
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
    """Give fᵀ W f of each column, a few rows of the product at a time."""
    total = np.zeros(X.shape[1])
    if W.edges is not None:
        for start in range(0, X.shape[0], ROWS):
            rows = slice(start, start + ROWS)
            total += _column_sums(W.edges[rows] @ X, X[rows])
    if W.factor is not None:
        Ft = transposed(W.factor)
        for start in range(0, Ft.shape[0], ROWS):
            image: Any = Ft[start : start + ROWS] @ X
            total += _column_sums(image, image)
    return total


def _column_sums(A: Any, B: Any) -> Floats:
    """Sum up the products of entries by column, dense or sparse."""
    entries = A * B if isinstance(A, np.ndarray) else A.multiply(B)
    return np.asarray(entries.sum(axis=0)).ravel()
