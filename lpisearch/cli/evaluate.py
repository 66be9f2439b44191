"""Evaluate and its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from lpisearch.cli.commands import VerbCommand, VerbGroup, is_typed
from lpisearch.cli.evaluate_output import Output
from lpisearch.cli.options import accepts, only, values, without
from lpisearch.errors import BadOption
from lpisearch.options import (
    CategoriesOptions,
    ClusterOptions,
    EvaluateOptions,
    RetrievalOptions,
    Setting,
    SimilarityOptions,
)

_OVER, _VALUES = "dims", "5,10,20,50,100"
app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    help="Measure search and classification quality.",
    invoke_without_command=True,
)


@app.callback()
@accepts()
def evaluate(
    context: typer.Context,
    wanted: Annotated[RetrievalOptions, only("queries", "qrels")],
    options: Annotated[EvaluateOptions, only("methods", "largest", "matrix", "index", "seed")],
    output: Output,
) -> None:
    """Run every evaluation the labels allow, compared with plain terms and LSI."""
    if context.invoked_subcommand is not None:
        _nothing_before_the_word(context)
        return
    judged = _judged(wanted) if wanted.queries or wanted.qrels else None
    tables = ("overview", "retrieval")
    output.run(context.obj.library, "all", *tables, options=options, wanted=judged)


def _nothing_before_the_word(context: typer.Context) -> None:
    """Refuse options of the group, which its word would ignore."""
    names = tuple(name for name in context.params if is_typed(context, name))
    if names:
        raise BadOption(names, f"put options after “{context.invoked_subcommand}”")


def _judged(options: RetrievalOptions) -> RetrievalOptions:
    """Refuse an evaluation of rankings without queries or judgements."""
    for name, file in (("queries", "a query file"), ("qrels", "relevance judgements")):
        if getattr(options, name) is None:
            raise BadOption(name, f"retrieval needs {file}: --{name} FILE")
    return options


@app.command(
    "similarity",
    cls=VerbCommand,
    short_help="Check that documents on one topic are close together.",
)
@accepts()
def similarity(
    context: typer.Context, wanted: SimilarityOptions, options: EvaluateOptions, output: Output
) -> None:
    """Rank all document pairs by cosine; report average precision for pairs on one topic."""
    library = context.obj.library
    output.run(library, "similarity", "similarity", options=options, wanted=wanted)


@app.command(
    "classify", cls=VerbCommand, short_help="Measure label prediction on unseen documents."
)
@accepts()
def classify(
    context: typer.Context,
    wanted: CategoriesOptions,
    options: Annotated[EvaluateOptions, without("scale", "index")],
    output: Output,
) -> None:
    """Train on some documents and measure label prediction on the others."""
    output.run(context.obj.library, "classify", options=options, wanted=wanted)


@app.command(
    "cluster", cls=VerbCommand, short_help="Cluster with k-means and compare with the labels."
)
@accepts()
def cluster(
    context: typer.Context,
    wanted: ClusterOptions,
    options: Annotated[EvaluateOptions, without("scale", "index")],
    output: Output,
) -> None:
    """Cluster the documents with k-means and compare with their labels."""
    output.run(context.obj.library, "cluster", options=options, wanted=wanted)


@app.command(
    "retrieval", cls=VerbCommand, short_help="Measure ranking on queries with known answers."
)
@accepts()
def retrieval(
    context: typer.Context,
    wanted: RetrievalOptions,
    options: Annotated[EvaluateOptions, without("scale", "largest", "matrix")],
    output: Output,
) -> None:
    """Run queries with relevance judgements; report trec_eval measures per ranking mode."""
    output.run(context.obj.library, "retrieval", options=options, wanted=_judged(wanted))


@app.command(
    "spectrum", cls=VerbCommand, short_help="Compare eigenvalues, with bounds for sparse methods."
)
@accepts()
def spectrum(
    context: typer.Context,
    options: Annotated[EvaluateOptions, without("scale", "largest", "index")],
    output: Output,
) -> None:
    """Compare the eigenvalues of methods, with bounds on what the best m terms can achieve.

    No labels needed. Each value is f of one dimension: 0 if neighbours coincide.
    """
    output.run(context.obj.library, "spectrum", options=options, wanted=None)


@app.command(
    "sweep", cls=VerbCommand, short_help="Repeat a measurement over values of a parameter."
)
@accepts("by", "seed")
def sweep(
    context: typer.Context,
    measure: Annotated[
        str,
        typer.Argument(
            metavar="MEASURE", help="What to measure: similarity, classify, cluster or retrieval."
        ),
    ],
    over: Annotated[
        str,
        typer.Option(
            "--over",
            metavar="NAME",
            help="Parameter to vary: dims, neighbours, alpha or train; for others use "
            "--set NAME=5,10,…",
        ),
    ] = "",
    tried: Annotated[
        str | None, typer.Option("--values", metavar="5,10,…", help="Values to try.")
    ] = None,
    *,
    options: Annotated[EvaluateOptions, without("index")],
    similarity: SimilarityOptions,
    classify: CategoriesOptions,
    cluster: ClusterOptions,
    retrieval: Annotated[RetrievalOptions, only("queries", "qrels", "by")],
    output: Output,
) -> None:
    """Repeat an evaluation for several values of one parameter."""
    fixed, varied = _varied(over, tried, options.settings)
    wanted = {"similarity": similarity, "classify": classify, "cluster": cluster}.get(measure)
    output.run(
        context.obj.library,
        measure,
        options=replace(options, settings=fixed),
        wanted=_judged(retrieval) if measure == "retrieval" else wanted,
        over=varied,
    )


def _varied(
    over: str, tried: str | None, settings: Mapping[str, Any]
) -> tuple[dict[str, Setting], tuple[str, tuple[float | str, ...]]]:
    """Separate fixed settings from what varies: the setting with several values, or --over."""
    several = [name for name, text in settings.items() if "," in text or ".." in text]
    fixed = {name: text for name, text in settings.items() if name not in several}
    if not several:
        texts = _VALUES if tried is None else tried
        return fixed, (over or _OVER, values("values", texts))
    if len(several) > 1:
        raise BadOption("settings", f"cannot vary {' and '.join(several)} at the same time")
    if over or tried is not None:
        raise BadOption("over" if over else "values", f"--set already varies {several[0]}")
    return fixed, (several[0], values("settings", settings[several[0]], words=True))
