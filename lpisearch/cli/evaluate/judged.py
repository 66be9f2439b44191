"""`lpisearch evaluate retrieval`: measure ranking with relevance judgements."""

from __future__ import annotations

import typer  # noqa: TC002 (Typer reads the annotations)

from lpisearch.cli.evaluate import options as given
from lpisearch.cli.evaluate.output import Output
from lpisearch.cli.evaluate.wanted import retrieval_options
from lpisearch.cli.methods import USUAL_EDGES, EdgeWeights, Graph, Radius, Settings, read_settings
from lpisearch.cli.render import Json


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
