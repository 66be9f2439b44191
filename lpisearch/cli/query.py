"""`lpisearch query` and `lpisearch similar`: search documents."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli import completion
from lpisearch.cli.answers import recall, remember
from lpisearch.cli.exclusions import ExclusionsAsText
from lpisearch.cli.filters import (
    Labels,
    PathGlob,
    Predicted,
    Since,
    Split,
    Until,
    Where,
)
from lpisearch.cli.hits import HitFormat, print_answer, print_batch
from lpisearch.cli.invocation import is_typed
from lpisearch.cli.open import open_and_say
from lpisearch.cli.ranking import (
    RANKING,
    By,
    Collapse,
    Count,
    Explain,
    MinScore,
    Name,
    Offset,
    Sort,
    Weight,
    search_options,
)
from lpisearch.cli.render import OUTPUT, Json, note

if TYPE_CHECKING:
    from lpisearch.library import Library

_HITS = 10
_RUN_DEPTH = 1000
_BY_SCORE = "relevance"

Opened = Annotated[
    int | None,
    typer.Option(
        "--open",
        metavar="N",
        min=1,
        help="Open result N, like `lpisearch open N`.",
        rich_help_panel=OUTPUT,
    ),
]
FailIfNone = Annotated[
    bool,
    typer.Option(
        "--fail-if-none", help="Exit with status 1 if there are no results.", rich_help_panel=OUTPUT
    ),
]
Csv = Annotated[
    bool,
    typer.Option(
        "--csv",
        help="Print CSV (safe to open in a spreadsheet).",
        rich_help_panel=OUTPUT,
    ),
]
Trec = Annotated[
    bool, typer.Option("--trec", help="Print a run in TREC format.", rich_help_panel=OUTPUT)
]


def query(
    context: typer.Context,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help='The query: "a phrase" must occur, -word must not, begin* matches a prefix, '
            "title:word searches titles, a OR b matches either.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", metavar="N", min=0, help="Number of results (default: 10, or 1000 with --trec)."
        ),
    ] = None,
    by: By = "hybrid",
    sort: Sort = _BY_SCORE,
    label: Labels = None,
    predicted: Predicted = None,
    path: PathGlob = "",
    split: Split = "",
    since: Since = "",
    until: Until = "",
    where: Where = None,
    min_score: MinScore = None,
    semantic_weight: Weight = None,
    collapse: Collapse = False,
    offset: Offset = 0,
    explain: Explain = False,
    like: Annotated[
        list[str] | None,
        typer.Option(
            "--like",
            metavar="ID",
            help="More like this document (repeatable).",
            rich_help_panel=RANKING,
            autocompletion=completion.documents,
        ),
    ] = None,
    unlike: Annotated[
        list[str] | None,
        typer.Option(
            "--unlike",
            metavar="ID",
            help="Less like this document (repeatable).",
            rich_help_panel=RANKING,
            autocompletion=completion.documents,
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            help="Run a batch of queries (JSON Lines or TSV); quotes and minus signs are "
            "taken literally.",
        ),
    ] = None,
    trec: Trec = False,
    index: Name = "default",
    csv: Csv = False,
    json: Json = False,
    fail_if_none: FailIfNone = False,
    opened: Opened = None,
) -> None:
    """Search by meaning and by words. Without TEXT, prompts for queries on a terminal."""
    options = search_options(
        by=by,
        sort=sort,
        k=_depth(context, k, trec=trec),
        offset=offset,
        labels=label,
        predicted=predicted,
        path=path,
        split=split,
        since=since,
        until=until,
        where=where,
        min_score=min_score,
        semantic_weight=semantic_weight,
        collapse=collapse,
        index=index,
        explain=explain,
    )
    output = HitFormat.of(json=json, csv=csv, trec=trec)
    library: Library = context.obj.library
    if trec and sort != _BY_SCORE:
        from lpisearch.errors import BadOption

        raise BadOption("sort", "a TREC run is always sorted by score")
    if queries is not None:
        with closing(library.batch(queries, options=options, on_note=note)) as runs:
            some = print_batch(runs, output)
    elif text or like or unlike:
        words = " ".join(text or ())
        answer = library.search(words, like=like or (), unlike=unlike or (), options=options)
        remember(library.path, answer)
        some = print_answer(answer, output, words)
        if opened is not None:
            open_and_say(context, recall(opened, library.path), aside=True)
    elif sys.stdin.isatty():
        from lpisearch.cli.prompt import ask_and_answer

        some = ask_and_answer(context, library, options)
    else:
        raise typer.BadParameter("give a query", param_hint="TEXT")
    if fail_if_none and not some:
        raise typer.Exit(1)


def _depth(context: typer.Context, k: int | None, *, trec: bool) -> int:
    """Return how many hits are wanted; a run is deep, however few hits a person wants to read."""
    if trec and not is_typed(context, "k"):
        return _RUN_DEPTH
    return _HITS if k is None else k


def similar(
    context: typer.Context,
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT",
            help="Document id, path, or any other file.",
            autocompletion=completion.documents,
        ),
    ],
    k: Count = 10,
    by: By = "hybrid",
    sort: Sort = _BY_SCORE,
    label: Labels = None,
    predicted: Predicted = None,
    path: PathGlob = "",
    split: Split = "",
    since: Since = "",
    until: Until = "",
    where: Where = None,
    min_score: MinScore = None,
    collapse: Collapse = False,
    offset: Offset = 0,
    index: Name = "default",
    csv: Csv = False,
    json: Json = False,
    fail_if_none: FailIfNone = False,
) -> None:
    """Find documents similar to one in the library, or to any other file."""
    options = search_options(
        by=by,
        sort=sort,
        k=k,
        offset=offset,
        labels=label,
        predicted=predicted,
        path=path,
        split=split,
        since=since,
        until=until,
        where=where,
        min_score=min_score,
        collapse=collapse,
        index=index,
    )
    answer = context.obj.library.similar(document, options=options)
    remember(context.obj.library.path, answer)
    if not print_answer(answer, HitFormat.of(json=json, csv=csv)) and fail_if_none:
        raise typer.Exit(1)


query_app = typer.Typer(add_completion=False)
query_app.command("query", cls=ExclusionsAsText)(query)
