"""Index and its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from lpisearch.cli import arguments
from lpisearch.cli.arguments import (
    GRAPH,
    MAP,
    USUAL_EDGES,
    EdgeWeights,
    Graph,
    Radius,
    Settings,
    read_settings,
)
from lpisearch.cli.output import Json, note, print_json, print_pairs, semantic_weight, size
from lpisearch.cli.progress import stage_line
from lpisearch.library import method_names, pairs_of
from lpisearch.messages import counted

if TYPE_CHECKING:
    from lpisearch.model.reports import IndexPlan, IndexReport


Number = TypeVar("Number", int, float)

*_OTHERS, _LAST = method_names()
_METHODS = f"Method: {', '.join(_OTHERS)} or {_LAST}."
_LEARN = "Documents"
_WORK = "Parallelism"
_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def index(
    context: typer.Context,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", help=_METHODS, rich_help_panel=MAP, autocompletion=arguments.methods
        ),
    ] = "rlpi",
    dims: Annotated[
        str,
        typer.Option(
            metavar="auto|N",
            help="Number of dimensions; auto chooses it from the data.",
            rich_help_panel=MAP,
        ),
    ] = "auto",
    alpha: Annotated[
        str,
        typer.Option(
            metavar="auto|X",
            help="Ridge regularisation strength, for methods that use it.",
            rich_help_panel=MAP,
        ),
    ] = "auto",
    neighbours: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of nearest neighbours per document.", rich_help_panel=GRAPH
        ),
    ] = 15,
    graph: Graph = "auto",
    radius: Radius = None,
    edge_weights: EdgeWeights = USUAL_EDGES,
    settings: Settings = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Pairs known to belong together (must ID ID) or apart (cannot ID ID).",
            rich_help_panel=GRAPH,
        ),
    ] = None,
    labels: Annotated[
        str,
        typer.Option(
            metavar="use|ignore",
            help="Whether documents with the same label also count as neighbours.",
            rich_help_panel=GRAPH,
        ),
    ] = "ignore",
    weighting: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Term weighting: tf, tfidf, log-tfidf or bm25.",
            rich_help_panel=MAP,
        ),
    ] = "log-tfidf",
    train: Annotated[
        str,
        typer.Option(
            metavar="auto|all|none|SPLIT",
            help="Documents to train `classify` on; auto uses the split “train” if there is one.",
            rich_help_panel=_LEARN,
        ),
    ] = "auto",
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Index only documents with this label, path, split, since, until or metadata.",
            rich_help_panel=_LEARN,
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the index; a library can have several.")
    ] = "default",
    learn_predicted: Annotated[
        bool,
        typer.Option(
            "--learn-predicted",
            help="Also train on predicted labels, for documents that have no others.",
            rich_help_panel=_LEARN,
        ),
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.")] = 0,
    wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="How long to wait while another process writes."
        ),
    ] = 30.0,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory limit, such as 4G; uses temporary files or a sample to stay within it.",
        ),
    ] = None,
    index_store: Annotated[
        str,
        typer.Option(
            metavar="DIR|db",
            help="Where a PostgreSQL library keeps its indexes: in the database (db) or a "
            "shared folder.",
        ),
    ] = "",
    export_pgvector: Annotated[
        bool,
        typer.Option(
            "--export-pgvector", help="Also write the vectors to a database table (pgvector)."
        ),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Use N worker processes on this machine.",
            rich_help_panel=_WORK,
        ),
    ] = 0,
    cluster: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Use a Dask cluster, given its scheduler address (tcp://HOST:8786).",
            rich_help_panel=_WORK,
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Build the index for search by meaning. The old one stays in use until this one is ready."""
    from lpisearch.model.documents import read_conditions
    from lpisearch.options import IndexOptions

    options = IndexOptions(
        name=name,
        method=method,
        dims=_number("dims", dims, int),
        alpha=_number("alpha", alpha, float),
        neighbours=neighbours,
        graph=graph,
        radius=radius,
        edge_weights=edge_weights,
        settings=read_settings(settings),
        pairs=pairs_of(pairs) if pairs is not None else (),
        labels=labels,
        weighting=weighting,
        train=train,
        where=read_conditions(where or []),
        seed=seed,
        learn_predicted=learn_predicted,
        wait_seconds=wait,
        memory=None if memory is None else _bytes(memory),
        index_store=index_store,
        export_pgvector=export_pgvector,
        cluster=cluster,
        workers=workers,
    )
    library = context.obj.library
    plan = library.plan(options)
    if not json:
        render_plan(plan)
    with stage_line(plan.stages) as line:
        report = library.index(options=options, on_stage=line.stage, on_step=line.step)
    render_report(report, json=json)


