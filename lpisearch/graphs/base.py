"""The contract and registry of document graphs, and their options (no SciPy)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lpisearch.graphs.affinity import Affinity, Matrix


@dataclass(frozen=True, slots=True)
class Graph:
    """An entry of the registry.

    `build` returns an `Affinity` W that is symmetric and non-negative, and never documents x
    documents in memory. The same documents give the same W, sparse or dense, in any order; only
    the choice among equal cosines at a limit is not specified. A document without a neighbour has
    degree 0, or an edge to itself alone.

    Attributes
    ----------
    name, summary
        For options and help.
    home
        "module:function" below `lpisearch.graphs`; it takes X, labels and options.
    needs_labels
        Whether it is built from labels.
    has_ball
        Whether neighbours are all documents within `radius`, not a number of them.
    is_complete
        Whether every document is a neighbour of every other.
    """

    name: str
    summary: str
    home: str
    needs_labels: bool = False
    has_ball: bool = False
    is_complete: bool = False

    def build(
        self, X: Matrix, labels: Sequence[Any] | None = None, options: GraphOptions | None = None
    ) -> Affinity:
        """Build the graph of documents (rows of X).

        Raises
        ------
        ValueError
            If it needs labels and there is not one for each document.
        """
        from lpisearch.numeric.rows import sum_duplicate_terms

        module, function = self.home.split(":")
        builder: Callable[..., Affinity]
        builder = getattr(import_module(f"lpisearch.graphs.{module}"), function)
        return builder(sum_duplicate_terms(X), labels, options or GraphOptions())


EDGE_WEIGHTS = ("cosine", "binary", "heat", "self-tuning", "fuzzy")
METRICS = ("cosine", "euclidean")
NEIGHBOURS = 15
RADIUS = 1.2
HEAT_SCALE = 1.0
EXACT_DOCUMENTS = 20_000


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """How neighbours are found and weighted.

    Attributes
    ----------
    n_neighbors
        p: the number of nearest documents. There is an edge if either is among the nearest of
        the other.
    radius
        ε of the ball graph: largest Euclidean distance between unit rows, from 0 to √2.
    edge_weights
        "cosine"; "binary", all edges 1; "heat", exp(-distance² / heat_scale); "self-tuning",
        exp(-distance² / σσ') with the distances σ of the last neighbour of each end; or "fuzzy",
        the probabilities of UMAP.
    heat_scale
        t of the heat kernel.
    exact_documents
        With more documents, the nearest by cosine are found approximately, in linear time.
    metric
        Of nearest neighbours, and of distances in weights: "cosine" for rows at unit length, or
        "euclidean" for rows as they are given.
    mutual
        Whether both ends must be neighbours of each other, not either.
    search
        A transformer that finds the nearest, such as `KNeighborsTransformer`; None for our own.
    """

    n_neighbors: int = NEIGHBOURS
    radius: float = RADIUS
    edge_weights: str = EDGE_WEIGHTS[0]
    heat_scale: float = HEAT_SCALE
    exact_documents: int = EXACT_DOCUMENTS
    metric: str = METRICS[0]
    mutual: bool = False
    search: Any = None

    def __post_init__(self) -> None:
        if self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1, not {self.n_neighbors}.")
        if not 0 < self.radius <= math.sqrt(2):
            raise ValueError(f"radius must be above 0 and at most √2, not {self.radius}.")
        for name, choices in (("edge_weights", EDGE_WEIGHTS), ("metric", METRICS)):
            if getattr(self, name) not in choices:
                known, given = ", ".join(choices), getattr(self, name)
                raise ValueError(f"{name} must be one of {known}, not {given!r}.")
        if not self.heat_scale > 0:
            raise ValueError(f"heat_scale must be above 0, not {self.heat_scale}.")

    @property
    def min_cosine(self) -> float:
        """The cosine of unit rows at the distance `radius`; never below 0."""
        return max(1 - self.radius**2 / 2, 0.0)


_GRAPHS = (
    Graph("nearest", "nearest neighbours by cosine", "neighbours:nearest"),
    Graph("pruned", "approximate nearest neighbours, in linear time", "neighbours:pruned"),
    Graph("ball", "all documents within a distance", "neighbours:ball", has_ball=True),
    Graph("complete", "every pair, by inner product", "affinity:complete", is_complete=True),
    Graph("label", "documents with the same label", "supervision:same_label", needs_labels=True),
    Graph(
        "blend", "by label where known, otherwise nearest", "supervision:blend", needs_labels=True
    ),
)

GRAPHS: Mapping[str, Graph] = {graph.name: graph for graph in _GRAPHS}
