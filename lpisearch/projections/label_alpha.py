"""Choose the ridge strength α for supervised responses by held-out accuracy.

Cross-validation by a formula takes every document for an independent draw. Near-duplicates are
none: in a collection of them it believes that next to no penalty is needed. Here whole groups of
near-duplicates are held out, each is judged once, and what counts is what the map is for: how
many are nearest to the centre of a class of theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from lpisearch.compute.rows import unit_rows
from lpisearch.graphs.near_duplicates import near_duplicate_groups
from lpisearch.projections.least_squares import ridge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix

LABEL_ALPHAS = 10.0 ** np.arange(-1, 2, 0.5)
USUAL_ALPHA = 1.0
# As many documents as this take part; the choice does not depend on more (docs/classification.md).
MOST_DOCUMENTS = 8000
HELD_OUT_SHARE = 0.25
# An α is clearly worse than the best if it is so by two standard errors of their difference.
CLEAR = 2.0


class HeldOut(NamedTuple):
    """Rows that are learned from, and rows that are judged: one of each group held out."""

    seen: NDArray[np.intp]
    judged: NDArray[np.intp]


def choose_label_alpha(
    X: Matrix, Y: Floats, shares: sparse.csr_array, rng: np.random.Generator
) -> float:
    """Choose α by nearest centroid on groups of near-duplicates that were held out, 0.1 to 32.

    Of all values that are not clearly worse than the best, it is the one nearest to 1: a few
    documents do not move it far.

    Parameters
    ----------
    X, Y
        Documents and responses.
    shares
        Documents x classes; a row sums to 1, or to 0 where the document has no label.
    """
    held_out = _hold_out(X, shares, rng)
    if not len(held_out.seen) or not len(held_out.judged):
        return USUAL_ALPHA
    right = np.array([_judged_right(X, Y, shares, held_out, alpha) for alpha in LABEL_ALPHAS])
    losses = right[right.mean(axis=1).argmax()] - right
    errors = losses.std(axis=1) / np.sqrt(right.shape[1])
    good = LABEL_ALPHAS[losses.mean(axis=1) <= CLEAR * errors]
    return float(good[np.abs(np.log(good / USUAL_ALPHA)).argmin()])


def _hold_out(X: Matrix, shares: sparse.csr_array, rng: np.random.Generator) -> HeldOut:
    """Draw labelled documents, up to the most, and hold out a quarter, by whole groups."""
    labelled = np.flatnonzero(np.diff(shares.indptr))
    drawn = np.sort(rng.permutation(labelled)[:MOST_DOCUMENTS])
    groups = near_duplicate_groups(sparse.csr_array(unit_rows(X[drawn])))
    places = rng.permutation(groups.max(initial=-1) + 1)[groups]
    order = np.argsort(places, kind="stable")
    held_out_places = places[order[: int(HELD_OUT_SHARE * len(order))]]
    is_held_out = np.isin(places, held_out_places)
    firsts = np.unique(places[is_held_out], return_index=True)[1]
    return HeldOut(drawn[~is_held_out], drawn[is_held_out][firsts])


def _judged_right(
    X: Matrix, Y: Floats, shares: sparse.csr_array, held_out: HeldOut, alpha: float
) -> Floats:
    """Give 1 for each document whose nearest centre is that of a class of its own, else 0."""
    seen, judged = held_out
    coefficients = ridge(X[seen], Y[seen], alpha).coefficients
    places = unit_rows(X[seen] @ coefficients)
    return nearest_centre_is_right(places, shares[seen], X[judged] @ coefficients, shares[judged])


def nearest_centre_is_right(
    seen: Floats, seen_shares: sparse.csr_array, judged: Floats, judged_shares: sparse.csr_array
) -> Floats:
    """Give 1 for each document whose nearest centre, by cosine, is that of a class of its own.

    Documents that the centres are made of are at unit length.
    """
    centres = unit_rows(np.asarray(seen_shares.T @ seen))
    cosines = judged @ centres.T
    cosines[:, ~centres.any(axis=1)] = -np.inf
    nearest = cosines.argmax(axis=1)
    is_own = judged_shares.toarray()[np.arange(len(judged)), nearest] > 0
    return np.asarray(is_own, np.float64)
