"""Least squares for many responses with a limited number of terms, by exchanging terms.

Documents are rows of X and responses are columns of Y. From a first choice of m terms, each round
adds those that the residual points to most, solves least squares on all of them, and keeps the m
with the longest rows; when that no longer helps, fewer are added. So the residual never rises
(subspace pursuit for many responses: W. Dai, O. Milenkovic, 2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.projections.blocks import product, transposed
from lpisearch.projections.curvature import row_norms
from lpisearch.projections.least_squares import ridge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

# At first so large a share of the terms is added in a round.
FIRST_SHARE = 0.2
ACCURACY = 1e-4


class Pursuit(NamedTuple):
    """The map A, terms x responses, and |X A - Y| as a share of |Y| after each round."""

    coefficients: Floats
    residuals: list[float]


def exchange_terms(
    X: Matrix, Y: Floats, chosen: NDArray[np.intp], *, max_rounds: int = 50
) -> Pursuit:
    """Improve a choice of terms until no exchange helps, and regress on it without a penalty."""
    Xt, count = transposed(X), len(chosen)
    whole = max(float(np.linalg.norm(Y)), float(np.finfo(float).tiny))
    terms, A, left = chosen, *_regressed(X, Y, chosen)
    residuals = [float(np.linalg.norm(left)) / whole]
    share = FIRST_SHARE
    while share * count >= 1 and len(residuals) <= max_rounds:
        wider = np.union1d(terms, _pointed_to(Xt, left, terms, round(share * count)))
        lengths = row_norms(_regressed(X, Y, wider)[0])
        others = np.sort(wider[np.argsort(-lengths, kind="stable")[:count]])
        B, rest = _regressed(X, Y, others)
        residual = float(np.linalg.norm(rest)) / whole
        if residual < residuals[-1] - ACCURACY:
            terms, A, left = others, B, rest
            residuals.append(residual)
        else:
            share /= 2
    coefficients = np.zeros((X.shape[1], Y.shape[1]), X.dtype)
    coefficients[terms] = A
    return Pursuit(coefficients, residuals)


def _pointed_to(Xt: Matrix, left: Floats, terms: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Give the terms, of the others, whose products with the residual are the longest."""
    lengths = row_norms(product(Xt, left))
    lengths[terms] = -1
    return np.argsort(-lengths, kind="stable")[: min(count, len(lengths) - len(terms))]


def _regressed(X: Matrix, Y: Floats, terms: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Regress on some terms; give their rows of A, and what is left of Y."""
    some: Matrix = X[:, terms]
    A = ridge(some, Y, 0.0, tolerance=ACCURACY).coefficients
    return A, Y - product(some, A)
