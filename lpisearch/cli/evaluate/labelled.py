"""`lpisearch evaluate similarity`, `classify` and `cluster`: measures that use labels."""

from __future__ import annotations

import typer  # noqa: TC002 (Typer reads the annotations)

from lpisearch.cli.evaluate import options as given
from lpisearch.cli.evaluate.output import Output
from lpisearch.cli.evaluate.wanted import (
    classify_options,
    cluster_options,
    similarity_options,
)
from lpisearch.cli.methods import USUAL_EDGES, EdgeWeights, Graph, Radius, Settings, read_settings
from lpisearch.cli.render import Json


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
