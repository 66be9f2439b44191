"""`lpisearch index`: turn the documents into a subspace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from lpisearch.cli import completion
from lpisearch.cli.methods import (
    GRAPH,
    MAP,
    USUAL_EDGES,
    EdgeWeights,
    Graph,
    Radius,
    Settings,
    read_settings,
)
from lpisearch.cli.progress import stage_line
from lpisearch.cli.render import (
    Json,
    note,
    print_json,
    print_pairs,
    semantic_weight,
    size,
)
from lpisearch.library import method_names, pairs_of
from lpisearch.records.wire import index_record

if TYPE_CHECKING:
    from lpisearch.records import IndexPlan, IndexReport
    from lpisearch.settings import IndexOptions

Number = TypeVar("Number", int, float)

*_OTHERS, _LAST = method_names()
_METHODS = f"{', '.join(_OTHERS)} or {_LAST}."
_LEARN = "Which documents"
_WORK = "Who does the work"
_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def index(
    context: typer.Context,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", help=_METHODS, rich_help_panel=MAP, autocompletion=completion.methods
        ),
    ] = "rlpi",
    dims: Annotated[
        str,
        typer.Option(
            metavar="auto|N",
            help="Dimensions; auto reads them off the graph.",
            rich_help_panel=MAP,
        ),
    ] = "auto",
    alpha: Annotated[
        str,
        typer.Option(
            metavar="auto|X",
            help="Strength of the ridge, of methods with one.",
            rich_help_panel=MAP,
        ),
    ] = "auto",
    neighbours: Annotated[
        int,
        typer.Option(
            metavar="N", help="Neighbours that each document names.", rich_help_panel=GRAPH
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
            help="Pairs of documents that are neighbours (must ID ID), or are not (cannot ID ID).",
            rich_help_panel=GRAPH,
        ),
    ] = None,
    labels: Annotated[
        str,
        typer.Option(
            metavar="use|ignore",
            help="Whether a common label makes neighbours too.",
            rich_help_panel=GRAPH,
        ),
    ] = "ignore",
    weighting: Annotated[
        str,
        typer.Option(metavar="NAME", help="tf, tfidf, log-tfidf or bm25.", rich_help_panel=MAP),
    ] = "log-tfidf",
    train: Annotated[
        str,
        typer.Option(
            metavar="auto|all|none|SPLIT",
            help="Which documents classify learns from; auto: the split “train” if there is one.",
            rich_help_panel=_LEARN,
        ),
    ] = "auto",
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only documents with this label, path, split, since, until or metadata.",
            rich_help_panel=_LEARN,
        ),
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Several indexes can lie beside each other.")
    ] = "default",
    learn_predicted: Annotated[
        bool,
        typer.Option(
            "--learn-predicted",
            help="Learn predicted labels where a document has no other.",
            rich_help_panel=_LEARN,
        ),
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="Of every random choice.")] = 0,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Wait this long for another writer.")
    ] = 30.0,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Take no more memory than this, such as 4G: by files, or a sample."
        ),
    ] = None,
    index_store: Annotated[
        str,
        typer.Option(
            metavar="DIR|db",
            help="Where a database has its indexes: in itself, or in a shared folder.",
        ),
    ] = "",
    export_pgvector: Annotated[
        bool,
        typer.Option("--export-pgvector", help="Write the vectors to a table of the database too."),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Let N processes of this machine do the work.",
            rich_help_panel=_WORK,
        ),
    ] = 0,
    cluster: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Let a Dask cluster do the work: the address of its scheduler, tcp://HOST:8786.",
            rich_help_panel=_WORK,
        ),
    ] = "",
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FILES",
            help="Make a library in shards of these JSON Lines or Parquet files: a glob, s3://…",
            rich_help_panel=_WORK,
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where --from puts it.", rich_help_panel=_WORK),
    ] = None,
    json: Json = False,
) -> None:
    """Build the subspace index. The one before stays in use until the new one is whole."""
    from lpisearch.settings import IndexOptions
    from lpisearch.settings.conditions import read_conditions

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
    if source or out:
        _render(_from_files(source, out, options), json=json)
        return
    library = context.obj.library
    plan = library.plan(options)
    if not json:
        _render_plan(plan)
    with stage_line(plan.stages) as line:
        report = library.index(options=options, on_stage=line.stage, on_step=line.step)
    _render(report, json=json)


def _from_files(source: str, out: Path | None, options: IndexOptions) -> IndexReport:
    """Make a sharded library of files."""
    from lpisearch.errors import BadOption
    from lpisearch.library import index_files

    if not source or out is None:
        raise BadOption(
            ("source", "out"), "each needs the other: files, and where to put the library"
        )
    with stage_line({}) as line:
        return index_files(source, out, options=options, on_stage=line.stage, on_step=line.step)


def _number(option: str, text: str, kind: type[Number]) -> Number | None:
    """Read a number, or None for "auto"."""
    from lpisearch.errors import BadOption

    if text == "auto":
        return None
    try:
        return kind(text)
    except ValueError:
        raise BadOption(option, f"“{text}” is neither auto nor a number") from None


def _bytes(text: str) -> int:
    """Read a size such as 4G, 500M or 1.5g."""
    from lpisearch.errors import BadOption

    number, unit = text[:-1], text[-1:].upper()
    try:
        size = float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        size = -1.0
    if not 0 < size < float("inf"):
        raise BadOption("memory", f"“{text}” is not a size, such as 500M or 4G")
    return int(size)


def _render_plan(plan: IndexPlan) -> None:
    note(
        f"{plan.documents:,} documents, about {plan.words:,} words, {plan.terms:,} terms: "
        f"needs about {plan.memory_mb:,.0f} MB and {plan.seconds:,.0f} s{_how(plan)}"
    )


def _how(plan: IndexPlan) -> str:
    """Say that a build is kept in files: what is killed is not lost."""
    return "; kept in files, a build that ends early is gone on with" if plan.in_files else ""


def _render(report: IndexReport, *, json: bool) -> None:
    if json:
        print_json(index_record(report))
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
        *([("gone on after", ", ".join(report.resumed))] if report.resumed else []),
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
    parts = "one connected part" if report.components == 1 else f"{report.components:,} parts"
    return f"{parts}, {report.isolated:,} documents without a neighbour{_kept(report)}"


def _kept(report: IndexReport) -> str:
    """Say how much of the exact neighbours is there, where that is not all by its making."""
    kept = report.graph_recall
    if not kept or not kept["sample"]:
        return ""
    return f", {kept['edges']:.1%} of the nearest and {kept['weight']:.1%} of their weight"


def _classifier(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "none"
    if "reason" in facts:
        return f"none: {facts['reason']}"
    left_out = f", {facts['left_out']:,} too rare" if facts["left_out"] else ""
    return f"{facts['labels']:,} labels{left_out}, learned from {facts['documents']:,} documents"


def _chosen_classifier(facts: dict[str, Any] | None) -> list[tuple[str, object]]:
    """Say which classifier "auto" means, and how much each had right of what was held out."""
    if not facts or not facts.get("accuracy"):
        return []
    right = sorted(facts["accuracy"].items(), key=lambda each: -each[1])
    said = ", ".join(f"{name} {share:.1%}" for name, share in right)
    return [("classify by", f"{facts['chosen']}; right of {facts['judged']:,} held out: {said}")]
