"""`lpisearch ingest`: bring documents in."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from lpisearch.cli.render import Json, note, print_json, print_table, progress_bar, say
from lpisearch.errors import LibraryLocked, LibraryUnwritable, NothingThere
from lpisearch.messages import Message
from lpisearch.records.wire import ingest_record

if TYPE_CHECKING:
    from lpisearch.records import IngestReport, Trouble
    from lpisearch.settings import IngestOptions

_SHOWN_TROUBLES = 20
_WATCH_SECONDS = 2.0
_REASONS = (
    ("exclude", "{:,} by --exclude", ""),
    ("lpisearchignore", "{:,} by .lpisearchignore", "--no-ignore"),
    ("gitignore", "{:,} by .gitignore", "--no-ignore"),
    ("packages", "packages in {:,} places", "--no-ignore"),
    ("caches", "caches in {:,} places", "--no-ignore"),
    ("hidden", "{:,} hidden", "--hidden"),
    ("links", "{:,} by symbolic links", "--follow-links"),
)


def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH", help="Files, folders, globs; - reads standard input."),
    ],
    format: Annotated[  # noqa: A002 (the name of the option)
        str, typer.Option(metavar="NAME", help="The format, where name and content do not tell.")
    ] = "auto",
    labels: Annotated[
        str,
        typer.Option(
            metavar="auto|folder|none|FIELD|FILE.csv",
            help="Where labels come from: a field or column, the top folder, a file of labels.",
        ),
    ] = "auto",
    split: Annotated[
        str,
        typer.Option(metavar="auto|folder|none|FIELD", help="Where train or test comes from."),
    ] = "auto",
    id_field: Annotated[
        str, typer.Option(metavar="FIELD", help="Field or column with the id.")
    ] = "",
    title_field: Annotated[
        str, typer.Option(metavar="FIELD", help="Field or column with the title.")
    ] = "",
    text_field: Annotated[
        str, typer.Option(metavar="FIELD", help="Field or column with the text.")
    ] = "",
    ids: Annotated[
        str,
        typer.Option(
            metavar="file|global",
            help="Whether equal ids in two files mean two documents, or one.",
        ),
    ] = "file",
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Leave out what matches, as .gitignore (repeatable)."),
    ] = None,
    no_ignore: Annotated[
        bool,
        typer.Option(
            "--no-ignore", help="Take in what .gitignore, .lpisearchignore and the rules leave out."
        ),
    ] = False,
    hidden: Annotated[
        bool, typer.Option("--hidden", help="Take in files and folders that begin with a dot.")
    ] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Follow symbolic links found in folders.")
    ] = False,
    language: Annotated[
        str,
        typer.Option(
            metavar="auto|NAME", help="Of the documents; auto finds it at the first ingest."
        ),
    ] = "auto",
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents whose file or record is gone.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if anything failed.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and take in what changes, until Ctrl-C.")
    ] = False,
    max_size: Annotated[
        int, typer.Option(metavar="MIB", min=1, help="Refuse a single document larger than this.")
    ] = 32,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Wait this long for another writer.")
    ] = 30.0,
    json: Json = False,
) -> None:
    """Bring documents into the library. Unchanged files cost nothing.

    Nothing is ever removed from the library unless you say --prune.
    """
    from lpisearch.settings import (
        MEBIBYTE,
        FindOptions,
        IngestOptions,
        ReadOptions,
    )

    read = ReadOptions(
        format=format,
        labels=labels,
        split=split,
        id_field=id_field,
        title_field=title_field,
        text_field=text_field,
        max_document_bytes=max_size * MEBIBYTE,
    )
    options = IngestOptions(
        read=read,
        find=FindOptions(tuple(exclude or ()), no_ignore, hidden, follow_links),
        prune=prune,
        language=language,
        wait_seconds=wait,
        ids=ids,
    )
    report = _once(context, paths, options)
    _render(context, report, json=json)
    if watch:
        _watch(context, paths, options, json=json)
    if strict and report.failed:
        raise typer.Exit(1)


def _watch(
    context: typer.Context, paths: list[str], options: IngestOptions, *, json: bool
) -> NoReturn:
    """Take in what changes until Ctrl-C; what may pass, as another writer, is said and outlived."""
    said = ""
    while True:
        time.sleep(_WATCH_SECONDS)
        try:
            report = _once(context, paths, options)
        except (LibraryLocked, LibraryUnwritable, NothingThere) as passing:
            if passing.what != said:
                note(f"{passing.what} Trying again.")
            said = passing.what
            continue
        said = ""
        if report.added or report.updated or report.removed:
            _render(context, report, json=json)


def _once(context: typer.Context, paths: list[str], options: IngestOptions) -> IngestReport:
    with progress_bar("Reading") as show:
        report: IngestReport = context.obj.library.ingest(*paths, options=options, on_progress=show)
        return report


def _render(context: typer.Context, report: IngestReport, *, json: bool) -> None:
    if json:
        print_json(ingest_record(report, context.obj.library.path))
        return
    counts = ("added", "updated", "unchanged", "removed", "failed")
    numbers = ", ".join(f"{getattr(report, name):,} {name}" for name in counts)
    say(f"{numbers} in {report.seconds:.1f} s")
    if not any((report.added, report.updated, report.removed, report.failed)):
        note("Nothing has changed.")
    if report.missing:
        note(f"{report.missing:,} documents are gone from disk; --prune removes them.")
    if report.skipped:
        kinds = ", ".join(f"{suffix} ({n})" for suffix, n in sorted(report.skipped.items()))
        note(f"Passed over, as no known format: {kinds}")
    if report.left_out:
        note(_left_out(report.left_out))
    for remark in report.notes:
        note(remark)
    for complaint in report.index_notes:
        note(Message("The documents are safe, but an index could not take them in. ", complaint))
    _render_troubles("failed", report.failures)
    _render_troubles("read with a remark", report.warnings)


def _left_out(counts: dict[str, int]) -> str:
    """Say what was not looked into, and what takes it in."""
    reasons = [(what.format(counts[key]), flag) for key, what, flag in _REASONS if key in counts]
    flags = dict.fromkeys(flag for _, flag in reasons if flag)
    taken_in = f" (taken in by {', '.join(flags)})" if flags else ""
    return f"Left out: {', '.join(what for what, _ in reasons)}{taken_in}"


def _render_troubles(title: str, troubles: list[Trouble]) -> None:
    if not troubles:
        return
    note("")
    shown = [(_near(one.path), one.where, one.reason) for one in troubles[:_SHOWN_TROUBLES]]
    print_table((title, "where", "reason"), shown, aside=True)
    if len(troubles) > _SHOWN_TROUBLES:
        note(f"  … and {len(troubles) - _SHOWN_TROUBLES:,} more (--json lists them all)")


def _near(path: str) -> str:
    """Show a path below the current folder without that folder."""
    try:
        return path.removeprefix(os.path.join(Path.cwd(), ""))  # noqa: PTH118 (ends in a separator)
    except OSError:  # it is gone
        return path
