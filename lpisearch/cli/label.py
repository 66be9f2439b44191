"""`lpisearch label`: add or remove labels by hand."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lpisearch.cli import completion
from lpisearch.cli.exclusions import ExclusionsAsText
from lpisearch.cli.filters import Labels, PathGlob, Predicted, Since, Split, Until, Where, filter_of
from lpisearch.cli.render import Json, note, print_json, say
from lpisearch.messages import Message, call
from lpisearch.records.wire import label_record
from lpisearch.wording import counted

_IDS = "lpisearch.ids"


class LabelsAsText(ExclusionsAsText):
    """Takes -label for a label to take away."""

    words = "documents"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and keep what stands after --: ids, however they begin."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_IDS] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])


def label(
    context: typer.Context,
    documents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DOCUMENT… +LABEL -LABEL",
            autocompletion=completion.labelled,
            help="Document ids or paths; +LABEL adds a label, -LABEL removes one. After "
            "--, all are ids.",
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="LABEL", help="The same as +LABEL (repeatable)."),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="LABEL", help="The same as -LABEL (repeatable)."),
    ] = None,
    having: Labels = None,
    predicted: Predicted = None,
    path: PathGlob = "",
    split: Split = "",
    since: Since = "",
    until: Until = "",
    where: Where = None,
    json: Json = False,
) -> None:
    """Add or remove labels by hand. These changes override labels from files, now and later.

    +LABEL accepts a predicted label; -LABEL rejects it.
    """
    words = documents or []
    came = [*(add or ()), *(word[1:] for word in words if word.startswith("+"))]
    went = [*(remove or ()), *(word[1:] for word in words if word.startswith("-"))]
    names = [word for word in words if not word.startswith(("+", "-"))] + context.meta[_IDS]
    wanted = filter_of(having, path, split, since, until, where, predicted)
    report = context.obj.library.label(*names, add=came, remove=went, where=wanted)
    if json:
        print_json(label_record(report))
        return
    changes = [
        f"{counted(number, 'label')} {done}"
        for number, done in ((report.added, "added"), (report.removed, "removed"))
        if number
    ]
    say(f"{counted(report.documents, 'document')}: {', '.join(changes) or 'no labels changed'}.")
    if report.added or report.removed:
        note(Message("Next: ", call("index"), "  (to learn from the new labels)"))


label_app = typer.Typer(add_completion=False)
label_app.command("label", cls=LabelsAsText)(label)
