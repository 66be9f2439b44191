"""Shared options and their completion.

It is asked at every press of a key: nothing is imported but what is needed, and whatever goes
wrong proposes nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpisearch.library import graph_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.model.documents import Filter
    from lpisearch.options import SearchOptions


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


_MOST = 100


def ways(incomplete: str) -> list[str]:
    """Propose what ranks documents."""
    return _beginning(["hybrid", "semantic", "lexical"], incomplete)


def methods(incomplete: str) -> list[str]:
    """Propose methods."""
    from lpisearch.library import method_names

    return _beginning(method_names(), incomplete)


def sorts(incomplete: str) -> list[str]:
    """Propose orders of hits."""
    from lpisearch.options import SORTS

    return _beginning(list(SORTS), incomplete)


def classifiers(incomplete: str) -> list[str]:
    """Propose classifiers."""
    from lpisearch.library import classifier_names

    return _beginning(classifier_names(), incomplete)


def keys(incomplete: str) -> list[str]:
    """Propose settings."""
    from lpisearch.config import KEYS

    return _beginning(list(KEYS), incomplete)


def labelled(context: typer.Context, incomplete: str) -> list[str]:
    """Propose documents; after a plus or a minus, labels."""
    sign = incomplete[:1]
    if sign in {"+", "-"}:
        return [f"{sign}{name}" for name in labels(context, incomplete[1:])]
    return documents(context, incomplete)


def names_of(kind: str) -> Callable[[typer.Context, str], list[str]]:
    """Return what proposes the labels, indexes or documents of the library that is meant."""

    def propose(context: typer.Context, incomplete: str) -> list[str]:
        try:
            found: list[str] = _invocation(context).library.names(kind, incomplete, _MOST)
        except Exception:  # noqa: BLE001 (a shell that completes shows no errors)
            return []
        return found

    return propose


def _invocation(context: Any) -> Any:
    from lpisearch.cli.commands import Invocation

    return context.obj if isinstance(context.obj, Invocation) else Invocation(None)


def _beginning(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


labels, indexes, documents = map(names_of, ("label", "index", "document"))


DOCUMENTS = "Filters"
"""Their heading."""

Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="LABEL",
        help="Only documents with this label (repeatable).",
        rich_help_panel=DOCUMENTS,
        autocompletion=labels,
    ),
]
Predicted = Annotated[
    list[str] | None,
    typer.Option(
        "--predicted",
        metavar="LABEL",
        help="Only documents with this predicted label; with --label, either may match "
        "(repeatable).",
        rich_help_panel=DOCUMENTS,
    ),
]
PathGlob = Annotated[
    str,
    typer.Option(
        "--path",
        metavar="FOLDER|GLOB",
        help="Only documents under this folder or matching this glob (path or id).",
        rich_help_panel=DOCUMENTS,
    ),
]
Split = Annotated[
    str,
    typer.Option(
        "--split",
        metavar="NAME",
        help="Only documents in this split (train or test set).",
        rich_help_panel=DOCUMENTS,
    ),
]
Since = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="DATE",
        help="Only documents dated on or after DATE, such as 2024-05.",
        rich_help_panel=DOCUMENTS,
    ),
]
Until = Annotated[
    str,
    typer.Option(
        "--until",
        metavar="DATE",
        help="Only documents dated on or before DATE.",
        rich_help_panel=DOCUMENTS,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=VALUE",
        help="Only documents with this metadata (repeatable).",
        rich_help_panel=DOCUMENTS,
    ),
]


def filter_of(
    labels: list[str] | None,
    path: str,
    split: str,
    since: str = "",
    until: str = "",
    where: list[str] | None = None,
    predicted: list[str] | None = None,
) -> Filter:
    """Gather what was said of the documents; a relative path is seen from the current folder too.

    Raises
    ------
    BadOption
        A condition is not KEY=VALUE.
    """
    from lpisearch.model.documents import Filter, read_condition

    metadata = tuple(read_condition(each) for each in where or ())
    here = _current_folder() if path else ""
    either = tuple(labels or ()), tuple(predicted or ())
    return Filter(either[0], path, split, since, until, metadata, here, predicted=either[1])


def _current_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 (a string is what a filter holds)
    except OSError:  # it was removed meanwhile
        return ""


RANKING = "Ranking"
"""Their heading."""

By = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="hybrid|semantic|lexical",
        help="How to rank results.",
        rich_help_panel=RANKING,
        autocompletion=ways,
    ),
]
Count = Annotated[int, typer.Option("-k", metavar="N", min=0, help="Number of results.")]
Offset = Annotated[
    int, typer.Option("--offset", metavar="N", min=0, help="Skip the first N results.")
]
MinScore = Annotated[
    float | None,
    typer.Option(
        "--min-score", metavar="X", help="Hide results that score below X.", rich_help_panel=RANKING
    ),
]
Weight = Annotated[
    float | None,
    typer.Option(
        "--semantic-weight",
        metavar="X",
        help="Weight of meaning against words in hybrid ranking (default: learned by index).",
        rich_help_panel=RANKING,
    ),
]
Collapse = Annotated[
    bool, typer.Option("--collapse", help="Show only one of several near-duplicates.")
]
Name = Annotated[
    str,
    typer.Option(
        "--index",
        metavar="NAME",
        help="Index to use.",
        rich_help_panel=RANKING,
        autocompletion=indexes,
    ),
]
Sort = Annotated[
    str,
    typer.Option(
        "--sort",
        metavar="relevance|date|oldest|title|path",
        autocompletion=sorts,
        help="Sort order of the results (date: newest first).",
        rich_help_panel=RANKING,
    ),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Show which words make each result similar.")
]


def search_options(
    *,
    by: str,
    sort: str,
    k: int,
    offset: int,
    labels: list[str] | None,
    predicted: list[str] | None,
    path: str,
    split: str,
    since: str,
    until: str,
    where: list[str] | None,
    min_score: float | None,
    semantic_weight: float | None = None,
    collapse: bool,
    index: str,
    explain: bool = False,
) -> SearchOptions:
    """Gather the options of a search.

    Raises
    ------
    BadOption
        A condition is not KEY=VALUE.
    """
    from lpisearch.options import SearchOptions

    wanted = filter_of(labels, path, split, since, until, where, predicted)
    return SearchOptions(
        by=by,
        k=k,
        offset=offset,
        where=wanted,
        min_score=min_score,
        collapse=collapse,
        index=index,
        explain=explain,
        semantic_weight=semantic_weight,
        sort=sort,
    )
