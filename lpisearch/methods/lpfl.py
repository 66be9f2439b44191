"""LPFL, alternating directions, pursuit.

Documents are rows of X and responses are columns of Y. With a residue E the problem is

    min ½|E|²   such that   X A + E = Y   and   |A|₂,₀ ≤ m,

at most m rows of A (terms) being other than zero (lpfl-2012, equation 10; the paper writes
documents as columns). Algorithm 2 there: with the multiplier Λ and the penalty μ of the augmented
Lagrangian,

    E ← (Λ + μ(Y - X A)) / (1 + μ)
    A ← the m longest rows of A - τB,   B = Xᵀ(X A + E - Y - Λ/μ)
    Λ ← Λ + μ(Y - X A - E),   μ ← ρμ.

The step of A never raises the Lagrangian: it minimises a bound of it that holds if the change Δ
of A has |X Δ|² ≤ |Δ|² / τ. τ is the inverse of the largest squared singular value of X, and is
halved should an estimate of that have been too small.

With ρ > 1 the steps of A become shorter as μ grows beyond 1, and it comes to rest: after some 25
full steps for the paper's μ = 0.0001 and ρ = 1.5. That keeps directions in which documents hardly
differ from being fitted, as stopping early does. With ρ = 1 it goes on to a stationary point.

Documents are rows of X and responses are columns of Y. From a first choice of m terms, each round
adds those that the residual points to most, solves least squares on all of them, and keeps the m
that contribute most; when that no longer helps, fewer are added. So the residual never rises
(subspace pursuit for many responses: W. Dai, O. Milenkovic, 2009). The first choice is the one
given or that of matching pursuit, whichever leaves less. Terms are compared as if their columns
were of one length: rare ones would hardly be tried, and would be dropped for their long rows.
"""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from lpisearch.graphs.base import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.methods.base import NotConverged, check_count, check_not_negative, generator
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.methods.linalg import product, transposed
from lpisearch.methods.locality import given_count, sufficient_count
from lpisearch.methods.regression import largest_curvature, overshoots, ridge, row_norms, squared
from lpisearch.methods.responses import ResponseProjection
from lpisearch.numeric.rows import row_lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats, Matrix
    from lpisearch.methods.catalogue import Method


SELECTIONS = ("auto", "alternating", "exchange")


