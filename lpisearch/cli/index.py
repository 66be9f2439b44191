"""The verb index, and its report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpisearch.cli.commands import is_typed
from lpisearch.cli.failures import when_stopped
from lpisearch.cli.options import accepts, preferred
from lpisearch.cli.output import Json, note, print_json, print_pairs, size, stage_line, weight_text
from lpisearch.messages import Call, Message, call, counted, lasting
from lpisearch.options import IndexOptions

if TYPE_CHECKING:
    from lpisearch.library import Library
    from lpisearch.model.reports import IndexPlan, IndexReport

_STOPPED = "Interrupted. Nothing of this build was saved, as it is short; all documents are."


_DUE = frozenset({"behind", "rebuild due", "not built here"})


@accepts()
def index(
    context: typer.Context,
    options: IndexOptions,
    json: Json = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="NAME|MODULE:NAME|URL|FILE|none",
            help="Also encode passages with a model of your own (default: the setting encoder).",
            rich_help_panel="Model",
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Also write the vectors to a .npz or .parquet file; an index that is up to date "
            "is not built again.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that is not an export.")
    ] = False,
) -> None:
    """Build the index for search by meaning. The old one stays in use until this one is ready."""
    if encoder is not None:
        vars(context.obj).pop("library", None)  # opened to read the settings
        context.obj.encoder = None if encoder == "none" else encoder
    builds = export is None or not _is_ready(context, options.name)
    if builds:
        _build_and_report(context, options, json=json)
    if export is not None:
        number = context.obj.library.export_vectors(export, options.name, force=force)
        if json and not builds:
            print_json({"documents": number, "file": str(export)})
        note(f"{counted(number, 'vector')} written to {export}")


def _is_ready(context: typer.Context, name: str) -> bool:
    """Tell whether an index is up to date, and no option asks for another one."""
    others = context.params.keys() - {"name", "export", "force", "json"}
    if any(is_typed(context, one) for one in others):
        return False
    indexes = context.obj.library.status()["indexes"]
    return any(one["name"] == name and one["state"] == "ready" for one in indexes)


def _build_and_report(context: typer.Context, options: IndexOptions, *, json: bool) -> None:
    library = context.obj.library
    plan = library.plan(options)
    if not json:
        render_plan(plan)
    render_report(_build(context, options, plan), json=json)


def _build(context: typer.Context, options: IndexOptions, plan: IndexPlan) -> IndexReport:
    library: Library = context.obj.library
    if not plan.in_files:
        when_stopped(context, _STOPPED)
    with stage_line(plan.stages) as line:
        report = library.index(options=options, on_stage=line.stage, on_step=line.step)
    when_stopped(context, "")
    return report


def build_due(
    context: typer.Context, wait_seconds: float, most: tuple[float, float], *, quiet: bool
) -> list[IndexReport]:
    """Build the index if there is none, and those that are out of date.

    `most` is the largest estimate of what is built: seconds, and megabytes of memory.
    """
    library: Library = context.obj.library
    facts = library.status()
    due = [one["rebuild_command"] for one in facts["indexes"] if one["state"] in _DUE]
    if not facts["indexes"] and facts["documents"] > 1:
        due = [call("index")]
    reports = []
    for command in due:
        own = _options_of(command) if facts["indexes"] else {}
        if "pairs" in own:  # of a file that is not known here
            note(Message("The index is out of date. Next: ", command))
            continue
        options = preferred(IndexOptions, context.obj.preferences, "index.")
        options = IndexOptions(**own) if facts["indexes"] else options
        options = replace(options, wait_seconds=wait_seconds)
        plan = library.plan(options)
        costs = _costs(plan)
        if plan.seconds > most[0] or plan.memory_mb > most[1]:
            note(Message(f"The index is not built yet; it takes {costs}. Next: ", command))
            continue
        if not quiet:
            note(f"Building the index: {costs}")
        reports.append(_build(context, options, plan))
    return reports


def _options_of(command: Message) -> dict[str, Any]:
    """Return the options of the call that rebuilds an index."""
    return {
        option.name: option.value
        for part in command.parts
        if isinstance(part, Call)
        for option in part.options
    }


def render_plan(plan: IndexPlan) -> None:
    """Print the estimate of a build."""
    resumable = "; if interrupted, the build can be resumed" if plan.in_files else ""
    note(
        f"{plan.documents:,} documents, about {plan.words:,} words, {plan.terms:,} terms: "
        f"{_costs(plan)}{resumable}"
    )


def _costs(plan: IndexPlan) -> str:
    memory = size(round(plan.memory_mb / 10) * 1e7).replace(".0 ", " ")
    return f"about {lasting(max(round(plan.seconds), 1))} and {memory} of memory"


def render_report(report: IndexReport, *, json: bool) -> None:
    """Print the report of a build."""
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
        ("semantic weight", weight_text(report.calibration)),
        *_encoder(report.encoder),
        ("unknown words", f"{report.unknown_rate:.1%}"),
        ("classifier", _classifier(report.classifier)),
        *_chosen_classifier(report.classifier),
        ("time", ", ".join(f"{stage} {lasting(took)}" for stage, took in report.seconds.items())),
        *([("sent and received", _wire(report))] if report.wire else []),
        ("peak memory", f"{report.peak_mb:,.0f} MB"),
        ("size", size(report.size_bytes)),
    ]
    print_pairs(pairs)
    for remark in report.notes:
        note(remark)


def _wire(report: IndexReport) -> str:
    """Return the bytes sent to and received from workers."""
    sent = sum(one["sent"] + one["shared"] for one in report.wire.values())
    received = sum(one["received"] for one in report.wire.values())
    return f"{size(int(sent))}, {size(int(received))}"


def _graph(report: IndexReport) -> str:
    if report.components is None:
        return "none"
    parts = counted(report.components, "connected component")
    return f"{parts}, {counted(report.isolated or 0, 'isolated document')}{_recall(report)}"


def _recall(report: IndexReport) -> str:
    """Return the share of true neighbours in an approximate graph."""
    recall = report.graph_recall
    if not recall or not recall["sample"]:
        return ""
    share, by_weight = recall["edges"], recall["weight"]
    return f", {share:.1%} of true nearest neighbours found ({by_weight:.1%} by weight)"


def _encoder(facts: dict[str, Any]) -> list[tuple[str, object]]:
    """Return the weight of the user's encoder, and what it does to windows of text."""
    if not facts:
        return []
    weight, gain = facts["weight"], facts["gain"]
    windows = counted(facts["windows"], "window of text", "windows of text")
    helps = f"weight {weight:g} ({gain:+.1%} in {windows})"
    text = helps if weight else f"not used: it does not help ({windows})"
    return [("encoder", f"{facts['name']}, {text}")]


def _classifier(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "none"
    if "reason" in facts:
        return f"none: {facts['reason']}"
    left_out = f" ({facts['left_out']:,} skipped as too rare)" if facts["left_out"] else ""
    return f"{facts['labels']:,} labels{left_out}, learned from {facts['documents']:,} documents"


def _chosen_classifier(facts: dict[str, Any] | None) -> list[tuple[str, object]]:
    """Return the classifier that "auto" chose, and the held-out accuracy of each."""
    if not facts or not facts.get("accuracy"):
        return []
    ranked = sorted(facts["accuracy"].items(), key=lambda item: -item[1])
    accuracy = ", ".join(f"{name} {share:.1%}" for name, share in ranked)
    return [
        (
            "best classifier",
            f"{facts['chosen']}; accuracy on {facts['judged']:,} held-out documents: {accuracy}",
        )
    ]
