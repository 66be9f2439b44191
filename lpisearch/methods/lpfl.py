"""Locality preserving feature learning (LPFL): alternating directions, and exchange of terms.

Documents are rows of X and responses are columns of Y. With a residue E the problem is

    min ½|E|²   such that   X A + E = Y   and   |A|₂,₀ ≤ m,

at most m rows of A (terms) being non-zero (lpfl-2012, equation 10; the paper writes documents as
columns). Algorithm 2 there: with the multiplier Λ and the penalty μ of the augmented Lagrangian,

    E ← (Λ + μ(Y - X A)) / (1 + μ)
    A ← the m longest rows of A - τB,   B = Xᵀ(X A + E - Y - Λ/μ)
    Λ ← Λ + μ(Y - X A - E),   μ ← ρμ.

The step of A never raises the Lagrangian: it minimises a bound that holds if the change Δ of A has
|X Δ|² ≤ |Δ|² / τ. τ is the inverse of the largest squared singular value of X, and is halved if an
estimate of that was too small.

With ρ > 1 the steps of A become shorter as μ grows beyond 1, and A stops: after some 25 full steps
for the paper's μ = 0.0001 and ρ = 1.5. Like early stopping, that avoids fitting directions in which
documents hardly differ. With ρ = 1 it converges to a stationary point.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.methods.base import (
    NotConverged,
    TermSelector,
    check_choice,
    check_count,
    check_not_negative,
    generator,
)
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.methods.linalg import product, transposed
from lpisearch.methods.locality import checked_selection, sufficient_count
from lpisearch.methods.regression import max_curvature, overshoots, ridge, squared
from lpisearch.methods.responses import ResponseProjection
from lpisearch.numeric.rows import row_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix


SELECTIONS = ("auto", "alternating", "exchange")


@dataclass(eq=False, repr=False)
class LPFL(TermSelector, ResponseProjection):
    """Locality preserving feature learning: select and combine terms at once.

    With documents as rows of X (the paper writes them as columns) and the leading eigenvectors of
    W y = λ D y, without the constant one, as the columns of Y:

        min ½|E|²   such that   X A + E = Y   and   |A|₂,₀ ≤ m,

    solved by linearised alternating directions (algorithm 2; see `lpisearch.methods.lpfl`), which
    keep the m terms with the longest rows of A - τB in each step. Labels for all documents
    replace the graph, as in `RLPI`.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`. The c of
        the paper includes the constant eigenvector.
    n_selected
        Largest number of terms, m, or "auto": the number of documents with a neighbour, where the
        bounds of theorem 3 meet (`lpisearch.methods.locality.sufficient_count`).
    mu, rho
        The first penalty, and its factor after each step.
    selection
        "alternating" is algorithm 2 of the paper. "exchange" continues from its result, or from
        matching pursuit if that has a smaller residual: it exchanges terms until the residual
        stops falling, and regresses on them without a penalty. "auto" exchanges if m is less than
        half the number of documents; with more terms, least squares would fit the responses
        exactly, which the residual of algorithm 2 prevents.
    tol
        The iteration ends when |X A + E - Y| is at most this share of |Y|, and the last change of
        A at most this share of |A|.
    max_iter
        Limit of steps, at which it ends with the warning `NotConverged`.
    random_state
        Seed of the eigenproblem and of the estimate of the step size.
    graph, n_neighbors, radius, edge_weights, heat_scale, metric, mutual, eigenvalue_power
        See `GraphParameters`. The paper's experiments use 5 neighbours.

    Attributes
    ----------
    components_
        n_components_ x n_terms; at most m of its columns are not zero.
    selected_
        The columns of the selected terms.
    n_selected_
        The m used.
    n_iter_
        Number of steps.
    history_
        After each step: "objective", ½|E|², which rises as in the paper's figure 1 while μ grows
        and E approaches Y - X A; "residual", |X A + E - Y| / |Y|; "change", that of A.
    eigenvalues_
        λ of each dimension, largest first.
    n_graph_components_, n_isolated_, seconds_
        See `GraphTransformer`; stages are "graph", "eigenvectors" and "regression".

    Notes
    -----
    The problem is not convex: the result is a good choice of terms, not necessarily the best.
    Theorems 4 and 5 of the paper do not change that, nor that the steps of A become shorter with
    growing μ until it stops.

    References
    ----------
    Q. Gu, M. Danilevsky, Z. Li, J. Han: Locality preserving feature learning, AISTATS 2012
    (lpfl-2012).

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.methods.lpfl import LPFL
    >>> X = np.array([[1.0, 0, 0.1], [0.9, 0.1, 0.1], [0, 0.9, 0.1], [0.1, 1, 0.2]])
    >>> lpfl = LPFL(n_components=1, n_selected=2, n_neighbors=1).fit(X)
    >>> lpfl.selected_
    array([0, 1])
    >>> lpfl.transform(X).round(1)
    array([[-1.1],
           [-0.9],
           [ 1. ],
           [ 1. ]])
    """

    about = CATALOGUE["lpfl"]

    n_components: int | str = DIMENSIONS
    _: KW_ONLY
    n_selected: int | str = "auto"
    mu: float = 1e-4
    rho: float = 1.5
    selection: str = "auto"
    tol: float = 1e-4
    max_iter: int = 200
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, affinity: Any) -> None:
        rng = generator(self.random_state)
        responses = self._responses(X, y, affinity, rng)
        n_linked = X.shape[0] - self.n_isolated_
        if isinstance(self.n_selected, str):
            self.n_selected_ = sufficient_count(n_linked, X.shape[1])
        else:
            self.n_selected_ = checked_selection(self.n_selected, X.shape[1])
        with self._timed("regression"):
            alternation = alternating_directions(
                X,
                responses.vectors,
                self.n_selected_,
                rng=rng,
                mu=float(self.mu),
                rho=float(self.rho),
                tolerance=self.tol,
                max_steps=self.max_iter,
            )
            self._record(alternation)
            coefficients = alternation.coefficients
            is_few = 2 * self.n_selected_ < n_linked
            if self.selection == "exchange" or (self.selection == "auto" and is_few):
                chosen = np.flatnonzero(coefficients.any(axis=1))
                coefficients = exchange_terms(X, responses.vectors, chosen).coefficients
        self._store(coefficients.T, responses.values, responses.requested)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_selected", self.n_selected, auto=True)
        check_count("max_iter", self.max_iter)
        for name in ("mu", "rho", "tol"):
            check_not_negative(name, getattr(self, name))
        check_choice("selection", self.selection, SELECTIONS)
        if self.mu == 0:
            raise ValueError("mu must be above 0.")
        if self.rho < 1:
            raise ValueError(f"rho must be at least 1, not {self.rho}.")

    def _record(self, alternation: Alternation) -> None:
        """Store the history of the iteration; warn if it ended at its limit."""
        self.history_ = {
            "objective": np.array(alternation.objective),
            "residual": np.array(alternation.residual),
            "change": np.array(alternation.change),
        }
        self.n_iter_ = len(alternation.residual)
        residual = max(alternation.residual[-1], alternation.change[-1])
        if residual > self.tol:
            message = NotConverged("LPFL", self.n_iter_, residual, self.tol)
            warnings.warn(message, stacklevel=4)


# A penalty at which nothing moves any more, within the range of single precision.
MOST_PENALTY = 1e12


class Alternation(NamedTuple):
    """The map A (terms x responses), and ½|E|², the residual and the change after each step."""

    coefficients: Floats
    objective: list[float]
    residual: list[float]
    change: list[float]


def alternating_directions(
    X: Matrix,
    Y: Floats,
    count: int,
    *,
    rng: np.random.Generator,
    mu: float = 1e-4,
    rho: float = 1.5,
    tolerance: float = 1e-4,
    max_steps: int = 200,
) -> Alternation:
    """Iterate until residual and change are within the tolerance, or for `max_steps` steps."""
    Xt = transposed(X)
    curvature = max_curvature(X, Xt, rng)
    A = np.zeros((X.shape[1], Y.shape[1]), X.dtype)
    multiplier = np.zeros_like(Y)
    misfit = Y  # Y - X A
    whole = max(np.sqrt(squared(Y)), np.finfo(float).tiny)
    history = Alternation(A, [], [], [])
    for _ in range(max_steps):
        penalty = X.dtype.type(mu)
        E = (multiplier + penalty * misfit) / (1 + penalty)
        gradient = product(Xt, E - misfit - multiplier / penalty)
        while True:
            following = max_length_rows(A - gradient / X.dtype.type(curvature), count)
            left = Y - product(X, following)
            if not overshoots(left - misfit, following - A, curvature, whole**2):
                break
            curvature *= 2
        moved, size = squared(following - A), squared(following)
        A, misfit = following, left
        gap = misfit - E
        multiplier = multiplier + penalty * gap
        mu = min(mu * rho, MOST_PENALTY)
        history.objective.append(squared(E) / 2)
        history.residual.append(np.sqrt(squared(gap)) / whole)
        history.change.append(np.sqrt(moved / max(size, np.finfo(float).tiny)))
        if max(history.residual[-1], history.change[-1]) <= tolerance:
            break
    return history._replace(coefficients=A)


def max_length_rows(block: Floats, count: int) -> Floats:
    """Set all but the longest rows of a block to 0; of equal ones the first stay (theorem 2)."""
    if count >= len(block):
        return block
    longest = np.argsort(-row_lengths(block), kind="stable")[:count]
    out = np.zeros_like(block)
    out[longest] = block[longest]
    return out


# Share of the terms that the first round adds.
FIRST_SHARE = 0.2
ACCURACY = 1e-4
# Matching pursuit takes at most so many steps, each with several terms if there are more.
MATCHING_STEPS = 50


class Pursuit(NamedTuple):
    """The map A (terms x responses), and |X A - Y| as a share of |Y| after each round."""

    coefficients: Floats
    residuals: list[float]


def exchange_terms(
    X: Matrix, Y: Floats, chosen: NDArray[np.intp], *, max_rounds: int = 50
) -> Pursuit:
    """Improve a choice of m terms until no exchange helps, and regress on it without a penalty.

    Each round adds the terms that the residual points to most, solves least squares on all, and
    keeps the m that contribute most; when that stops helping, fewer are added. So the residual
    never rises (subspace pursuit for many responses: W. Dai, O. Milenkovic, 2009). It starts from
    the given choice or from matching pursuit, whichever has the smaller residual. Terms are
    compared as if their columns had one length: rare ones would hardly be tried otherwise, and
    would be dropped for their long rows.
    """
    Xt, count = transposed(X), len(chosen)
    columns = row_lengths(Xt)
    whole = max(float(np.linalg.norm(Y)), float(np.finfo(float).tiny))
    starts = (chosen, _matched(X, Xt, Y, columns, count))
    terms, A, left = min(
        ((start, *_regressed(X, Y, start)) for start in starts),
        key=lambda candidate: float(np.linalg.norm(candidate[2])),
    )
    residuals = [float(np.linalg.norm(left)) / whole]
    share = FIRST_SHARE
    while share * count >= 1 and len(residuals) <= max_rounds:
        more = _pointed_to(Xt, left, columns, terms, round(share * count))
        wider = np.union1d(terms, more)
        lengths = row_lengths(_regressed(X, Y, wider)[0]) * columns[wider]
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
    """Add terms that the residual points to, some at a time, with a new regression each time."""
    terms: NDArray[np.intp] = np.empty(0, np.intp)
    left = Y
    for size in np.diff(np.linspace(0, count, min(count, MATCHING_STEPS) + 1).astype(int)):
        terms = np.union1d(terms, _pointed_to(Xt, left, columns, terms, int(size)))
        left = _regressed(X, Y, terms)[1]
    return terms


def _pointed_to(
    Xt: Matrix, left: Floats, columns: Floats, terms: NDArray[np.intp], count: int
) -> NDArray[np.intp]:
    """Return the other terms whose columns, at unit length, the residual points to most."""
    products = row_lengths(product(Xt, left))
    lengths = np.divide(products, columns, out=np.zeros_like(products), where=columns > 0)
    lengths[terms] = -1
    return np.argsort(-lengths, kind="stable")[: min(count, len(lengths) - len(terms))]


def _regressed(X: Matrix, Y: Floats, terms: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Regress on some terms; return their rows of A, and the residual."""
    some: Matrix = X[:, terms]
    A = ridge(some, Y, 0.0, tolerance=ACCURACY).coefficients
    return A, Y - product(some, A)