class LPFL(ResponseProjection):
    """Locality preserving feature learning: select and combine terms at once.

    With documents as rows of X (the paper writes them as columns) and the leading eigenvectors of
    W y = λ D y, without the constant one, as the columns of Y:

        min ½|E|²   such that   X A + E = Y   and   |A|₂,₀ ≤ m,

    solved by linearised alternating directions (algorithm 2): see
    `lpisearch.methods.lpfl`. Exactly the m terms with the longest rows of A - τB are
    kept in each step. Labels for all documents take the place of the graph, as in `RLPI`.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.methods.responses.choose_dimensions`. The c of
        the paper counts the constant eigenvector, too.
    n_selected
        How many terms may be used, m, or "auto": as many as there are documents with a neighbour,
        where the bounds of theorem 3 meet
        (`lpisearch.methods.locality.sufficient_count`).
    mu, rho
        The first penalty, and what it is multiplied by after each step.
    selection
        "alternating" is algorithm 2 of the paper. "exchange" goes on from there,
        or from matching pursuit where that leaves less: it exchanges terms until the residual
        falls no more, and regresses on them without a penalty. "auto" exchanges where m is less
        than half the number of documents; with more, least squares would give the responses back
        to the last digit, and what algorithm 2 leaves keeps it from that.
    graph, n_neighbors, radius, edge_weights, heat_scale
        See `RLPI`. The paper's experiments use 5 neighbours.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power.
    tol
        The iteration ends when |X A + E - Y| is at most this share of |Y|, and the last change of
        A this share of |A|.
    max_iter
        Steps after which it ends anyway, with the warning `NotConverged`.
    random_state
        Seed of the eigenproblem's start and of the estimate of the step size.

    Attributes
    ----------
    components_
        n_components_ x n_terms; no more than m of its columns are not zero.
    selected_
        The columns of the terms that are used.
    n_selected_
        The m used.
    n_iter_
        Steps done.
    history_
        After each step: "objective", ½|E|², which rises as in the paper's figure 1 while μ grows
        and E comes to be what A leaves; "residual", |X A + E - Y| / |Y|; "change", that of A.
    eigenvalues_
        λ of each dimension, largest first.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour.
    seconds_
        Time of the stages: "graph", "eigenvectors", "regression".

    Notes
    -----
    The problem is not convex: what is found is a good choice of terms, not surely the best. The
    theorems 4 and 5 of the paper do not change that, nor that with a growing μ the steps of A
    become shorter until it rests.

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

    about: ClassVar[Method] = CATALOGUE["lpfl"]

    def __init__(
        self,
        n_components: int | str = DIMENSIONS,
        *,
        n_selected: int | str = "auto",
        mu: float = 1e-4,
        rho: float = 1.5,
        selection: str = "auto",
        graph: str = "auto",
        n_neighbors: int = NEIGHBOURS,
        radius: float = RADIUS,
        edge_weights: str = EDGE_WEIGHTS[0],
        heat_scale: float = HEAT_SCALE,
        eigenvalue_power: float = EIGENVALUE_POWER,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.n_selected = n_selected
        self.mu = mu
        self.rho = rho
        self.selection = selection
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.edge_weights = edge_weights
        self.heat_scale = heat_scale
        self.eigenvalue_power = eigenvalue_power
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn the map from documents (rows of X), their labels, or a ready graph."""
        self._check_parameters()
        X = self._documents(X)
        rng = generator(self.random_state)
        responses = self._responses(X, y, affinity, rng)
        if isinstance(self.n_selected, str):
            self.n_selected_ = sufficient_count(X.shape[0] - self.n_isolated_, X.shape[1])
        else:
            self.n_selected_ = given_count(self.n_selected, X.shape[1])
        began = perf_counter()
        found = alternating_directions(
            X,
            responses.vectors,
            self.n_selected_,
            rng=rng,
            mu=float(self.mu),
            rho=float(self.rho),
            tolerance=self.tol,
            max_steps=self.max_iter,
        )
        self._record(found)
        coefficients = found.coefficients
        if self.selection == "exchange" or (
            self.selection == "auto" and 2 * self.n_selected_ < X.shape[0] - self.n_isolated_
        ):
            chosen = np.flatnonzero(coefficients.any(axis=1))
            coefficients = exchange_terms(X, responses.vectors, chosen).coefficients
        self.seconds_["regression"] = perf_counter() - began
        self.selected_ = np.flatnonzero(coefficients.any(axis=1))
        self._keep(coefficients.T, responses.values, responses.asked)
        return self

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components, auto=True)
        check_count("n_selected", self.n_selected, auto=True)
        check_count("max_iter", self.max_iter)
        for name in ("mu", "rho", "tol", "eigenvalue_power"):
            check_not_negative(name, getattr(self, name))
        if self.selection not in SELECTIONS:
            known = ", ".join(SELECTIONS)
            raise ValueError(f"selection must be one of {known}, not {self.selection!r}.")
        if self.mu == 0:
            raise ValueError("mu must be above 0.")
        if self.rho < 1:
            raise ValueError(f"rho must be at least 1, not {self.rho}.")

    def _record(self, found: Alternation) -> None:
        """Store how the iteration went; warn if it ended at its limit."""
        self.history_ = {
            "objective": np.array(found.objective),
            "residual": np.array(found.residual),
            "change": np.array(found.change),
        }
        self.n_iter_ = len(found.residual)
        residual = max(found.residual[-1], found.change[-1])
        if residual > self.tol:
            message = NotConverged("LPFL", self.n_iter_, residual, self.tol)
            warnings.warn(message, stacklevel=3)


# A penalty at which nothing moves any more, and that single precision can hold.
MOST_PENALTY = 1e12


class Alternation(NamedTuple):
    """The map A, terms x responses, and how it was found.

    After each step: `objective` is ½|E|², `residual` |X A + E - Y| as a share of |Y|, and
    `change` that of A as a share of |A|.
    """

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
    """Go on until residual and change are at the tolerance, or until `max_steps` are done."""
    Xt = transposed(X)
    curvature = largest_curvature(X, Xt, rng)
    A = np.zeros((X.shape[1], Y.shape[1]), X.dtype)
    multiplier = np.zeros_like(Y)
    misfit = Y  # Y - X A
    whole = max(np.sqrt(squared(Y)), np.finfo(float).tiny)
    found = Alternation(A, [], [], [])
    for _ in range(max_steps):
        penalty = X.dtype.type(mu)
        E = (multiplier + penalty * misfit) / (1 + penalty)
        gradient = product(Xt, E - misfit - multiplier / penalty)
        while True:
            following = longest_rows(A - gradient / X.dtype.type(curvature), count)
            left = Y - product(X, following)
            if not overshoots(left - misfit, following - A, curvature, whole**2):
                break
            curvature *= 2
        moved, size = squared(following - A), squared(following)
        A, misfit = following, left
        gap = misfit - E
        multiplier = multiplier + penalty * gap
        mu = min(mu * rho, MOST_PENALTY)
        found.objective.append(squared(E) / 2)
        found.residual.append(np.sqrt(squared(gap)) / whole)
        found.change.append(np.sqrt(moved / max(size, np.finfo(float).tiny)))
        if max(found.residual[-1], found.change[-1]) <= tolerance:
            break
    return found._replace(coefficients=A)


def longest_rows(block: Floats, count: int) -> Floats:
    """Keep the longest rows of a block, the first of equal ones; others become 0 (theorem 2)."""
    if count >= len(block):
        return block
    kept = np.argsort(-row_norms(block), kind="stable")[:count]
    out = np.zeros_like(block)
    out[kept] = block[kept]
    return out


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
