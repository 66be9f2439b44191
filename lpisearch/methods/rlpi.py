"""Regularised locality preserving indexing (RLPI), and its choices by held-out labels.

If some documents have labels, the dimensions that all documents give by their neighbours, and those
that the labelled ones give by their classes, each have their own regression. Where documents are
compared, those from classes are multiplied by the label strength.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from lpisearch.graphs.neighbours import near_duplicate_groups
from lpisearch.graphs.supervision import memberships
from lpisearch.methods.base import NotConverged, check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.regression import (
    LEAST_SQUARES_TOLERANCE,
    REGRESSION_TOLERANCE,
    ROUNDING,
    ridge,
)
from lpisearch.methods.responses import (
    ResponseProjection,
    Responses,
    choose_alpha,
    shares_responses,
)
from lpisearch.numeric.rows import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.graphs.affinity import Floats, Matrix


@dataclass(eq=False, repr=False)
class RLPI(ResponseProjection):
    """Regularised locality preserving indexing by spectral regression.

    1. A graph W joins each document to its nearest neighbours (or to those of its class).
    2. The leading eigenvectors y of W y = λ D y, without the constant one, place every document
       near its neighbours.
    3. Ridge regression finds for each y the weights a of the terms: it minimises
       |X a - y|² + α |a|² with documents as rows of X (the paper writes them as columns).

    With labels for all documents there is no graph and no eigenproblem: the responses y are
    class indicators made orthogonal to the constant vector and to each other (Gram-Schmidt), at
    most one fewer than classes. With labels for some, there are dimensions of both kinds, those
    from labels first; their weight is chosen on held-out documents.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`. Fully
        labelled documents have at most one dimension fewer than classes.
    alpha
        Strength of the ridge penalty, or "auto": generalised cross-validation, or, with labels
        for all documents, nearest centroid on held-out groups of near-duplicates.
    label_strength
        If some documents have labels: the weight of the dimensions from labels relative to those
        from neighbours, from 0 (no labels) to infinity (no neighbours), or "auto", chosen on
        held-out documents.
    solver
        Solver of the eigenproblem: "auto", "block", "arpack" or "dense"; see
        `lpisearch.methods.eigen.graph_vectors`.
    tolerance
        The block solver stops when another round would move the scaled subspace by less than
        this share.
    regression_tolerance
        Beyond 2,000 documents and terms the regression is iterated until its residuals, relative
        to their responses and weighted, have a root mean square below this. 0 factorises, however
        large X is. "auto" is 0.03, or 1e-6 if α is 0, which is least squares.
    random_state
        Seed of the block solver.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`; "blend" makes one graph of labels and neighbours.

    Attributes
    ----------
    components_
        n_components_ x n_terms.
    eigenvalues_
        λ of each dimension, largest first.
    alpha_
        The strength used; with dimensions of both kinds, that of the neighbours.
    label_alpha_, label_strength_
        Strength and weight of the labels; None without dimensions of both kinds.
    regression_residual_
        Residual of the regression, measured as `regression_tolerance` is; 0 if factorised.
    scales_, n_graph_components_, n_isolated_, seconds_
        See `GraphTransformer`; stages are "graph", "eigenvectors" and "regression".

    Notes
    -----
    A graph of k connected parts has the eigenvalue 1 k times; all of these vectors except the
    constant one are kept. An isolated document has the response 0.

    References
    ----------
    D. Cai, X. He, W. V. Zhang, J. Han: Regularized locality preserving indexing via spectral
    regression, CIKM 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.rlpi import RLPI
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> RLPI(n_components=1, n_neighbors=1).fit_transform(X).round(1)
    array([[ 0.7],
           [ 0.6],
           [-0.7],
           [-0.6]])
    """

    about = CATALOGUE["rlpi"]

    n_components: int | str = DIMENSIONS
    _: KW_ONLY
    alpha: float | str = 1.0
    label_strength: float | str = "auto"
    solver: str = "auto"
    tolerance: float = 0.05
    regression_tolerance: float | str = "auto"
    random_state: Any = 0
    alpha_: float = field(init=False)
    label_alpha_: float | None = field(init=False)
    label_strength_: float | None = field(init=False)
    regression_residual_: float = field(init=False)

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        rng = generator(self.random_state)
        self.label_alpha_ = self.label_strength_ = None
        if affinity is None and self.graph == "auto":
            shares = some_labels(y, X.shape[0])
            if shares is not None:
                self._fit_both(X, shares, rng)
                return
        responses = self._responses(X, y, affinity, rng)
        coefficients = self._regress(X, responses, rng)
        self._store(coefficients.T, responses.values, responses.requested)

    def _fit_both(self, X: Matrix, shares: csr_array, rng: np.random.Generator) -> None:
        """Learn dimensions from the labels of some documents, and from the neighbours of all."""
        neighbours = self._responses(X, None, None, rng)
        by_neighbours = self._regress(X, neighbours, rng)
        alpha, residual = self.alpha_, self.regression_residual_
        rows = np.flatnonzero(np.diff(shares.indptr))
        own = shares_responses(shares[rows], X.dtype)
        labels = Responses(own.vectors, own.values, len(own.values), shares=shares[rows])
        # The same as a map of the labelled documents alone, including the choice of its α.
        by_labels = self._regress(X[rows], labels, generator(self.random_state))
        self.alpha_, self.label_alpha_ = alpha, self.alpha_
        self.regression_residual_ = max(residual, self.regression_residual_)
        places = (X[rows] @ by_neighbours) * neighbours.values**self.eigenvalue_power
        known = Labelled(X[rows], shares[rows], np.asarray(places))
        self.label_strength_ = self._strength(known, self.label_alpha_, rng)
        both = Both((by_labels, labels.values), (by_neighbours, neighbours.values))
        most = None if isinstance(self.n_components, str) else neighbours.requested
        coefficients, values = both.side_by_side(self.label_strength_, most)
        self._store(coefficients.T, values, min(most or len(values), len(values)))

    def _strength(self, known: Labelled, alpha: float, rng: np.random.Generator) -> float:
        """Resolve "auto" by the documents that have labels."""
        if not isinstance(self.label_strength, str):
            return float(self.label_strength)
        with self._timed("strength"):
            return choose_label_strength(known, alpha, rng)

    def _regress(self, X: Matrix, responses: Responses, rng: np.random.Generator) -> Floats:
        """Choose α, and return the weights of the terms: terms x responses."""
        weights = np.maximum(responses.values, 0) ** (2 * self.eigenvalue_power)
        with self._timed("regression"):
            if not isinstance(self.alpha, str):
                self.alpha_ = float(self.alpha)
            elif responses.shares is not None:
                self.alpha_ = choose_label_alpha(X, responses.vectors, responses.shares, rng)
            else:
                self.alpha_ = choose_alpha(X, responses.vectors, weights, rng)
            tolerance = self._regression_tolerance()
            solution = ridge(
                X, responses.vectors, self.alpha_, weights=weights, tolerance=tolerance
            )
        self.regression_residual_ = solution.residual
        if solution.residual > max(tolerance, ROUNDING):
            message = NotConverged("The regression", solution.steps, solution.residual, tolerance)
            warnings.warn(message, stacklevel=4)
        return solution.coefficients

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_not_negative("alpha", self.alpha, auto=True)
        check_not_negative("regression_tolerance", self.regression_tolerance, auto=True)
        if self.label_strength != np.inf:
            check_not_negative("label_strength", self.label_strength, auto=True)

    def _regression_tolerance(self) -> float:
        """Resolve "auto" by the α used."""
        if not isinstance(self.regression_tolerance, str):
            return float(self.regression_tolerance)
        return REGRESSION_TOLERANCE if self.alpha_ > 0 else LEAST_SQUARES_TOLERANCE


LABEL_ALPHAS = 10.0 ** np.arange(-1, 2, 0.5)
USUAL_ALPHA = 1.0
# At most so many documents; more do not change the choice (docs/classification.md).
MOST_DOCUMENTS = 8000
HELD_OUT_SHARE = 0.25
# An α is clearly worse than the best if it is by two standard errors of the difference.
CLEAR = 2.0


class HeldOut(NamedTuple):
    """Rows to learn from, and rows to judge: one of each held-out group."""

    seen: NDArray[np.intp]
    judged: NDArray[np.intp]


def choose_label_alpha(
    X: Matrix, Y: Floats, shares: sparse.csr_array, rng: np.random.Generator
) -> float:
    """Choose α between 0.1 and 32 by nearest centroid on held-out groups of near-duplicates.

    Cross-validation by a formula assumes independent documents; in a collection of near-duplicates
    it would choose nearly no penalty. Here whole groups are held out, and each is judged once. Of
    all values that are not clearly worse than the best, the one nearest to 1 is chosen: a few
    documents do not move it far. `shares` is documents x classes, with rows of 0 without labels.
    """
    held_out = _hold_out(X, shares, rng)
    if not len(held_out.seen) or not len(held_out.judged):
        return USUAL_ALPHA
    right = np.array([_judged_right(X, Y, shares, held_out, alpha) for alpha in LABEL_ALPHAS])
    good = LABEL_ALPHAS[is_good(right)]
    return float(good[np.abs(np.log(good / USUAL_ALPHA)).argmin()])


def is_good(right: Floats, clear: float = CLEAR) -> NDArray[np.bool_]:
    """Mark the rows that are not clearly worse than the best: methods x held-out documents."""
    losses = right[right.mean(axis=1).argmax()] - right
    errors = losses.std(axis=1) / np.sqrt(right.shape[1])
    return np.asarray(losses.mean(axis=1) <= clear * errors)


def _hold_out(X: Matrix, shares: sparse.csr_array, rng: np.random.Generator) -> HeldOut:
    """Draw labelled documents, up to the limit, and hold out a quarter, in whole groups."""
    labelled = np.flatnonzero(np.diff(shares.indptr))
    drawn = np.sort(rng.permutation(labelled)[:MOST_DOCUMENTS])
    groups = near_duplicate_groups(sparse.csr_array(unit_rows(X[drawn])))
    ranks = rng.permutation(groups.max(initial=-1) + 1)[groups]
    order = np.argsort(ranks, kind="stable")
    is_held_out = np.isin(ranks, ranks[order[: int(HELD_OUT_SHARE * len(order))]])
    firsts = np.unique(ranks[is_held_out], return_index=True)[1]
    return HeldOut(drawn[~is_held_out], drawn[is_held_out][firsts])


def _judged_right(
    X: Matrix, Y: Floats, shares: sparse.csr_array, held_out: HeldOut, alpha: float
) -> Floats:
    """Return 1 for each judged document whose nearest centre is one of its classes, else 0."""
    seen, judged = held_out
    coefficients = ridge(X[seen], Y[seen], alpha).coefficients
    places = unit_rows(X[seen] @ coefficients)
    return nearest_centre_is_right(places, shares[seen], X[judged] @ coefficients, shares[judged])


def nearest_centre_is_right(
    seen: Floats, seen_shares: sparse.csr_array, judged: Floats, judged_shares: sparse.csr_array
) -> Floats:
    """Return 1 for each judged document whose nearest centre, by cosine, is one of its classes.

    The documents of the centres have unit length.
    """
    centres = unit_rows(np.asarray(seen_shares.T @ seen))
    cosines = judged @ centres.T
    cosines[:, ~centres.any(axis=1)] = -np.inf
    nearest = cosines.argmax(axis=1)
    is_own = judged_shares.toarray()[np.arange(len(judged)), nearest] > 0
    return np.asarray(is_own, np.float64)


STRENGTHS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, np.inf)
FOLDS = 5
_USUAL = STRENGTHS.index(1.0)
# A fold is judged if two classes remain to learn from.
_FEWEST_CLASSES = 2


class Labelled(NamedTuple):
    """The labelled documents: their terms, classes, and places by their neighbours (scaled).

    A row of `shares` (documents x classes) sums to 1.
    """

    X: Matrix
    shares: sparse.csr_array
    places: Floats


def choose_label_strength(known: Labelled, alpha: float, rng: np.random.Generator) -> float:
    """Choose the weight of dimensions from labels relative to those from neighbours.

    Labelled documents are held out and judged by nearest centroid. Of all strengths that are not
    clearly worse than the best, the one nearest to 1 is chosen. Near-duplicates do not matter
    here: both kinds of dimensions chose their α with regard to them.
    """
    right = held_out(known, alpha, rng)
    return strength_of(right) if right.shape[1] else STRENGTHS[_USUAL]


def held_out(known: Labelled, alpha: float, rng: np.random.Generator) -> Floats:
    """Return strengths x labelled documents: 1 for each that is right when held out."""
    drawn = np.sort(rng.permutation(known.X.shape[0])[:MOST_DOCUMENTS])
    some = Labelled(known.X[drawn], known.shares[drawn], known.places[drawn])
    folds = rng.permutation(len(drawn)) % FOLDS
    judged = [_strength_judged_right(some, folds != number, alpha) for number in range(FOLDS)]
    return np.concatenate([fold for fold in judged if fold is not None] or [_NOTHING], axis=1)


def strength_of(right: Floats, clear: float = CLEAR) -> float:
    """Return the strength nearest to 1 that is within `clear` standard errors of the best."""
    good, shares = np.flatnonzero(is_good(right, clear)), right.mean(axis=1)
    away = np.abs(good - _USUAL) + (shares.max() - shares[good]) / 2
    return STRENGTHS[int(good[away.argmin()])]


class Both(NamedTuple):
    """Term weights and eigenvalues of the dimensions from labels, and of those from neighbours."""

    labels: tuple[Floats, Floats]
    neighbours: tuple[Floats, Floats]

    def side_by_side(self, strength: float, most: int | None) -> tuple[Floats, Floats]:
        """Return one map of at most `most` dimensions, those from labels first."""
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
    """Return documents x classes if some but not all documents have one of several labels."""
    if y is None:
        return None
    shares, names = memberships(y, n_documents)
    is_labelled = np.diff(shares.indptr) > 0
    return shares if not is_labelled.all() and len(names) >= _FEWEST_CLASSES else None


def side_by_side(by_labels: Floats, by_neighbours: Floats, strength: float) -> Floats:
    """Join dimensions of both kinds, those from labels first; at 0 or infinity only one kind."""
    if strength == 0:
        return by_neighbours
    if np.isinf(strength):
        return by_labels
    return np.hstack([by_labels.dtype.type(strength) * by_labels, by_neighbours])


_NOTHING = np.empty((len(STRENGTHS), 0))


def _strength_judged_right(known: Labelled, seen: NDArray[np.bool_], alpha: float) -> Floats | None:
    """Return strengths x held-out documents: 1 if the nearest centre is right."""
    shares = known.shares[seen]
    classes = np.flatnonzero(np.bincount(shares.indices, minlength=shares.shape[1]))
    if len(classes) < _FEWEST_CLASSES or seen.all():
        return None
    Y = shares_responses(shares[:, classes], known.X.dtype).vectors
    if not Y.shape[1]:
        return None
    by_labels = np.asarray(known.X @ ridge(known.X[seen], Y, alpha).coefficients)
    right = []
    for strength in STRENGTHS:
        points = unit_rows(side_by_side(by_labels, known.places, strength))
        right.append(
            nearest_centre_is_right(points[seen], shares, points[~seen], known.shares[~seen])
        )
    return np.array(right)
