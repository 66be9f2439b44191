"""`lpisearch topics`: what the library is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli import completion
from lpisearch.cli.progress import stage_line
from lpisearch.cli.render import Json, note, print_json, print_table
from lpisearch.records.wire import dimensions_record, topics_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.library import Library
    from lpisearch.records import (
        Dimension,
        DimensionDocument,
        DimensionReport,
        DimensionWord,
        Topic,
        TopicReport,
    )
    from lpisearch.settings import DimensionOptions, TopicOptions

_SHOWN_LABELS = 2
_SHOWN_DIMENSIONS = 10


def topics(
    context: typer.Context,
    number: Annotated[
        str,
        typer.Option(
            "-n", metavar="auto|N", help="How many; auto reads it off the spectrum of the index."
        ),
    ] = "auto",
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Show dimensions, not clusters: a method of few words to each."
        ),
    ] = "",
    dims: Annotated[
        int | None,
        typer.Option(metavar="N", help="With --method: how many dimensions.  [default: 10]"),
    ] = None,
    terms: Annotated[
        int, typer.Option("--terms", "--words", metavar="N", min=0, help="Terms of each to show.")
    ] = 8,
    documents: Annotated[
        int, typer.Option(metavar="N", min=0, help="Typical documents of each to show.")
    ] = 3,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of every random choice.")] = 0,
    index: Annotated[
        str,
        typer.Option(metavar="NAME", help="Which index to use.", autocompletion=completion.indexes),
    ] = "default",
    json: Json = False,
) -> None:
    """Show what the library is about.

    A topic is a cluster of documents that are near each other in the subspace of the index. With
    --method, each dimension of a sparse map is shown instead, by the words and documents at both
    its ends: of the index, if it is of that method, else of a map learned for this alone.
    """
    from lpisearch.errors import BadOption
    from lpisearch.settings import DimensionOptions, TopicOptions

    library = context.obj.library
    if method:
        if number != "auto":
            raise BadOption("number", "dimensions are counted by --dims")
        shown = _SHOWN_DIMENSIONS if dims is None else dims
        options = DimensionOptions(method, shown, terms, documents, seed, index)
        _show_dimensions(library, options, json=json)
        return
    if dims is not None:
        raise BadOption("dims", "it goes with --method")
    try:
        wanted = None if number == "auto" else int(number)
    except ValueError:
        raise BadOption("number", f"“{number}” is neither auto nor a number") from None
    _show_topics(library, TopicOptions(wanted, terms, documents, seed, index), json=json)


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
        print_json(topics_record(report))
    else:
        _render(report)


def _show_dimensions(library: Library, options: DimensionOptions, *, json: bool) -> None:
    with stage_line() as line:
        report = library.dimensions(options, on_stage=line.stage)
    if json:
        print_json(dimensions_record(report))
    else:
        _render_dimensions(report, options.dims)


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


def _render_dimensions(report: DimensionReport, asked: int) -> None:
    columns = ("dimension", "λ", "words", "above", "below", "documents above", "documents below")
    print_table(columns, [_dimension_row(each) for each in report.dimensions])
    if len(report.dimensions) < asked:
        note(f"Dimensions there are: {len(report.dimensions):,}; asked for: {asked:,}.")


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
    return ", ".join(f"{each.word} {each.weight:+.2g}" for each in words)


def _titles(documents: Sequence[DimensionDocument]) -> str:
    return "; ".join(each.title or each.id for each in documents)
