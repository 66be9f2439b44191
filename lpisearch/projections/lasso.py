"""Lasso regression of responses on the terms, followed along its whole path (LARS).

Documents are rows of X. For a response y the map a minimises |y - X a|² + β |a|₁. The model of a
given number of terms is found exactly, without a search for its β: see `lasso_path`.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.compute.threads import map_threads, one_blas_thread
from lpisearch.projections.base import NotConverged, check_count
from lpisearch.projections.lasso_path import NO_MOVE, End, Path, Terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

    Doubles = NDArray[np.float64]

# So many units of rounding in a response are not to be fitted: the path ends there.
ROUNDING = 100


class Lasso(NamedTuple):
    """Terms x responses, and the β that each response has come to."""

    coefficients: Floats
    penalties: Doubles


def lasso(
    X: Matrix,
    Y: Floats,
    *,
    cardinality: int | None = None,
    penalty: float | Doubles = 0.0,
    centred: bool = False,
) -> Lasso:
    """Regress every column of Y on the terms, each along its own path.

    Parameters
    ----------
    X, Y
        Documents x terms and documents x responses. The work is done in double precision.
    cardinality
        The path ends where one term more than this would enter, so the map is the last one, and
        the one of least β, before the path first has more terms. None is no limit.
    penalty
        β, or one for each response: the path ends there at the latest.
    centred
        Take the mean of every column out of X, without a full matrix: as if there were an
        intercept. Y must have columns of mean 0.

    Warns
    -----
    NotConverged
        A path took very many steps and was left where it was: an exact map for the β it had
        reached. The residual is how far it had to go, as a share of the first β.
    """
    terms = Terms(X, centred=centred)
    most = min(X.shape) if cardinality is None else cardinality
    least = np.broadcast_to(np.asarray(penalty, dtype=np.float64) / 2, Y.shape[1:])
    noise = ROUNDING * float(np.finfo(Y.dtype).eps)

    def follow(column: int) -> End:
        path = Path(terms, Y[:, column].astype(np.float64), noise)
        return path.follow(most, float(least[column]))

    with one_blas_thread():
        ends = map_threads(follow, range(Y.shape[1]))
    coefficients = np.zeros((X.shape[1], Y.shape[1]), dtype=X.dtype)
    for column, end in enumerate(ends):
        coefficients[end.columns, column] = end.values
        if not end.finished:
            left = (end.level - least[column]) / end.first
            what = f"The lasso path of response {column}"
            warnings.warn(NotConverged(what, end.steps, left, NO_MOVE), stacklevel=2)
    return Lasso(coefficients, np.array([2 * end.level for end in ends]))


def largest_penalties(X: Matrix, Y: Floats) -> Doubles:
    """For each response the β from which on every coefficient is 0: twice the largest |Xᵀ y|."""
    products = np.asarray(X.T.astype(np.float64) @ Y.astype(np.float64))
    return np.asarray(2 * np.abs(products).max(axis=0, initial=0))


def cardinality_for(value: int | str, n_terms: int) -> int:
    """Resolve a number of terms to use for each dimension: "auto" is √n_terms, rounded up."""
    check_count("cardinality", value, auto=True)
    if isinstance(value, str):
        return math.isqrt(n_terms - 1) + 1
    if value > n_terms:
        raise ValueError(f"cardinality is {value}, but there are only {n_terms} terms.")
    return int(value)
