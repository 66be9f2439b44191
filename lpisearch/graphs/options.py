"""How neighbours are found and weighted: the options of every graph. SciPy is not needed."""

from __future__ import annotations

import math
from dataclasses import dataclass

EDGE_WEIGHTS = ("cosine", "binary", "heat")
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
        p: the nearest documents that each document names. An edge is there if either names
        the other.
    radius
        ε of the ball graph: largest Euclidean distance between unit rows, from 0 to √2.
    edge_weights
        "cosine"; "binary", all edges 1; or "heat", exp(-distance² / heat_scale).
    heat_scale
        t of the heat kernel.
    exact_documents
        The nearest of more documents than these are found in linear time, nearly exactly.
    """

    n_neighbors: int = NEIGHBOURS
    radius: float = RADIUS
    edge_weights: str = EDGE_WEIGHTS[0]
    heat_scale: float = HEAT_SCALE
    exact_documents: int = EXACT_DOCUMENTS

    def __post_init__(self) -> None:
        if self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1, not {self.n_neighbors}.")
        if not 0 < self.radius <= math.sqrt(2):
            raise ValueError(f"radius must be above 0 and at most √2, not {self.radius}.")
        if self.edge_weights not in EDGE_WEIGHTS:
            known = ", ".join(EDGE_WEIGHTS)
            raise ValueError(f"edge_weights must be one of {known}, not {self.edge_weights!r}.")
        if not self.heat_scale > 0:
            raise ValueError(f"heat_scale must be above 0, not {self.heat_scale}.")

    @property
    def least_cosine(self) -> float:
        """The cosine of unit rows at the distance `radius`; never below 0."""
        return max(1 - self.radius**2 / 2, 0.0)
