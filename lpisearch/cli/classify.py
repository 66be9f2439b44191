"""The verb classify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli.options import accepts
from lpisearch.cli.output import Json, note, print_json, print_table, say
from lpisearch.cli.progress import cell_line
from lpisearch.errors import BadOption
from lpisearch.messages import Message, call, counted
from lpisearch.model.documents import Filter, PredictionReport
from lpisearch.options import ClassifyOptions

if TYPE_CHECKING:
    from lpisearch.library import Library
    from lpisearch.model.answers import Classification


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
