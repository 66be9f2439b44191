"""The options that say how documents are found: what ranks them, and which hits are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli import completion
from lpisearch.cli.filters import filter_of

if TYPE_CHECKING:
    from lpisearch.settings import SearchOptions

RANKING = "Ranking"
"""Their heading."""

By = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="hybrid|semantic|lexical",
        help="What ranks the documents.",
        rich_help_panel=RANKING,
        autocompletion=completion.ways,
    ),
]
Count = Annotated[int, typer.Option("-k", metavar="N", min=0, help="How many hits.")]
Offset = Annotated[
    int, typer.Option("--offset", metavar="N", min=0, help="How many of the best to pass over.")
]
MinScore = Annotated[
    float | None,
    typer.Option(
        "--min-score", metavar="X", help="Leave out hits below it.", rich_help_panel=RANKING
    ),
]
Weight = Annotated[
    float | None,
    typer.Option(
        "--semantic-weight",
        metavar="X",
        help="How much places count beside words in hybrid; the index knows a good value.",
        rich_help_panel=RANKING,
    ),
]
Collapse = Annotated[
    bool, typer.Option("--collapse", help="Show one of several that are nearly the same.")
]
Name = Annotated[
    str,
    typer.Option(
        "--index",
        metavar="NAME",
        help="Which index to use.",
        rich_help_panel=RANKING,
        autocompletion=completion.indexes,
    ),
]
Sort = Annotated[
    str,
    typer.Option(
        "--sort",
        metavar="relevance|date|oldest|title|path",
        autocompletion=completion.sorts,
        help="The order of the best hits; date is newest first.",
        rich_help_panel=RANKING,
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show which words make each hit near.")]


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
    from lpisearch.settings import SearchOptions

    wanted = filter_of(labels, path, split, since, until, where, predicted)
    return SearchOptions(
        by, k, offset, wanted, min_score, collapse, index, explain, semantic_weight, sort
    )
