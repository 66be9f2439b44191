"""Method and graph options shared by `index` and `evaluate`."""

from __future__ import annotations

from typing import Annotated

import typer

from lpisearch.library import graph_names

# Headings of the help.
MAP, GRAPH = "Model", "Neighbour graph"
USUAL_EDGES = "cosine"

Graph = Annotated[
    str,
    typer.Option(
        "--graph",
        metavar="auto|NAME",
        help=f"How neighbours are chosen: {', '.join(graph_names())}.",
        rich_help_panel=GRAPH,
    ),
]
Radius = Annotated[
    float | None,
    typer.Option(
        "--radius",
        metavar="X",
        help="Maximum distance between neighbours, with --graph ball.",
        rich_help_panel=GRAPH,
    ),
]
EdgeWeights = Annotated[
    str,
    typer.Option(
        "--edge-weights",
        metavar="NAME",
        help="Edge weights: cosine, binary or heat.",
        rich_help_panel=GRAPH,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a method-specific parameter, such as cardinality=50 (repeatable).",
        rich_help_panel=MAP,
    ),
]


def read_settings(given: list[str] | None) -> dict[str, str]:
    """Read NAME=VALUE pairs; what they mean is for the method to say."""
    from lpisearch.errors import BadOption

    found: dict[str, str] = {}
    for text in given or []:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not (name and sign and value):
            raise BadOption("settings", f"“{text}” is not NAME=VALUE, such as cardinality=50")
        if name in found:
            raise BadOption("settings", f"{name} is set twice")
        found[name] = value
    return found
