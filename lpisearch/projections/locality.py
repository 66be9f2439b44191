"""The directions in the space of the documents that keep neighbours nearest, exactly.

With documents as rows, X = U S Vᵀ, possibly about their mean. In the space of the decomposition,
Z = U S, the maximising form of the problem (rlpi-2007, equation 6) is

    Zᵀ W Z b = λ Zᵀ D Z b,    a = V b,

solved for the largest λ, in time cubic in the dimensions of that space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import linalg

from lpisearch.projections.document_space import kept_dimensions
from lpisearch.projections.singular import full_svd, truncated_svd

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Affinity, Floats, Matrix

# The share of the largest eigenvalue below which a constraint direction counts as absent.
RANK_TOLERANCE = 1e-10
CONSTANT_TOLERANCE = 1e-6


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
    most = min(X.shape)
    limit = kept_dimensions(svd_components, most, count)
    whole = limit == most
    svd = full_svd(X, mean=mean) if whole else truncated_svd(X, limit, rng=rng, mean=mean)
    Z = (svd.documents * svd.values).astype(np.float64)
    values, B = _maximise(Z, W, count)
    return LocalityDirections((B.T @ svd.terms).astype(X.dtype), values)


def participating_degrees(W: Affinity) -> Floats:
    """Give the degrees, with 0 for isolated documents, even where they are their own neighbour."""
    return np.asarray(np.where(W.component_labels >= 0, W.degrees, 0))


def _maximise(Z: Floats, W: Affinity, count: int) -> tuple[Floats, Floats]:
    """Solve Zᵀ W Z b = λ Zᵀ D Z b for the largest λ, the direction of the constant taken out.

    The constraint Zᵀ D Z is diagonalised first, so that directions in which only isolated
    documents lie, and no other, drop out rather than divide by zero.
    """
    degrees = participating_degrees(W)
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
