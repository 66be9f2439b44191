"""`lpisearch evaluate [similarity|classify|cluster|retrieval|sweep]`."""

from __future__ import annotations

import typer

from lpisearch.cli.commands import VerbCommand, VerbGroup
from lpisearch.cli.evaluate import judged, labelled, spectrum, sweep
from lpisearch.cli.evaluate import options as given
from lpisearch.cli.evaluate.output import Output
from lpisearch.cli.evaluate.wanted import retrieval_options
from lpisearch.cli.invocation import is_typed
from lpisearch.cli.render import Json

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
)(labelled.similarity)
app.command(
    "classify", cls=VerbCommand, short_help="Measure label prediction on unseen documents."
)(labelled.classify)
app.command(
    "cluster", cls=VerbCommand, short_help="Cluster with k-means and compare with the labels."
)(labelled.cluster)
app.command(
    "retrieval", cls=VerbCommand, short_help="Measure ranking on queries with known answers."
)(judged.retrieval)
app.command(
    "spectrum", cls=VerbCommand, short_help="Compare eigenvalues, with bounds for sparse methods."
)(spectrum.spectrum)
app.command(
    "sweep", cls=VerbCommand, short_help="Repeat a measurement over values of a parameter."
)(sweep.sweep)
