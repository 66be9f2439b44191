"""Regression targets (responses) of each document.

The responses Y are documents x dimensions: leading eigenvectors of the document graph without the
constant one, or, where all documents have a label, class indicators made orthogonal. A typical
entry is 1, and isolated documents have 0. Methods differ only in how they find a map X A ≈ Y.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.graphs import memberships
from lpisearch.projections.base import GraphProjection, GraphTransformer
from lpisearch.projections.choices import (
    GRAPH_COST,
    LABEL_COST,
    MOST_DIMENSIONS,
    choose_dimensions,
)
from lpisearch.projections.eigen import GraphVectors, graph_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from lpisearch.graphs.affinity import Affinity, Floats, Matrix


class Responses(NamedTuple):
    """Documents x dimensions, the eigenvalue of each, and how many dimensions were asked for.

    There are fewer than were asked for where the graph has no more with λ > 0. Those from labels
    have the `shares` of each class in each document. `freedom_cost` is what a degree of freedom
    costs where α is chosen by generalised cross-validation.
    """

    vectors: Floats
    values: Floats
    asked: int
    freedom_cost: float = GRAPH_COST
    shares: csr_array | None = None


class ResponseTransformer(GraphTransformer):
    """What begins `fit` with `_responses`, whether the map that follows is linear or not.

    Subclasses have the parameters of `GraphTransformer` and `n_components`, which may be "auto".
    `solver` and `tolerance` of the eigenproblem are attributes that a subclass may make
    parameters.
    """

    n_components: int | str
    solver: str = "auto"
    tolerance: float = 0.05

    def _responses(
        self, X: Matrix, y: Sequence[Any] | None, affinity: Any, rng: np.random.Generator
    ) -> Responses:
        """Find the responses by label or by graph; store what the graph is like, and the times."""
        began = perf_counter()
        if affinity is None and self._graph_name(y, X.shape[0]) == "label":
            found = label_responses(y, X.shape[0], X.dtype)
            count = wanted_dimensions(self.n_components, found.values, self.eigenvalue_power)
            self.n_graph_components_ = found.vectors.shape[1] + 1
            self.n_isolated_ = int(np.count_nonzero(~found.vectors.any(axis=1)))
            self.seconds_ = {"graph": 0.0, "eigenvectors": perf_counter() - began}
            # One dimension fewer than classes is all there is, not fewer than asked for.
            some = _first(found, min(count, len(found.values)))
            shares = memberships(y, X.shape[0])[0]
            return some._replace(freedom_cost=LABEL_COST, shares=shares)
        W = self._affinity(X, y, affinity)
        self.seconds_ = {"graph": perf_counter() - began}
        began = perf_counter()
        responses = graph_responses(
            W,
            X,
            self.n_components,
            rng=rng,
            solver=self.solver,
            power=self.eigenvalue_power,
            tolerance=self.tolerance,
        )
        self.seconds_["eigenvectors"] = perf_counter() - began
        return responses


class ResponseProjection(ResponseTransformer, GraphProjection):
    """A linear map: a regression of the responses on the terms."""


def graph_responses(
    W: Affinity,
    X: Matrix,
    n_components: int | str,
    *,
    rng: np.random.Generator,
    solver: str = "auto",
    power: float = 2.0,
    tolerance: float = 0.05,
) -> Responses:
    """Take the leading eigenvectors of a graph over the documents: see `eigen.graph_vectors`."""
    found = graph_vectors(
        W,
        MOST_DIMENSIONS if isinstance(n_components, str) else int(n_components),
        rng=rng,
        start=X,
        solver=solver,
        power=power,
        tolerance=tolerance,
        dtype=X.dtype,
    )
    return _first(found, wanted_dimensions(n_components, found.values, power))


def label_responses(y: Sequence[Any] | None, n_documents: int, dtype: Any) -> GraphVectors:
    """Make class indicators orthogonal to the constant vector and to each other.

    This is the Gram-Schmidt process of rlpi-2007, section 3.3, starting with the vector of ones,
    which is then dropped; so is an indicator that depends on those before it, as the last one
    does where everybody has one label. Every eigenvalue is 1. A typical entry is 1, and 0 for
    documents without a label, which take no part.
    """
    shares, names = memberships(y, n_documents)
    found = shares_responses(shares, dtype)
    if found.vectors.shape[1] == 0:
        raise ValueError(f"All documents have the same label ({names[0]!r}): {len(names)} class.")
    return found


def shares_responses(shares: csr_array, dtype: Any) -> GraphVectors:
    """Do the same for a matrix of documents x classes: none, where all are of one class."""
    known = np.flatnonzero(np.diff(shares.indptr))
    indicators = np.column_stack([np.ones(len(known)), shares[known].toarray()])
    basis, triangle = np.linalg.qr(indicators)
    pivots = np.abs(np.diagonal(triangle))
    independent = pivots > np.sqrt(np.finfo(float).eps * len(known))
    independent[0] = False
    vectors = np.zeros((shares.shape[0], np.count_nonzero(independent)))
    vectors[known] = basis[:, : len(pivots)][:, independent] * np.sqrt(len(known))
    return GraphVectors(vectors.astype(dtype), np.ones(vectors.shape[1], dtype=dtype), 0)


def wanted_dimensions(n_components: int | str, eigenvalues: Floats, power: float) -> int:
    """How many dimensions were asked for, given the spectrum if the choice is ours."""
    if isinstance(n_components, str):
        return choose_dimensions(eigenvalues, power)
    return int(n_components)


def _first(found: GraphVectors, count: int) -> Responses:
    return Responses(found.vectors[:, :count], found.values[:count], count)
