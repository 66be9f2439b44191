"""Least squares for many responses with a limited number of terms, by exchanging terms.

Documents are rows of X and responses are columns of Y. From a first choice of m terms, each round
adds those that the residual points to most, solves least squares on all of them, and keeps the m
that contribute most; when that no longer helps, fewer are added. So the residual never rises
(subspace pursuit for many responses: W. Dai, O. Milenkovic, 2009). The first choice is the one
given or that of matching pursuit, whichever leaves less. Terms are compared as if their columns
were of one length: rare ones would hardly be tried, and would be dropped for their long rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.compute.rows import row_lengths
from lpisearch.projections.blocks import product, transposed
from lpisearch.projections.curvature import row_norms
from lpisearch.projections.least_squares import ridge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

# At first so large a share of the terms is added in a round.
FIRST_SHARE = 0.2
ACCURACY = 1e-4
# Matching pursuit takes so many steps at most, with several terms to each where there are more.
MATCHING_STEPS = 50


class Pursuit(NamedTuple):
    """The map A, terms x responses, and |X A - Y| as a share of |Y| after each round."""

    coefficients: Floats
    residuals: list[float]


def exchange_terms(
    X: Matrix, Y: Floats, chosen: NDArray[np.intp], *, max_rounds: int = 50
) -> Pursuit:
    """Improve a choice of terms until no exchange helps, and regress on it without a penalty."""
    Xt, count = transposed(X), len(chosen)
    columns = row_norms(Xt) if isinstance(Xt, np.ndarray) else row_lengths(Xt)
    whole = max(float(np.linalg.norm(Y)), float(np.finfo(float).tiny))
    starts = (chosen, _matched(X, Xt, Y, columns, count))
    terms, A, left = min(
        ((start, *_regressed(X, Y, start)) for start in starts),
        key=lambda found: float(np.linalg.norm(found[2])),
    )
    residuals = [float(np.linalg.norm(left)) / whole]
    share = FIRST_SHARE
    while share * count >= 1 and len(residuals) <= max_rounds:
        more = _pointed_to(Xt, left, columns, terms, round(share * count))
        wider = np.union1d(terms, more)
        lengths = row_norms(_regressed(X, Y, wider)[0]) * columns[wider]
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


def _matched(X: Matrix, Xt: Matrix, Y: Floats, columns: Floats, count: int) -> NDArray[np.intp]:
    """Add terms that the residual points to, some at a time, regressing anew after each step."""
    terms: NDArray[np.intp] = np.empty(0, np.intp)
    left = Y
    for size in np.diff(np.linspace(0, count, min(count, MATCHING_STEPS) + 1).astype(int)):
        terms = np.union1d(terms, _pointed_to(Xt, left, columns, terms, int(size)))
        left = _regressed(X, Y, terms)[1]
    return terms


def _pointed_to(
    Xt: Matrix, left: Floats, columns: Floats, terms: NDArray[np.intp], count: int
) -> NDArray[np.intp]:
    """Give the terms, of the others, whose columns at unit length the residual has most of."""
    products = row_norms(product(Xt, left))
    lengths = np.divide(products, columns, out=np.zeros_like(products), where=columns > 0)
    lengths[terms] = -1
    return np.argsort(-lengths, kind="stable")[: min(count, len(lengths) - len(terms))]


def _regressed(X: Matrix, Y: Floats, terms: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Regress on some terms; give their rows of A, and what is left of Y."""
    some: Matrix = X[:, terms]
    A = ridge(some, Y, 0.0, tolerance=ACCURACY).coefficients
    return A, Y - product(some, A)
