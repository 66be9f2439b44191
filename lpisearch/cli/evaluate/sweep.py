"""`lpisearch evaluate sweep`: repeat a measurement over values of a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpisearch.cli.evaluate import options as given
from lpisearch.cli.evaluate.output import Output
from lpisearch.cli.evaluate.wanted import (
    classify_options,
    cluster_options,
    retrieval_options,
    similarity_options,
)
from lpisearch.cli.methods import USUAL_EDGES, EdgeWeights, Graph, Radius, Settings, read_settings
from lpisearch.cli.render import Json

if TYPE_CHECKING:
    from collections.abc import Callable

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
