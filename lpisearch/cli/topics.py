"""The verb topics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli.commands import is_typed
from lpisearch.cli.options import accepts, only
from lpisearch.cli.output import Json, note, print_json, print_table
from lpisearch.cli.progress import stage_line
from lpisearch.errors import BadOption
from lpisearch.options import DimensionOptions, TopicOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.library import Library
    from lpisearch.model.answers import (
        Dimension,
        DimensionDocument,
        DimensionReport,
        DimensionWord,
        Topic,
        TopicReport,
    )


_SHOWN_LABELS = 2


@accepts("number", "method", "dims")
def topics(
    context: typer.Context,
    options: TopicOptions,
    dimensions: Annotated[DimensionOptions, only("method", "dims")],
    json: Json = False,
) -> None:
    """List the main topics in the library.

    A topic is a cluster of documents that are close in meaning. With --method, shows the dimensions
    of a sparse model instead, each by the words and documents at both its ends. Uses the index if
    it was built with that method; otherwise trains a model just for this.
    """
    library = context.obj.library
    if not dimensions.method:
        if is_typed(context, "dims"):
            raise BadOption("dims", "needs --method")
        _show_topics(library, options, json=json)
        return
    if options.number is not None:
        raise BadOption("number", "with --method, use --dims instead")
    shared = {one: getattr(options, one) for one in ("terms", "documents", "seed", "index")}
    _show_dimensions(library, replace(dimensions, **shared), json=json)


def _show_topics(library: Library, options: TopicOptions, *, json: bool) -> None:
    with stage_line() as line:
        report = library.topics(
            options.number,
            terms=options.terms,
            documents=options.documents,
            seed=options.seed,
            index=options.index,
            on_stage=line.stage,
        )
    if json:
        print_json(report)
    else:
        _render(report)


def _show_dimensions(library: Library, options: DimensionOptions, *, json: bool) -> None:
    with stage_line() as line:
        report = library.dimensions(options, on_stage=line.stage)
    if json:
        print_json(report)
    else:
        _render_dimensions(report, options.dims)


def _render(report: TopicReport) -> None:
    columns = ("topic", "documents", "terms", "typical documents", "labels")
    print_table(columns, [_row(topic) for topic in report.topics])
    if report.unplaced:
        note(f"Documents without known words, in no topic: {report.unplaced:,}.")
    if report.purity is not None and report.nmi is not None:
        note(
            f"Compared with the labels: {report.purity:.1%} of the documents have the most "
            "common label of their topic (purity); normalised mutual information "
            f"{report.nmi:.3f}."
        )


def _row(topic: Topic) -> tuple[object, ...]:
    typical = "; ".join(one.title or one.id for one in topic.documents)
    labels = ", ".join(f"{label.label} {label.share:.0%}" for label in topic.labels[:_SHOWN_LABELS])
    return topic.number, topic.size, ", ".join(topic.terms), typical, labels


def _render_dimensions(report: DimensionReport, requested: int) -> None:
    columns = ("dimension", "λ", "words", "above", "below", "documents above", "documents below")
    print_table(columns, [_dimension_row(dimension) for dimension in report.dimensions])
    if len(report.dimensions) < requested:
        note(f"Dimensions available: {len(report.dimensions):,}; requested: {requested:,}.")


def _dimension_row(dimension: Dimension) -> tuple[object, ...]:
    return (
        dimension.number,
        f"{dimension.eigenvalue:.3g}",
        dimension.words,
        _words(dimension.above),
        _words(dimension.below),
        _titles(dimension.documents_above),
        _titles(dimension.documents_below),
    )


def _words(words: Sequence[DimensionWord]) -> str:
    return ", ".join(f"{word.word} {word.weight:+.2g}" for word in words)


def _titles(documents: Sequence[DimensionDocument]) -> str:
    return "; ".join(one.title or one.id for one in documents)
