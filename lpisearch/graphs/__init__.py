"""Who is a neighbour of whom: affinity graphs over documents (rows of X)."""

from __future__ import annotations

from lpisearch.graphs.affinity import Affinity, as_affinity
from lpisearch.graphs.base import EDGE_WEIGHTS, GraphOptions
from lpisearch.graphs.complete import complete
from lpisearch.graphs.labels import blend, memberships, same_label
from lpisearch.graphs.neighbours import ball, nearest
from lpisearch.graphs.registry import GRAPHS

__all__ = [
    "EDGE_WEIGHTS",
    "GRAPHS",
    "Affinity",
    "GraphOptions",
    "as_affinity",
    "ball",
    "blend",
    "complete",
    "memberships",
    "nearest",
    "same_label",
]
