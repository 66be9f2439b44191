"""Regularised locality preserving indexing: eigenvectors of a document graph, then regression."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lpisearch.graphs import memberships
from lpisearch.projections.base import (
    GraphProjection,
    check_count,
    check_not_negative,
    generator,
)
from lpisearch.projections.choices import MOST_DIMENSIONS, choose_alpha, choose_dimensions
from lpisearch.projections.eigen import GraphVectors, graph_vectors
from lpisearch.projections.least_squares import ridge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Floats, Matrix


class RLPI(GraphProjection):
    """Regularised locality preserving indexing by spectral regression.

    1. A graph W joins each document to its nearest (or to those of its class).
    2. The leading eigenvectors y of W y = λ D y, without the constant one, place every document
       near its neighbours.
    3. Ridge regression finds for each y the weights a of the terms: it minimises
       |X a - y|² + α |a|² with documents as rows of X (the paper has them as columns).

    With labels for all documents there is no graph and no eigenproblem: the responses y are
    class indicators made orthogonal to the constant vector and to each other (Gram-Schmidt), at
    most one fewer than there are classes. With labels for some, both are blended into one graph.

    Parameters
    ----------
    n_components
        Dimensions, or "auto": see `lpisearch.projections.choices.choose_dimensions`. Fully
        labelled documents have one dimension fewer than classes, whatever is asked beyond that.
    alpha
        Strength of the ridge penalty, or "auto": generalised cross-validation.
    graph
        "auto" (by label where there are labels, by nearness elsewhere), or a name from `GRAPHS`;
        graphs by nearness take no notice of labels.
    n_neighbors, radius, edge_weights, heat_scale
        See `lpisearch.graphs.GraphOptions`.
    eigenvalue_power
        `embed` scales each dimension by its eigenvalue to this power. `components_` does not
        contain the scale.
    solver
        Of the eigenproblem: "auto", "block", "arpack" or "dense".
    tolerance
        The block solver stops when another round would move the scaled subspace by less than
        this share.
    random_state
        Seed of the block's start.

    Attributes
    ----------
    components_
        n_components_ x n_terms.
    eigenvalues_
        λ of each dimension, largest first.
    scales_
        eigenvalues_ ** eigenvalue_power.
    alpha_
        The strength used.
    n_graph_components_, n_isolated_
        Connected parts of the graph, and documents without a neighbour.
    seconds_
        Time of the stages: "graph", "eigenvectors", "regression".

    Notes
    -----
    In k connected parts the eigenvalue 1 comes k times; all but the constant vector are kept.
    An isolated document has the response 0.

    References
    ----------
    D. Cai, X. He, W. V. Zhang, J. Han: Regularized locality preserving indexing via spectral
    regression, CIKM 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from lpisearch.projections.rlpi import RLPI
    >>> X = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 0.2, 1], [0, 0.1, 0.9]])
    >>> RLPI(n_components=1, n_neighbors=1).fit_transform(X).round(1)
    array([[ 0.7],
           [ 0.6],
           [-0.7],
           [-0.6]])
    """

    chooses: ClassVar[frozenset[str]] = frozenset({"n_components", "alpha"})

    def __init__(
        self,
        n_components: int | str = 150,
        *,
        alpha: float | str = 1.0,
        graph: str = "auto",
        n_neighbors: int = 15,
        radius: float = 1.2,
        edge_weights: str = "cosine",
        heat_scale: float = 1.0,
        eigenvalue_power: float = 2.0,
        solver: str = "auto",
        tolerance: float = 0.05,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.edge_weights = edge_weights
        self.heat_scale = heat_scale
        self.eigenvalue_power = eigenvalue_power
        self.solver = solver
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Sequence[Any] | None = None, *, affinity: Any = None) -> Self:
        """Learn the map.

        Parameters
        ----------
        X
            Documents as rows, best at unit length; sparse or dense.
        y
            A label for each document; None, -1, "" or NaN is unlabelled; a list holds several.
        affinity
            A ready graph, in place of one built from X and y.
        """
        check_count("n_components", self.n_components, auto=True)
        check_not_negative("alpha", self.alpha, auto=True)
        check_not_negative("eigenvalue_power", self.eigenvalue_power)
        check_not_negative("tolerance", self.tolerance)
        X = self._documents(X)
        rng = generator(self.random_state)
        responses, asked = self._responses(X, y, affinity, rng)
        began = perf_counter()
        weights = np.maximum(responses.values, 0) ** (2 * self.eigenvalue_power)
        if isinstance(self.alpha, str):
            self.alpha_ = choose_alpha(X, responses.vectors, weights, rng)
        else:
            self.alpha_ = float(self.alpha)
        solved = ridge(X, responses.vectors, self.alpha_, weights=weights)
        self.seconds_["regression"] = perf_counter() - began
        self._keep(solved.coefficients.T, responses.values, asked)
        return self

    def _responses(
        self, X: Matrix, y: Sequence[Any] | None, affinity: Any, rng: np.random.Generator
    ) -> tuple[GraphVectors, int]:
        """Find what each document should be mapped to, and how many dimensions were asked for."""
        began = perf_counter()
        if affinity is None and self._graph_name(y, X.shape[0]) == "same_label":
            found = label_responses(y, X.shape[0], X.dtype)
            count = self._wanted(found.values)
            self.n_graph_components_ = found.vectors.shape[1] + 1
            self.n_isolated_ = int(np.count_nonzero(~found.vectors.any(axis=1)))
            self.seconds_ = {"graph": 0.0, "eigenvectors": perf_counter() - began}
            asked = min(count, len(found.values))
            return _first(found, asked), asked
        W = self._affinity(X, y, affinity)
        self.seconds_ = {"graph": perf_counter() - began}
        began = perf_counter()
        automatic = isinstance(self.n_components, str)
        found = graph_vectors(
            W,
            MOST_DIMENSIONS if automatic else int(self.n_components),
            rng=rng,
            start=X,
            solver=self.solver,
            power=self.eigenvalue_power,
            tolerance=self.tolerance,
            dtype=X.dtype,
        )
        self.seconds_["eigenvectors"] = perf_counter() - began
        asked = self._wanted(found.values)
        return _first(found, asked), asked

    def _wanted(self, eigenvalues: Floats) -> int:
        """How many dimensions were asked for, given the spectrum if the choice is ours."""
        if isinstance(self.n_components, str):
            return choose_dimensions(eigenvalues, self.eigenvalue_power)
        return int(self.n_components)


def label_responses(y: Sequence[Any] | None, n_documents: int, dtype: Any) -> GraphVectors:
    """Make class indicators orthogonal to the constant vector and to each other.

    This is the Gram-Schmidt process of rlpi-2007, section 3.3, starting with the vector of ones,
    which is then dropped; so is an indicator that depends on those before it, as the last one
    does where everybody has one label. Every eigenvalue is 1. A typical entry is 1, and 0 for
    documents without a label, which take no part.
    """
    shares, names = memberships(y, n_documents)
    known = np.flatnonzero(np.diff(shares.indptr))
    indicators = np.column_stack([np.ones(len(known)), shares[known].toarray()])
    basis, triangle = np.linalg.qr(indicators)
    pivots = np.abs(np.diagonal(triangle))
    independent = pivots > np.sqrt(np.finfo(float).eps * len(known))
    independent[0] = False
    vectors = np.zeros((n_documents, np.count_nonzero(independent)))
    vectors[known] = basis[:, : len(pivots)][:, independent] * np.sqrt(len(known))
    if vectors.shape[1] == 0:
        raise ValueError(f"All documents have the same label ({names[0]!r}): {len(names)} class.")
    return GraphVectors(vectors.astype(dtype), np.ones(vectors.shape[1], dtype=dtype), 0)


def _first(found: GraphVectors, count: int) -> GraphVectors:
    return GraphVectors(found.vectors[:, :count], found.values[:count], found.rounds)
