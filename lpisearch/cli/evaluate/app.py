"""`lpisearch evaluate [similarity|classify|cluster|retrieval|sweep]`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpisearch.cli.evaluate import options as given
from lpisearch.cli.evaluate.output import Output
from lpisearch.cli.render import Json

if TYPE_CHECKING:
    from lpisearch.settings import (
        CategoriesOptions,
        ClusterOptions,
        EvaluateOptions,
        RetrievalOptions,
        SimilarityOptions,
    )
    from lpisearch.workflows.evaluating.sources import Source

app = typer.Typer(
    help="Measure an index on labelled documents and judged queries.",
    invoke_without_command=True,
    rich_markup_mode=None,
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
    json: Json = False,
) -> None:
    """Measure all that the labels allow, beside plain terms and LSI; a word asks for one."""
    if context.invoked_subcommand is not None:
        return
    from lpisearch.workflows.evaluating.overview import evaluate_all

    output = Output(json, csv, markdown, report)
    library: Path = context.obj.library
    options = given.evaluate_options(
        methods=methods, largest=largest, matrix=matrix, index=index, seed=seed
    )
    asked = _retrieval(queries, qrels) if queries or qrels else None
    with output.cells(_signature("all", library, options, asked)) as cells:
        found = evaluate_all(library, options, asked, cells)
    output.show(found, "overview", "retrieval")


@app.command("similarity")
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
    from lpisearch.workflows.evaluating.similarity import evaluate_similarity

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
    wanted = _similarity(words, subset_size)
    source = _source(context, options)
    with output.cells(_signature("similarity", source, options, wanted)) as cells:
        found = evaluate_similarity(source, options, wanted, cells)
    output.show(found, "similarity")


@app.command("classify")
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
    from lpisearch.workflows.evaluating.classify import evaluate_classify

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
    wanted = _classify(split, train, repeats, classifiers)
    source = _source(context, options)
    with output.cells(_signature("classify", source, options, wanted)) as cells:
        found = evaluate_classify(source, options, wanted, cells)
    output.show(found)


@app.command("cluster")
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
    from lpisearch.workflows.evaluating.cluster import evaluate_cluster

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
    wanted = _cluster(classes, draws)
    source = _source(context, options)
    with output.cells(_signature("cluster", source, options, wanted)) as cells:
        found = evaluate_cluster(source, options, wanted, cells)
    output.show(found)


@app.command("retrieval")
def retrieval(
    context: typer.Context,
    queries: given.Queries = None,
    qrels: given.Qrels = None,
    by: given.Ways = "",
    measures: given.Measures = given.USUAL_MEASURES,
    depth: given.Depth = 10_000,
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
    weighting: given.Weighting = "",
    index: given.IndexName = "default",
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    json: Json = False,
) -> None:
    """Answer judged queries: the measures of trec_eval for each way to rank."""
    from lpisearch.workflows.evaluating.retrieval import evaluate_retrieval

    output = Output(json, csv, markdown, report)
    options = given.evaluate_options(
        methods=methods,
        dims=dims,
        alpha=alpha,
        neighbours=neighbours,
        weighting=weighting,
        index=index,
        seed=seed,
    )
    wanted = _retrieval(queries, qrels, by, measures, depth)
    library: Path = context.obj.library
    with output.cells(_signature("retrieval", library, options, wanted)) as cells:
        found = evaluate_retrieval(library, options, wanted, cells)
    output.show(found)


@app.command("sweep")
def sweep(
    context: typer.Context,
    measure: Annotated[
        str, typer.Argument(metavar="MEASURE", help="similarity, classify, cluster or retrieval.")
    ],
    over: Annotated[
        str, typer.Option("--over", metavar="NAME", help="dims, neighbours, alpha or train.")
    ] = "dims",
    values: Annotated[
        str, typer.Option("--values", metavar="5,10,…", help="What it takes in turn.")
    ] = "5,10,20,50,100",
    methods: given.Methods = "",
    dims: given.Dims = "auto",
    alpha: given.Alpha = "auto",
    neighbours: given.Neighbours = given.USUAL_NEIGHBOURS,
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
    classes: given.Classes = "all",
    draws: given.Draws = 50,
    queries: given.Queries = None,
    qrels: given.Qrels = None,
    by: given.Ways = "",
    seed: given.Seed = 0,
    csv: given.Csv = False,
    markdown: given.Markdown = False,
    report: given.ReportFolder = None,
    json: Json = False,
) -> None:
    """Measure at several numbers of dimensions, neighbours, strengths or training shares."""
    from lpisearch.settings import SweepOptions
    from lpisearch.workflows.evaluating.sweep import Parts, evaluate_sweep

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
        seed=seed,
    )
    wanted = SweepOptions(measure, over, given.values("--values", values))
    parts = Parts(
        _similarity(words, subset_size),
        _classify(split, train, repeats, classifiers),
        _cluster(classes, draws),
        _retrieval(queries, qrels, by) if queries or qrels else None,
    )
    library: Path = context.obj.library
    with output.cells(_signature("sweep", library, options, wanted, parts)) as cells:
        found = evaluate_sweep(library, options, wanted, parts, cells)
    output.show(found)


def _source(context: typer.Context, options: EvaluateOptions) -> Source:
    from lpisearch.workflows.evaluating.sources import Source

    return Source.open(context.obj.library, options)


def _similarity(words: str, subset_size: str) -> SimilarityOptions:
    from lpisearch.settings import SimilarityOptions

    least, most = given.bounds("--subset-size", subset_size)
    if words.isdecimal() and int(words) > 0:
        return SimilarityOptions((), int(words), least, most)
    return SimilarityOptions(tuple(given.names(words)), None, least, most)


def _classify(split: str, train: str, repeats: int, classifiers: str) -> CategoriesOptions:
    from lpisearch.settings import CategoriesOptions

    shares = given.shares("--train", train)
    return CategoriesOptions(split, shares, repeats, tuple(given.names(classifiers)))


def _cluster(classes: str, draws: int) -> ClusterOptions:
    from lpisearch.settings import ClusterOptions

    return ClusterOptions(given.numbers("--classes", classes, everything="all"), draws)


def _retrieval(
    queries: Path | None,
    qrels: Path | None,
    by: str = "",
    measures: str = given.USUAL_MEASURES,
    depth: int = 10_000,
) -> RetrievalOptions:
    from lpisearch.errors import BadOption
    from lpisearch.settings import RetrievalOptions

    if queries is None:
        raise BadOption("--queries", "retrieval takes a file of queries: --queries FILE")
    if qrels is None:
        raise BadOption("--qrels", "retrieval takes a file of judgements: --qrels FILE")
    return RetrievalOptions(
        queries, qrels, tuple(given.names(by)), tuple(given.names(measures)), depth
    )


def _signature(kind: str, source: Path | Source, *options: Any) -> dict[str, Any]:
    """Return what tells one run from another, so that only the same one is gone on with."""
    from lpisearch.workflows.subspace import library_versions

    return {
        "kind": kind,
        "source": source if isinstance(source, Path) else source.collection.fingerprint,
        "options": [None if each is None else asdict(each) for each in options],
        "versions": library_versions(),
    }
