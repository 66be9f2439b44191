"""Options of methods and their graphs, which `index` and `evaluate` have alike."""

from __future__ import annotations

from typing import Annotated

import typer

from lpisearch.library import graph_names

# Headings of the help.
MAP, GRAPH = "The map", "Who is a neighbour"
USUAL_EDGES = "cosine"

Graph = Annotated[
    str,
    typer.Option(
        "--graph",
        metavar="auto|NAME",
        help=f"Who is a neighbour: {', '.join(graph_names())}.",
        rich_help_panel=GRAPH,
    ),
]
Radius = Annotated[
    float | None,
    typer.Option(
        "--radius",
        metavar="X",
        help="How far apart neighbours are at most, if --graph ball.",
        rich_help_panel=GRAPH,
    ),
]
EdgeWeights = Annotated[
    str,
    typer.Option(
        "--edge-weights",
        metavar="NAME",
        help="How much an edge counts: cosine, binary or heat.",
        rich_help_panel=GRAPH,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="What a method alone has, such as cardinality=50; may be repeated.",
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
            raise BadOption("settings", f"“{text}” is not a NAME=VALUE, such as cardinality=50")
        if name in found:
            raise BadOption("settings", f"{name} is given twice")
        found[name] = value
    return found
