"""`lpisearch classify`: the labels that texts and files should have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli.render import Json, note, print_json, print_table
from lpisearch.messages import Message
from lpisearch.records.wire import classification_record

if TYPE_CHECKING:
    from lpisearch.records import Classification

NONE_OF_THESE = "none of these"
_SHOWN_BESIDE = 3


def classify(
    context: typer.Context,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT|FILE",
            help="Files, folders and globs that exist, or else the words of a text; "
            "- reads standard input.",
        ),
    ],
    classifier: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (the best on what was held out while indexing), centroid, knn, map-svm, "
            "svm, svm+centroid or svm+map-svm.",
        ),
    ] = "auto",
    k: Annotated[int, typer.Option("-k", metavar="N", help="How many labels.")] = 5,
    index: Annotated[str, typer.Option(metavar="NAME", help="Which index to use.")] = "default",
    confidence: Annotated[
        float,
        typer.Option(metavar="SHARE", help="The answer is “none of these” below this share."),
    ] = 0.5,
    json: Json = False,
) -> None:
    """Label texts by what `index` learned from the labelled documents."""
    from lpisearch.settings import ClassifyOptions

    options = ClassifyOptions(classifier, k, index, confidence)
    found = list(context.obj.library.classify_each(what, options))
    if json:
        print_json([classification_record(each) for each in found])
    elif len(found) == 1:
        _render_one(found[0], confidence)
    else:
        _render_many(found)
    if found and all(each.failed for each in found):
        raise typer.Exit(1)


def _render_one(found: Classification, confidence: float) -> None:
    if found.failed:
        note(
            Message(
                f"Error: {found.input}: ",
                found.note,
                ". Next: name another file, or pipe its text in: -",
            )
        )
    elif found.note:
        note(f"No label: {found.note}.")
    else:
        rows = [(each.label, _percent(each.share)) for each in found.labels]
        print_table(("label", "share"), rows)
    if found.none_of_these:
        note(f"None of these: no label has a share of {_percent(confidence)} or more.")


def _render_many(found: list[Classification]) -> None:
    rows = []
    for each in found:
        label, share, others = "", "", each.labels[:_SHOWN_BESIDE]
        if each.none_of_these:
            label = NONE_OF_THESE
        elif others:
            label, share, others = others[0].label, _percent(others[0].share), others[1:]
        beside = ", ".join(f"{other.label} {_percent(other.share)}" for other in others)
        rows.append((each.input, label, share, beside, each.note))
    print_table(("input", "label", "share", "or", "note"), rows)


def _percent(share: float) -> str:
    return f"{share:.1%}"
