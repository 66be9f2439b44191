"""The verb index, and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from lpisearch.cli.options import accepts
from lpisearch.cli.output import Json, note, print_json, print_pairs, semantic_weight, size
from lpisearch.cli.progress import stage_line
from lpisearch.messages import counted
from lpisearch.options import IndexOptions

if TYPE_CHECKING:
    from lpisearch.model.reports import IndexPlan, IndexReport


@accepts()
def index(context: typer.Context, options: IndexOptions, json: Json = False) -> None:
    """Build the index for search by meaning. The old one stays in use until this one is ready."""
    library = context.obj.library
    plan = library.plan(options)
    if not json:
        render_plan(plan)
    with stage_line(plan.stages) as line:
        report = library.index(options=options, on_stage=line.stage, on_step=line.step)
    render_report(report, json=json)


def render_plan(plan: IndexPlan) -> None:
    """Print the estimate of a build."""
    resumable = "; if interrupted, the build can be resumed" if plan.in_files else ""
    note(
        f"{plan.documents:,} documents, about {plan.words:,} words, {plan.terms:,} terms; "
        f"estimated {plan.memory_mb:,.0f} MB of memory, {plan.seconds:,.0f} s{resumable}"
    )


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
