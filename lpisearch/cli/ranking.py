"""Options for ranking and selecting search results."""

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
        help="How to rank results.",
        rich_help_panel=RANKING,
        autocompletion=completion.ways,
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
        autocompletion=completion.indexes,
    ),
]
Sort = Annotated[
    str,
    typer.Option(
        "--sort",
        metavar="relevance|date|oldest|title|path",
        autocompletion=completion.sorts,
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
    from lpisearch.settings import SearchOptions

    wanted = filter_of(labels, path, split, since, until, where, predicted)
    return SearchOptions(
        by, k, offset, wanted, min_score, collapse, index, explain, semantic_weight, sort
    )
