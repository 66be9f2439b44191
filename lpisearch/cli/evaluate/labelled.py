"""`lpisearch evaluate similarity`, `classify` and `cluster`: what labels can tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer  # noqa: TC002 (Typer reads the annotations)

from lpisearch.cli.evaluate import options as given
from lpisearch.cli.evaluate.output import Output
from lpisearch.cli.evaluate.wanted import (
    classify_options,
    cluster_options,
    signature,
    similarity_options,
)
from lpisearch.cli.render import Json

if TYPE_CHECKING:
    from lpisearch.evaluation.experiments.cells import Cells
    from lpisearch.records import Report


def similarity(
    context: typer.Context,
    words: given.Words = "",
    subset_size: given.SubsetSize = given.USUAL_SIZE,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    weighting: given.Weighting = "",
    scale: given.Scale = given.USUAL_SCALE,
    largest: given.Largest = None,
    matrix: given.Matrix = None,
    index: given.IndexName = "default",
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    json: Json = False,
) -> None:
    """Rank all pairs of documents by cosine: average precision of pairs of one topic."""
    from lpisearch.evaluation.experiments.similarity import evaluate_similarity
    from lpisearch.evaluation.experiments.sources import Source

    output = Output(json, csv, markdown, report)
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        weighting=weighting,
        scale=scale,
        largest=largest,
        matrix=matrix,
        index=index,
        seed=seed,
    )
    wanted = similarity_options(words, subset_size)
    library: Path = context.obj.library

    def measure(cells: Cells) -> Report:
        return evaluate_similarity(Source.open(library, options), options, wanted, cells)

    output.run(signature("similarity", library, options, wanted), measure, "similarity")


def classify(
    context: typer.Context,
    split: given.SplitBy = "auto",
    train: given.Train = "",
    repeats: given.Repeats = 10,
    classifiers: given.Classifiers = given.USUAL_CLASSIFIERS,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    weighting: given.Weighting = "",
    largest: given.Largest = None,
    matrix: given.Matrix = None,
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    json: Json = False,
) -> None:
    """Learn labels from some documents and judge others, never seen."""
    from lpisearch.evaluation.experiments.classify import evaluate_classify
    from lpisearch.evaluation.experiments.sources import Source

    output = Output(json, csv, markdown, report)
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        weighting=weighting,
        largest=largest,
        matrix=matrix,
        seed=seed,
    )
    wanted = classify_options(split, train, repeats, classifiers)
    library: Path = context.obj.library

    def measure(cells: Cells) -> Report:
        return evaluate_classify(Source.open(library, options), options, wanted, cells)

    output.run(signature("classify", library, options, wanted), measure)


def cluster(
    context: typer.Context,
    classes: given.Classes = "all",
    draws: given.Draws = 50,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    weighting: given.Weighting = "",
    largest: given.Largest = None,
    matrix: given.Matrix = None,
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    json: Json = False,
) -> None:
    """Find the classes again without their labels, by k-means."""
    from lpisearch.evaluation.experiments.cluster import evaluate_cluster
    from lpisearch.evaluation.experiments.sources import Source

    output = Output(json, csv, markdown, report)
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        weighting=weighting,
        largest=largest,
        matrix=matrix,
        seed=seed,
    )
    wanted = cluster_options(classes, draws)
    library: Path = context.obj.library

    def measure(cells: Cells) -> Report:
        return evaluate_cluster(Source.open(library, options), options, wanted, cells)

    output.run(signature("cluster", library, options, wanted), measure)
