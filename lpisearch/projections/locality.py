"""The directions in the space of the documents that keep neighbours nearest, exactly.

With documents as rows, X = U S Vᵀ, possibly about their mean. In the space of the decomposition,
Z = U S, the maximising form of the problem (rlpi-2007, equation 6) is

    Zᵀ W Z b = λ Zᵀ D Z b,    a = V b,

solved for the largest λ, in time cubic in the dimensions of that space. The scales S cancel, so it
is solved for U b' with b' = S b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg

from lpisearch.projections.document_space import document_space, graph_grams

if TYPE_CHECKING:
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
