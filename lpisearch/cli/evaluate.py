"""Evaluate and its words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpisearch.cli import evaluate_options as given
from lpisearch.cli.arguments import USUAL_EDGES, EdgeWeights, Graph, Radius, Settings, read_settings
from lpisearch.cli.commands import VerbCommand, VerbGroup, is_typed
from lpisearch.cli.evaluate_options import (
    classify_options,
    cluster_options,
    retrieval_options,
    similarity_options,
)
from lpisearch.cli.evaluate_output import Output
from lpisearch.cli.output import Json

if TYPE_CHECKING:
    from collections.abc import Callable


def retrieval(
    context: typer.Context,
    queries: given.Queries = None,
    qrels: given.Qrels = None,
    by: given.Ways = "",
    measures: given.Measures = given.USUAL_MEASURES,
    depth: given.Depth = given.USUAL_DEPTH,
    semantic_weight: given.Weight = None,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    graph: Graph = "auto",
    radius: Radius = None,
    edge_weights: EdgeWeights = USUAL_EDGES,
    settings: Settings = None,
    weighting: given.Weighting = "",
    index: given.IndexName = "default",
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    force: given.Force = False,
    json: Json = False,
) -> None:
    """Run queries with relevance judgements; report trec_eval measures per ranking mode."""
    output = Output(json, csv, markdown, report, force)
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        graph=graph,
        radius=radius,
        edge_weights=edge_weights,
        settings=read_settings(settings),
        weighting=weighting,
        index=index,
        seed=seed,
    )
    wanted = retrieval_options(queries, qrels, by, measures, depth, semantic_weight)
    output.run(context.obj.library, "retrieval", options=options, wanted=wanted)


def similarity(
    context: typer.Context,
    words: given.Words = "",
    subset_size: given.SubsetSize = given.USUAL_SIZE,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    graph: Graph = "auto",
    radius: Radius = None,
    edge_weights: EdgeWeights = USUAL_EDGES,
    settings: Settings = None,
    weighting: given.Weighting = "",
    scale: given.Scale = given.USUAL_SCALE,
    largest: given.Largest = None,
    matrix: given.Matrix = None,
    index: given.IndexName = "default",
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    force: given.Force = False,
    json: Json = False,
) -> None:
    """Rank all document pairs by cosine; report average precision for pairs on one topic."""
    output = Output(json, csv, markdown, report, force)
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        graph=graph,
        radius=radius,
        edge_weights=edge_weights,
        settings=read_settings(settings),
        weighting=weighting,
        scale=scale,
        largest=largest,
        matrix=matrix,
        index=index,
        seed=seed,
    )
    wanted = similarity_options(words, subset_size)
    output.run(context.obj.library, "similarity", "similarity", options=options, wanted=wanted)


def classify(
    context: typer.Context,
    split: given.SplitBy = "auto",
    train: given.Train = "",
    repeats: given.Repeats = 10,
    classifiers: given.Classifiers = given.USUAL_CLASSIFIERS,
    single: given.Single = False,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    graph: Graph = "auto",
    radius: Radius = None,
    edge_weights: EdgeWeights = USUAL_EDGES,
    settings: Settings = None,
    weighting: given.Weighting = "",
    largest: given.Largest = None,
    matrix: given.Matrix = None,
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    force: given.Force = False,
    json: Json = False,
) -> None:
    """Train on some documents and measure label prediction on the others."""
    output = Output(json, csv, markdown, report, force)
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        graph=graph,
        radius=radius,
        edge_weights=edge_weights,
        settings=read_settings(settings),
        weighting=weighting,
        largest=largest,
        matrix=matrix,
        seed=seed,
    )
    wanted = classify_options(split, train, repeats, classifiers, single=single)
    output.run(context.obj.library, "classify", options=options, wanted=wanted)


def cluster(
    context: typer.Context,
    classes: given.Classes = "all",
    draws: given.Draws = 50,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    graph: Graph = "auto",
    radius: Radius = None,
    edge_weights: EdgeWeights = USUAL_EDGES,
    settings: Settings = None,
    weighting: given.Weighting = "",
    largest: given.Largest = None,
    matrix: given.Matrix = None,
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    force: given.Force = False,
    json: Json = False,
) -> None:
    """Cluster the documents with k-means and compare with their labels."""
    output = Output(json, csv, markdown, report, force)
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        graph=graph,
        radius=radius,
        edge_weights=edge_weights,
        settings=read_settings(settings),
        weighting=weighting,
        largest=largest,
        matrix=matrix,
        seed=seed,
    )
    wanted = cluster_options(classes, draws)
    output.run(context.obj.library, "cluster", options=options, wanted=wanted)


def spectrum(
    context: typer.Context,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    graph: Graph = "auto",
    radius: Radius = None,
    edge_weights: EdgeWeights = USUAL_EDGES,
    settings: Settings = None,
    weighting: given.Weighting = "",
    matrix: given.Matrix = None,
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    force: given.Force = False,
    json: Json = False,
) -> None:
    """Compare the eigenvalues of methods, with bounds on what the best m terms can achieve.

    No labels needed. Each value is f of one dimension: 0 if neighbours coincide.
    """
    output = Output(json, csv, markdown, report, force)
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        graph=graph,
        radius=radius,
        edge_weights=edge_weights,
        settings=read_settings(settings),
        weighting=weighting,
        matrix=matrix,
        seed=seed,
    )
    output.run(context.obj.library, "spectrum", options=options, wanted=None)


_USUAL_OVER, _USUAL_VALUES = "dims", "5,10,20,50,100"


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
    values: Annotated[
        str | None, typer.Option("--values", metavar="5,10,…", help="Values to try.")
    ] = None,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    graph: Graph = "auto",
    radius: Radius = None,
    edge_weights: EdgeWeights = USUAL_EDGES,
    settings: Settings = None,
    weighting: given.Weighting = "",
    scale: given.Scale = given.USUAL_SCALE,
    largest: given.Largest = None,
    matrix: given.Matrix = None,
    words: given.Words = "",
    subset_size: given.SubsetSize = given.USUAL_SIZE,
    split: given.SplitBy = "auto",
    train: given.Train = "",
    repeats: given.Repeats = 10,
    classifiers: given.Classifiers = given.USUAL_CLASSIFIERS,
    single: given.Single = False,
    classes: given.Classes = "all",
    draws: given.Draws = 50,
    queries: given.Queries = None,
    qrels: given.Qrels = None,
    by: given.Ways = "",
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    force: given.Force = False,
    json: Json = False,
) -> None:
    """Repeat an evaluation for several values of one parameter."""
    output = Output(json, csv, markdown, report, force)
    fixed, varied = _varied(over, values, read_settings(settings))
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        graph=graph,
        radius=radius,
        edge_weights=edge_weights,
        settings=fixed,
        weighting=weighting,
        scale=scale,
        largest=largest,
        matrix=matrix,
        seed=seed,
    )
    kinds: dict[str, Callable[[], Any]] = {
        "similarity": lambda: similarity_options(words, subset_size),
        "classify": lambda: classify_options(split, train, repeats, classifiers, single=single),
        "cluster": lambda: cluster_options(classes, draws),
        "retrieval": lambda: retrieval_options(queries, qrels, by),
    }
    output.run(
        context.obj.library,
        measure,
        options=options,
        wanted=kinds[measure]() if measure in kinds else None,
        over=varied,
    )


def _varied(
    over: str, values: str | None, settings: dict[str, str]
) -> tuple[dict[str, str], tuple[str, tuple[float | str, ...]]]:
    """Part the settings that stay from what is varied: the one with several values, or --over."""
    from lpisearch.errors import BadOption

    several = [name for name, text in settings.items() if "," in text or ".." in text]
    fixed = {name: text for name, text in settings.items() if name not in several}
    if not several:
        return fixed, (
            over or _USUAL_OVER,
            given.values("values", _USUAL_VALUES if values is None else values),
        )
    if len(several) > 1:
        raise BadOption("settings", f"cannot vary {' and '.join(several)} at the same time")
    if over or values is not None:
        field = "over" if over else "values"
        raise BadOption(field, f"--set already varies {several[0]}")
    return fixed, (several[0], given.values("settings", settings[several[0]], words=True))


app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    help="Measure search and classification quality.",
    invoke_without_command=True,
)


@app.callback()
def evaluate(
    context: typer.Context,
    queries: given.Queries = None,
    qrels: given.Qrels = None,
    methods: given.Methods = "",
    largest: given.Largest = None,
    matrix: given.Matrix = None,
    index: given.IndexName = "default",
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    force: given.Force = False,
    json: Json = False,
) -> None:
    """Run every evaluation the labels allow, compared with plain terms and LSI."""
    if context.invoked_subcommand is not None:
        _nothing_before_the_word(context)
        return
    output = Output(json, csv, markdown, report, force)
    options = given.evaluate_options(
        methods=methods, largest=largest, matrix=matrix, index=index, seed=seed
    )
    asked = retrieval_options(queries, qrels) if queries or qrels else None
    output.run(
        context.obj.library,
        "all",
        *("overview", "retrieval"),
        options=options,
        wanted=asked,
    )


def _nothing_before_the_word(context: typer.Context) -> None:
    """Refuse options that the word would never hear of."""
    from lpisearch.errors import BadOption

    given_here = [name for name in context.params if is_typed(context, name)]
    if given_here:
        word = context.invoked_subcommand
        raise BadOption(tuple(given_here), f"put options after “{word}”")


app.command(
    "similarity",
    cls=VerbCommand,
    short_help="Check that documents on one topic are close together.",
)(similarity)
app.command(
    "classify", cls=VerbCommand, short_help="Measure label prediction on unseen documents."
)(classify)
app.command(
    "cluster", cls=VerbCommand, short_help="Cluster with k-means and compare with the labels."
)(cluster)
app.command(
    "retrieval", cls=VerbCommand, short_help="Measure ranking on queries with known answers."
)(retrieval)
app.command(
    "spectrum", cls=VerbCommand, short_help="Compare eigenvalues, with bounds for sparse methods."
)(spectrum)
app.command(
    "sweep", cls=VerbCommand, short_help="Repeat a measurement over values of a parameter."
)(sweep)
