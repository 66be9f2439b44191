"""Graph interface, and the edge weights common to all builders.

A graph is built from documents (rows of X) and perhaps their labels: an `Affinity` W that is
symmetric, has no negative entry, and is never n x n in memory. The same documents give the same W,
sparse or dense, in whatever order they come; only which of several equal cosines is kept at a
limit is not specified. A document that nothing joins to another has degree 0, or an edge to
itself alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lpisearch.graphs.options import GraphOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lpisearch.graphs.affinity import Affinity, Matrix


@dataclass(frozen=True, slots=True)
class Graph:
    """One entry of the registry: what a graph joins, what it needs, and where it is built.

    Attributes
    ----------
    name, summary
        As options and help have them.
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
        """Build the graph of these documents.

        Raises
        ------
        ValueError
            If it needs labels and there is not one for each document.
        """
        from lpisearch.compute.rows import each_term_once

        module, function = self.home.split(":")
        builder: Callable[..., Affinity]
        builder = getattr(import_module(f"lpisearch.graphs.{module}"), function)
        return builder(each_term_once(X), labels, options or GraphOptions())
