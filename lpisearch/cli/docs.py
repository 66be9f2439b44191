"""The verbs docs and label."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer

from lpisearch.cli import options as typed
from lpisearch.cli.commands import ExclusionsAsText, VerbCommand, VerbGroup
from lpisearch.cli.options import accepts, only
from lpisearch.cli.output import (
    Json,
    note,
    predicted_labels,
    print_json,
    print_pairs,
    print_prose,
    print_table,
    say,
    stage_line,
)
from lpisearch.errors import BadOption
from lpisearch.messages import Message, call, counted
from lpisearch.model.documents import Document, Entry, Filter
from lpisearch.model.excerpts import Excerpt, excerpt
from lpisearch.options import PartOptions

app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    no_args_is_help=True,
    help="List, show, delete and export documents.",
)


@app.command("list", cls=VerbCommand)
@accepts()
def list_(
    context: typer.Context,
    where: Annotated[Filter, only("labels", "predicted", "path", "split")],
    limit: Annotated[
        int,
        typer.Option(
            "-n", "--limit", metavar="N", min=0, help="Number of documents to list (0: all)."
        ),
    ] = 0,
    offset: Annotated[
        int, typer.Option(metavar="N", min=0, hidden=True, help="Skip the first N documents.")
    ] = 0,
    sort: Annotated[
        str,
        typer.Option(
            metavar="added|date|oldest|title|path|id", help="Sort order (date: newest first)."
        ),
    ] = "added",
    json: Json = False,
    fail_if_none: Annotated[
        bool,
        typer.Option(
            "--fail-if-none", help="Exit with status 1 if no documents match.", hidden=True
        ),
    ] = False,
) -> None:
    """List documents."""
    entries, total = context.obj.library.listing(where, limit=limit or -1, offset=offset, sort=sort)
    if json:
        print_json(entries)
    else:
        _print_entries(entries, total)
    if fail_if_none and not total:
        raise typer.Exit(1)


def _print_entries(entries: list[Entry], total: int) -> None:
    rows = [
        (one.id, one.title, ", ".join(one.labels), one.split, predicted_labels(one.predicted))
        for one in entries
    ]
    print_table(("id", "title", "labels", "split", "predicted"), rows)
    note(f"{len(entries):,} of {counted(total, 'document')}")


@app.command(cls=VerbCommand)
@accepts()
def show(
    context: typer.Context,
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT", help="Document id or file path.", autocompletion=typed.documents
        ),
    ],
    part: PartOptions,
    json: Json = False,
) -> None:
    """Show one document, or a part of it."""
    library = context.obj.library
    shown = library.document(document)
    if part != PartOptions():
        _show_part(excerpt(shown, **asdict(part)), json=json)
        return
    if json:
        print_json(shown)
        return
    traits = library.traits(document)
    pairs = [
        ("id", shown.id or ""),
        ("title", shown.title),
        ("labels", ", ".join(shown.labels)),
        ("predicted", predicted_labels(library.predicted(document))),
        ("split", shown.split),
        ("date", shown.date),
        ("path", shown.path),
        ("sections", section_counts(shown)),
        ("language", traits.language),
        ("kind", f"{traits.kind}: {traits.reason}" if traits.kind else ""),
        *shown.metadata.items(),
    ]
    print_pairs([(name, value) for name, value in pairs if value])
    print_prose(f"\n{shown.text}")


def _show_part(part: Excerpt, *, json: bool) -> None:
    if json:
        print_json(part)
        return
    pairs = [
        ("id", part.id),
        ("title", part.title),
        ("page", part.page),
        ("section", part.section),
        ("characters", f"{part.start} to {part.end} of {part.characters}"),
    ]
    print_pairs([(name, value) for name, value in pairs if value])
    print_prose(f"\n{part.text}")
    if part.next is not None:
        note(f"Next: lpisearch docs show {shlex.quote(part.id)} --from {part.next}")


@app.command(cls=VerbCommand)
@accepts()
def delete(
    context: typer.Context,
    where: Annotated[Filter, only("labels", "path", "split")],
    documents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DOCUMENT", help="Document ids or file paths.", autocompletion=typed.documents
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Remove documents from the library. Files stay on disk; changed files are added again."""
    if not documents and where == Filter():
        raise BadOption("documents", "give document ids, paths or filters")
    number = context.obj.library.delete(*(documents or ()), where=where, on_note=note)
    if json:
        print_json({"removed": number})
    else:
        say(f"Documents removed: {number:,}.")


@app.command(cls=VerbCommand)
@accepts()
def export(
    context: typer.Context,
    where: Annotated[Filter, only("labels", "path", "split")],
    target: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Output file (.jsonl); - writes to standard output."),
    ] = "-",
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the file even if it is not an export.")
    ] = False,
    json: Json = False,
) -> None:
    """Export documents as JSON Lines; ingesting the file recreates the library."""
    library = context.obj.library
    if target != "-":
        with stage_line() as line:
            number = library.export(Path(target), where, force=force, on_stage=line.stage)
        if json:
            print_json({"documents": number, "file": target})
        else:
            note(counted(number, "document"))
    elif json:
        lines = StringIO()
        library.export(lines, where)
        say(f"[{lines.getvalue().rstrip().replace(chr(10), ',' + chr(10))}]")
    else:
        note(counted(library.export(sys.stdout, where), "document"))


def section_counts(document: Document) -> str:
    """Return the number of sections of each kind: "36 pages, 1 chapter"."""
    kinds = Counter(section.kind for section in document.sections)
    return ", ".join(f"{n:,} {kind}{'' if n == 1 else 's'}" for kind, n in kinds.items())


_IDS = "lpisearch.ids"


class LabelsAsText(ExclusionsAsText):
    """Takes -label for a label to remove."""

    words = "documents"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and set apart the ids after --, whatever they begin with."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_IDS] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])


@accepts()
def label(
    context: typer.Context,
    where: Filter,
    documents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DOCUMENT… +LABEL -LABEL",
            autocompletion=typed.labelled,
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
    json: Json = False,
) -> None:
    """Add or remove labels by hand. These changes override labels from files, now and later.

    +LABEL accepts a predicted label; -LABEL rejects it.
    """
    words = documents or []
    added = [*(add or ()), *(word[1:] for word in words if word.startswith("+"))]
    removed = [*(remove or ()), *(word[1:] for word in words if word.startswith("-"))]
    names = [word for word in words if not word.startswith(("+", "-"))] + context.meta[_IDS]
    report = context.obj.library.label(*names, add=added, remove=removed, where=where)
    if json:
        print_json(report)
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
