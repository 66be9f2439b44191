"""`lpisearch evaluate spectrum`: compare eigenvalues, with bounds for sparse methods."""

from __future__ import annotations

import typer  # noqa: TC002 (Typer reads the annotations)

from lpisearch.cli.evaluate import options as given
from lpisearch.cli.evaluate.output import Output
from lpisearch.cli.methods import USUAL_EDGES, EdgeWeights, Graph, Radius, Settings, read_settings
from lpisearch.cli.render import Json


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
