"""Choose the weight of label dimensions when only some documents are labelled.

The dimensions that all documents give by their neighbours, and those that the labelled ones give
by their classes, each have their own regression. Where documents are compared, those of the classes
count `strength` times: 0 leaves the labels out, infinity leaves the neighbours out. Labelled
documents are held out and judged by nearest centroid; a strength other than 1 must be clearly
better. Near-duplicates are no danger here: either kind has learned its α with regard to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.compute.rows import unit_rows
from lpisearch.graphs import memberships
from lpisearch.projections.label_alpha import CLEAR, MOST_DOCUMENTS, nearest_centre_is_right
from lpisearch.projections.least_squares import ridge
from lpisearch.projections.responses import shares_responses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from lpisearch.graphs.affinity import Floats, Matrix

STRENGTHS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, np.inf)
FOLDS = 5
_USUAL = STRENGTHS.index(1.0)
# A fold is judged where two classes are left to learn from.
_FEWEST_CLASSES = 2


class Labelled(NamedTuple):
    """The labelled documents: their terms, classes, and places by their neighbours (scaled).

    A row of `shares` (documents x classes) sums to 1.
    """

    X: Matrix
    shares: sparse.csr_array
    places: Floats


def choose_label_strength(known: Labelled, alpha: float, rng: np.random.Generator) -> float:
    """Choose how much dimensions from labels count beside those from neighbours.

    Of all strengths that are not clearly worse than the best (by two standard errors of the
    difference), it is the one nearest to 1.

    Parameters
    ----------
    known
        The labelled documents; of many, 8,000 take part.
    alpha
        Strength of the ridge for the labels.
    """
    right = held_out(known, alpha, rng)
    return strength_of(right) if right.shape[1] else STRENGTHS[_USUAL]


def held_out(known: Labelled, alpha: float, rng: np.random.Generator) -> Floats:
    """Give a row for each strength: 1 for each labelled document that is right when held out."""
    drawn = np.sort(rng.permutation(known.X.shape[0])[:MOST_DOCUMENTS])
    some = Labelled(known.X[drawn], known.shares[drawn], known.places[drawn])
    fold = rng.permutation(len(drawn)) % FOLDS
    judged = [_judged_right(some, fold != number, alpha) for number in range(FOLDS)]
    return np.concatenate([each for each in judged if each is not None] or [_NOTHING], axis=1)


def strength_of(right: Floats, clear: float = CLEAR) -> float:
    """Take the strength nearest to 1 that is not worse than the best by so many standard errors."""
    losses = right[right.mean(axis=1).argmax()] - right
    errors = losses.std(axis=1) / np.sqrt(right.shape[1])
    good = np.flatnonzero(losses.mean(axis=1) <= clear * errors)
    away = np.abs(good - _USUAL) + losses.mean(axis=1)[good] / 2
    return STRENGTHS[int(good[away.argmin()])]


class Both(NamedTuple):
    """Weights of the terms and eigenvalues: of dimensions from labels, and from neighbours."""

    labels: tuple[Floats, Floats]
    neighbours: tuple[Floats, Floats]

    def side_by_side(self, strength: float, most: int | None) -> tuple[Floats, Floats]:
        """Put both into one map of no more than so many dimensions, those of labels first."""
        (by_labels, ones), (by_neighbours, values) = self
        if strength > 0 and most is not None:
            count = min(len(ones), most)
            by_labels, ones = by_labels[:, :count], ones[:count]
            by_neighbours, values = by_neighbours[:, : most - count], values[: most - count]
        eigenvalues = side_by_side(ones[np.newaxis], values[np.newaxis], strength)[0]
        if 0 < strength < np.inf:
            eigenvalues[: len(ones)] = ones
        return side_by_side(by_labels, by_neighbours, strength), eigenvalues


def some_labels(y: Sequence[Any] | None, n_documents: int) -> sparse.csr_array | None:
    """Return documents x classes where some documents, not all, have one of several labels."""
    if y is None:
        return None
    shares, names = memberships(y, n_documents)
    is_labelled = np.diff(shares.indptr) > 0
    return shares if not is_labelled.all() and len(names) >= _FEWEST_CLASSES else None


def side_by_side(by_labels: Floats, by_neighbours: Floats, strength: float) -> Floats:
    """Put dimensions of both kinds beside each other, those of labels first; one kind at an end."""
    if strength == 0:
        return by_neighbours
    if np.isinf(strength):
        return by_labels
    return np.hstack([by_labels.dtype.type(strength) * by_labels, by_neighbours])


_NOTHING = np.empty((len(STRENGTHS), 0))


def _judged_right(known: Labelled, seen: NDArray[np.bool_], alpha: float) -> Floats | None:
    """Give a row for each strength: 1 for each document held out whose nearest centre is right."""
    shares = known.shares[seen]
    classes = np.flatnonzero(np.bincount(shares.indices, minlength=shares.shape[1]))
    if len(classes) < _FEWEST_CLASSES or seen.all():
        return None
    Y = shares_responses(shares[:, classes], known.X.dtype).vectors
    if not Y.shape[1]:
        return None
    by_labels = np.asarray(known.X @ ridge(known.X[seen], Y, alpha).coefficients)
    found = []
    for strength in STRENGTHS:
        points = unit_rows(side_by_side(by_labels, known.places, strength))
        found.append(
            nearest_centre_is_right(points[seen], shares, points[~seen], known.shares[~seen])
        )
    return np.array(found)
