"""The verbs that tell what documents are about: classify and topics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli.commands import is_typed
from lpisearch.cli.options import accepts, only
from lpisearch.cli.output import Json, cell_line, note, print_json, print_table, say, stage_line
from lpisearch.errors import BadOption
from lpisearch.messages import Message, call, counted
from lpisearch.model.documents import Filter, PredictionReport
from lpisearch.options import ClassifyOptions, DimensionOptions, TopicOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.library import Library
    from lpisearch.model.answers import (
        Classification,
        Dimension,
        DimensionDocument,
        DimensionReport,
        DimensionWord,
        Topic,
        TopicReport,
    )


_LIBRARY = "Documents in the library"  # heading of the help
NONE_OF_THESE = "none of these"
_SHOWN_OTHERS = 3


@accepts()
def classify(
    context: typer.Context,
    options: ClassifyOptions,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT|FILE",
            help="Files, folders or globs; anything else is taken as text. - reads standard "
            "input. With --write or --undo, document ids or paths.",
        ),
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Save predicted labels for documents in the library that have none.",
            rich_help_panel=_LIBRARY,
        ),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Remove predicted labels.", rich_help_panel=_LIBRARY)
    ] = False,
    labelled: Annotated[
        bool,
        typer.Option(
            "--labelled",
            help="Also predict for documents that already have labels.",
            hidden=True,
            rich_help_panel=_LIBRARY,
        ),
    ] = False,
    *,
    where: Filter,
    json: Json = False,
) -> None:
    """Predict labels for text or files, as `index` learned them from labelled documents.

    With --write, predicted labels are saved for documents in the library. They are kept apart from
    labels given by hand and shown with a question mark.
    """
    if write and undo:
        raise BadOption(("write", "undo"), "cannot be used together")
    library: Library = context.obj.library
    if undo:
        number = library.forget_predicted(*(what or ()), where=where)
        if json:
            print_json({"documents": number})
        else:
            say(f"Removed predicted labels from {counted(number, 'document')}.")
        return
    if write:
        with cell_line() as show:
            report = library.predict_labels(
                *(what or ()),
                where=where,
                labelled=labelled,
                options=options,
                on_progress=lambda done, total: show("documents", done, total),
            )
        if json:
            print_json(report)
        else:
            _render_written(report, labelled=labelled)
        return
    if not what:
        raise typer.BadParameter("give a text or a file to classify", param_hint="TEXT|FILE")
    results = list(library.classify_each(what, options))
    if json:
        print_json(results)
    elif len(results) == 1:
        _render_one(results[0], options.confidence)
    else:
        _render_many(results)
    if results and all(result.failed for result in results):
        _report_failure(results)
        raise typer.Exit(1)


def _render_written(report: PredictionReport, *, labelled: bool) -> None:
    print_table(("predicted", "documents"), list(report.labels.items()))
    if not report.documents:
        more = () if labelled else (" Next: ", call("classify"), " --write --labelled")
        note(Message("All matching documents already have labels; nothing was predicted.", *more))
        return
    rest = {
        "{:,} had no label above the confidence threshold": report.none_of_these,
        "{:,} had no known words": report.unknown,
        "{:,} already had the predicted label, or had it rejected": (
            report.documents - report.predicted - report.none_of_these - report.unknown
        ),
    }
    judged = f"{report.predicted:,} of {counted(report.documents, 'document')}"
    counts = [f"{judged} labelled by {report.classifier}"]
    counts += [text.format(number) for text, number in rest.items() if number]
    note(f"{'; '.join(counts)}.")


def _render_one(result: Classification, confidence: float) -> None:
    if result.failed:
        return
    if result.note:
        note(f"No label: {result.note}.")
    else:
        rows = [(one.label, _percent(one.share)) for one in result.labels]
        print_table(("label", "probability"), rows)
        if len(result.decided) > 1:
            note(f"Labels: {', '.join(result.decided)}.")
    if result.none_of_these:
        note(f"None of these: no label reached {_percent(confidence)}.")


def _report_failure(classified: list[Classification]) -> None:
    """Report that no input could be read."""
    first, *others = classified
    them = f"none of {counted(len(classified), 'file')} could be read: " if others else ""
    following = ". Next: give another file, or pipe the text to standard input with -"
    note(Message(f"Error: {them}{first.input}: ", first.note, following))


def _render_many(results: list[Classification]) -> None:
    rows = []
    for result in results:
        label, share, others = "", "", result.labels[:_SHOWN_OTHERS]
        if result.none_of_these:
            label = NONE_OF_THESE
        elif others:
            taken, others = others[: len(result.decided)], others[len(result.decided) :]
            label = ", ".join(one.label for one in taken)
            share = ", ".join(_percent(one.share) for one in taken)
        beside = ", ".join(f"{other.label} {_percent(other.share)}" for other in others)
        rows.append((result.input, label, share, beside, result.note))
    print_table(("input", "label", "probability", "other labels", "note"), rows)


def _percent(share: float) -> str:
    return f"{share:.1%}"


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
