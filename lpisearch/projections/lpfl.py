"""LPFL: graph eigenvectors, then regression on a fixed number of terms."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.graphs.options import EDGE_WEIGHTS, HEAT_SCALE, NEIGHBOURS, RADIUS
from lpisearch.projections.alternating import Alternation, alternating_directions
from lpisearch.projections.base import NotConverged, check_count, check_not_negative, generator
from lpisearch.projections.catalogue import CATALOGUE, DIMENSIONS, EIGENVALUE_POWER
from lpisearch.projections.pursuit import exchange_terms
from lpisearch.projections.responses import ResponseProjection
from lpisearch.projections.selection import given_count, sufficient_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.projections.catalogue import Method


SELECTIONS = ("auto", "alternating", "exchange")


class LPFL(ResponseProjection):
    """Locality preserving feature learning: select and combine terms at once.

    With documents as rows of X (the paper writes them as columns) and the leading eigenvectors of
    W y = λ D y, without the constant one, as the columns of Y:

        min ½|E|²   such that   X A + E = Y   and   |A|₂,₀ ≤ m,

    solved by linearised alternating directions (algorithm 2): see
    `lpisearch.projections.alternating`. Exactly the m terms with the longest rows of A - τB are
    kept in each step. Labels for all documents take the place of the graph, as in `RLPI`.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.projections.choices.choose_dimensions`. The c of
        the paper counts the constant eigenvector, too.
    n_selected
        How many terms may be used, m, or "auto": as many as there are documents with a neighbour,
        where the bounds of theorem 3 meet
        (`lpisearch.projections.selection.sufficient_count`).
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
    >>> from lpisearch.projections.lpfl import LPFL
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