def _number(option: str, text: str, kind: type[Number]) -> Number | None:
    """Read a number, or None for "auto"."""
    from lpisearch.errors import BadOption

    if text == "auto":
        return None
    try:
        return kind(text)
    except ValueError:
        raise BadOption(option, f"must be auto or a number, not “{text}”") from None


def _bytes(text: str) -> int:
    """Read a size such as 4G, 500M or 1.5g."""
    from lpisearch.errors import BadOption

    number, unit = text[:-1], text[-1:].upper()
    try:
        size = float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        size = -1.0
    if not 0 < size < float("inf"):
        raise BadOption("memory", f"“{text}” is not a size such as 500M or 4G")
    return int(size)


def render_plan(plan: IndexPlan) -> None:
    """Say what an index will take."""
    note(
        f"{plan.documents:,} documents, about {plan.words:,} words, {plan.terms:,} terms; "
        f"estimated {plan.memory_mb:,.0f} MB of memory, {plan.seconds:,.0f} s{_how(plan)}"
    )


def _how(plan: IndexPlan) -> str:
    """Say that a build is kept in files: what is killed is not lost."""
    return "; if interrupted, the build can be resumed" if plan.in_files else ""


def render_report(report: IndexReport, *, json: bool) -> None:
    """Print what was built."""
    if json:
        print_json(report)
        return
    pairs: list[tuple[str, object]] = [
        ("index", report.name),
        ("method", report.method),
        ("dimensions", report.dims),
        ("α", "none" if report.alpha is None else f"{report.alpha:.4g}"),
        ("documents", report.documents),
        *([("passages", report.passages)] if report.passages else []),
        ("terms", report.terms),
        ("learned from", f"{report.learned_from:,} documents"),
        ("graph", _graph(report)),
        *([("resumed after", ", ".join(report.resumed))] if report.resumed else []),
        ("semantic weight", semantic_weight(report.calibration)),
        ("unknown words", f"{report.unknown_rate:.1%}"),
        ("classifier", _classifier(report.classifier)),
        *_chosen_classifier(report.classifier),
        ("time", ", ".join(f"{stage} {took:.1f} s" for stage, took in report.seconds.items())),
        *([("sent and received", _wire(report))] if report.wire else []),
        ("peak memory", f"{report.peak_mb:,.0f} MB"),
        ("size", size(report.size_bytes)),
    ]
    print_pairs(pairs)
    for said in report.notes:
        note(said)


def _wire(report: IndexReport) -> str:
    """Say how many bytes went to those who work, and came back."""
    sent = sum(each["sent"] + each["shared"] for each in report.wire.values())
    received = sum(each["received"] for each in report.wire.values())
    return f"{size(int(sent))}, {size(int(received))}"


def _graph(report: IndexReport) -> str:
    if report.components is None:
        return "none"
    parts = counted(report.components, "connected component")
    return f"{parts}, {counted(report.isolated or 0, 'isolated document')}{_kept(report)}"


def _kept(report: IndexReport) -> str:
    """Say how much of the exact neighbours is there, where that is not all by its making."""
    kept = report.graph_recall
    if not kept or not kept["sample"]:
        return ""
    return (
        f", {kept['edges']:.1%} of true nearest neighbours found ({kept['weight']:.1%} by weight)"
    )


def _classifier(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "none"
    if "reason" in facts:
        return f"none: {facts['reason']}"
    left_out = f" ({facts['left_out']:,} skipped as too rare)" if facts["left_out"] else ""
    return f"{facts['labels']:,} labels{left_out}, learned from {facts['documents']:,} documents"


def _chosen_classifier(facts: dict[str, Any] | None) -> list[tuple[str, object]]:
    """Say which classifier "auto" means, and how much each had right of what was held out."""
    if not facts or not facts.get("accuracy"):
        return []
    right = sorted(facts["accuracy"].items(), key=lambda each: -each[1])
    said = ", ".join(f"{name} {share:.1%}" for name, share in right)
    return [
        (
            "best classifier",
            f"{facts['chosen']}; accuracy on {facts['judged']:,} held-out documents: {said}",
        )
    ]
