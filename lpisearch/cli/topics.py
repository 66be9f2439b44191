"""`lpisearch topics`: what the library is about."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lpisearch.cli.render import Json, note, print_json, print_table

if TYPE_CHECKING:
    from lpisearch.records import Topic, TopicReport

_SHOWN_LABELS = 2


def topics(
    context: typer.Context,
    number: Annotated[
        str,
        typer.Option(
            "-n", metavar="auto|N", help="How many; auto reads it off the spectrum of the index."
        ),
    ] = "auto",
    terms: Annotated[int, typer.Option(metavar="N", min=0, help="Terms of each to show.")] = 8,
    documents: Annotated[
        int, typer.Option(metavar="N", min=0, help="Typical documents of each to show.")
    ] = 3,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of every random choice.")] = 0,
    index: Annotated[str, typer.Option(metavar="NAME", help="Which index to use.")] = "default",
    json: Json = False,
) -> None:
    """Show what the library is about.

    A topic is a cluster of documents that are near each other in the subspace of the index.
    """
    from lpisearch.errors import BadOption
    from lpisearch.settings import TopicOptions
    from lpisearch.workflows.topics import find_topics

    try:
        wanted = None if number == "auto" else int(number)
    except ValueError:
        raise BadOption("-n", f"“{number}” is neither auto nor a number") from None
    report = find_topics(context.obj.library, TopicOptions(wanted, terms, documents, seed, index))
    if json:
        print_json(_as_json(report))
    else:
        _render(report)


def _as_json(report: TopicReport) -> dict[str, Any]:
    return asdict(report)


def _render(report: TopicReport) -> None:
    columns = ("topic", "documents", "terms", "typical documents", "labels")
    print_table(columns, [_row(topic) for topic in report.topics])
    if report.unplaced:
        note(f"{report.unplaced:,} documents without a known word are in no topic.")
    if report.purity is not None and report.nmi is not None:
        note(
            f"Against the labels: {report.purity:.1%} of the documents have the commonest label "
            f"of their topic; normalised mutual information {report.nmi:.3f}."
        )


def _row(topic: Topic) -> tuple[object, ...]:
    typical = "; ".join(each.title or each.id for each in topic.documents)
    labels = ", ".join(f"{each.label} {each.share:.0%}" for each in topic.labels[:_SHOWN_LABELS])
    return topic.number, topic.size, ", ".join(topic.terms), typical, labels
