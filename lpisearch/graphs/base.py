"""What the graph builders share: their options, edge weights, and rows at unit length.

A builder takes documents as rows of X (and labels, if it uses them) and gives an `Affinity`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.graphs.affinity import Affinity, Floats, Matrix

EDGE_WEIGHTS = ("cosine", "binary", "heat")
UNIT_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """How neighbours are found and weighted.

    Attributes
    ----------
    n_neighbors
        p: the nearest documents that each document names. An edge is there if either names
        the other.
    radius
        ε of the ball graph: largest Euclidean distance between unit rows, from 0 to √2.
    edge_weights
        "cosine"; "binary", all edges 1; or "heat", exp(-distance² / heat_scale).
    heat_scale
        t of the heat kernel.
    """

    n_neighbors: int = 15
    radius: float = 1.2
    edge_weights: str = "cosine"
    heat_scale: float = 1.0

    def __post_init__(self) -> None:
        if self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1, not {self.n_neighbors}.")
        if not 0 < self.radius <= np.sqrt(2):
            raise ValueError(f"radius must be above 0 and at most √2, not {self.radius}.")
        if self.edge_weights not in EDGE_WEIGHTS:
            known = ", ".join(EDGE_WEIGHTS)
            raise ValueError(f"edge_weights must be one of {known}, not {self.edge_weights!r}.")
        if not self.heat_scale > 0:
            raise ValueError(f"heat_scale must be above 0, not {self.heat_scale}.")


class GraphBuilder(Protocol):
    """Documents (and perhaps labels) in, an affinity out."""

    def __call__(
        self, X: Matrix, labels: Sequence[Any] | None, options: GraphOptions, /
    ) -> Affinity:
        """Build the graph."""


def unit_rows(X: Matrix) -> Matrix:
    """Scale each row to length one; rows of zeros stay as they are."""
    lengths = row_lengths(X)
    if np.all((np.abs(lengths - 1) < UNIT_TOLERANCE) | (lengths == 0)):
        return X
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if sparse.issparse(X):
        scaled = np.repeat(scale, np.diff(X.indptr)) * X.data
        return sparse.csr_array((scaled, X.indices, X.indptr), shape=X.shape)
    return X * scale[:, np.newaxis]


def row_lengths(X: Matrix) -> Floats:
    """Return the Euclidean length of each row."""
    if sparse.issparse(X):
        squares = sparse.csr_array((X.data**2, X.indices, X.indptr), shape=X.shape)
        return np.asarray(np.sqrt(squares.sum(axis=1))).ravel()
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", X, X)))


def symmetric_edges(cosines: sparse.csr_array, options: GraphOptions) -> sparse.csr_array:
    """Turn directed cosines (without diagonal) into weighted edges: kept if either end names it."""
    W = sparse.csr_array(cosines.maximum(cosines.T))
    W.data = edge_weight(W.data, options)
    return W


def edge_weight(cosine: Floats, options: GraphOptions) -> Floats:
    """Give the weight of an edge from the cosine of its ends."""
    if options.edge_weights == "binary":
        return np.ones_like(cosine)
    if options.edge_weights == "heat":
        return np.exp((2 * np.minimum(cosine, 1) - 2) / cosine.dtype.type(options.heat_scale))
    return np.minimum(cosine, 1)
