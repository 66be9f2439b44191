"""Registry of graphs by option name; SciPy is imported only when one is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.graphs.base import Graph

if TYPE_CHECKING:
    from collections.abc import Mapping

_GRAPHS = (
    Graph("nearest", "nearest neighbours by cosine", "neighbours:nearest"),
    Graph("pruned", "approximate nearest neighbours, in linear time", "pruning:pruned"),
    Graph("ball", "all documents within a distance", "neighbours:ball", has_ball=True),
    Graph("complete", "every pair, by inner product", "inner_products:complete", is_complete=True),
    Graph("label", "documents with the same label", "labels:same_label", needs_labels=True),
    Graph("blend", "by label where known, otherwise nearest", "labels:blend", needs_labels=True),
)

GRAPHS: Mapping[str, Graph] = {graph.name: graph for graph in _GRAPHS}
