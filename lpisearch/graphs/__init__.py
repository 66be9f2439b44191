"""Neighbour graphs: affinities between documents (rows of X).

Names are imported when they are first used: who only asks which graphs there are needs no SciPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpisearch.graphs.affinity import Affinity, as_affinity
    from lpisearch.graphs.base import Graph
    from lpisearch.graphs.exactness import Recall, recall
    from lpisearch.graphs.inner_products import complete
    from lpisearch.graphs.labels import blend, memberships, same_label
    from lpisearch.graphs.neighbours import ball, nearest
    from lpisearch.graphs.options import EDGE_WEIGHTS, GraphOptions
    from lpisearch.graphs.pruning import pruned
    from lpisearch.graphs.registry import GRAPHS

__all__ = [
    "EDGE_WEIGHTS",
    "GRAPHS",
    "Affinity",
    "Graph",
    "GraphOptions",
    "Recall",
    "as_affinity",
    "ball",
    "blend",
    "complete",
    "memberships",
    "nearest",
    "pruned",
    "recall",
    "same_label",
]

_HOMES = {
    "affinity": ("Affinity", "as_affinity"),
    "base": ("Graph",),
    "inner_products": ("complete",),
    "labels": ("blend", "memberships", "same_label"),
    "neighbours": ("ball", "nearest"),
    "options": ("EDGE_WEIGHTS", "GraphOptions"),
    "pruning": ("pruned",),
    "exactness": ("Recall", "recall"),
    "registry": ("GRAPHS",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'lpisearch.graphs' has no attribute {name!r}")
    return getattr(import_module(f"lpisearch.graphs.{_HOME_OF[name]}"), name)
