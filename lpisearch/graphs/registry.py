"""The one list of graphs, by the name that options use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.graphs.complete import complete
from lpisearch.graphs.labels import blend, same_label
from lpisearch.graphs.neighbours import ball, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.graphs.base import GraphBuilder

GRAPHS: Mapping[str, GraphBuilder] = {
    "nearest": nearest,
    "ball": ball,
    "complete": complete,
    "same_label": same_label,
    "blend": blend,
}
