"""`lpisearch ingest`: add documents to the library."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from lpisearch.cli.ingest_report import render_report
from lpisearch.cli.progress import progress_bar
from lpisearch.cli.render import Json, note, print_json
from lpisearch.errors import LibraryLocked, LibraryUnwritable, NothingThere
from lpisearch.records.wire import ingest_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.records import IngestReport
    from lpisearch.settings import IngestOptions

_WATCH_SECONDS = 2.0


def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH", help="Files, folders or globs; - reads standard input."),
    ],
    format: Annotated[  # noqa: A002 (the name of the option)
        str, typer.Option(metavar="NAME", help="File format, if it cannot be detected.")
    ] = "auto",
    labels: Annotated[
        str,
        typer.Option(
            metavar="auto|folder|none|FIELD|FILE.csv",
            help="Where labels come from: a field or column, the top-level folder, or a CSV file.",
        ),
    ] = "auto",
    split: Annotated[
        str,
        typer.Option(
            metavar="auto|folder|none|FIELD",
            help="Where the split into train and test sets comes from.",
        ),
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
            help="Whether ids are unique within each file (file) or across all files (global).",
        ),
    ] = "file",
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Exclude matching files, in .gitignore syntax (repeatable)."
        ),
    ] = None,
    no_ignore: Annotated[
        bool,
        typer.Option(
            "--no-ignore",
            help="Include files excluded by .gitignore, .lpisearchignore or built-in rules.",
        ),
    ] = False,
    hidden: Annotated[
        bool,
        typer.Option(
            "--hidden", help="Include hidden files and folders (names starting with a dot)."
        ),
    ] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Follow symbolic links found in folders.")
    ] = False,
    label_separators: Annotated[
        str, typer.Option(metavar="CHARS", help="Characters that separate labels in a table cell.")
    ] = ";|",
    ocr: Annotated[
        str,
        typer.Option(
            metavar="LANG",
            help="Read scanned pages with Tesseract in these languages, such as deu+eng.",
        ),
    ] = "",
    language: Annotated[
        str,
        typer.Option(
            metavar="auto|NAME",
            help="Language of the documents; auto detects it at the first ingest.",
        ),
    ] = "auto",
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Remove documents whose file or record no longer exists."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if anything failed.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running and ingest changes until Ctrl-C.")
    ] = False,
    max_size: Annotated[
        int, typer.Option(metavar="MIB", min=1, help="Largest document to accept.")
    ] = 32,
    wait: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="How long to wait while another process writes."
        ),
    ] = 30.0,
    retry: Annotated[
        bool, typer.Option("--retry", help="Retry files that failed before, even if unchanged.")
    ] = False,
    failures: Annotated[
        Literal["grouped", "all"],
        typer.Option(
            help="grouped: new failures by reason; all: every failure, including earlier runs."
        ),
    ] = "grouped",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only new failures.")] = False,
    json: Json = False,
) -> None:
    """Add documents to the library. Unchanged files are skipped.

    Documents are never removed unless you use --prune.
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
        label_separators=label_separators,
        ocr=ocr,
        max_document_bytes=max_size * MEBIBYTE,
    )
    excluded = [*context.obj.preferences.all_of("exclude"), *(exclude or ())]
    options = IngestOptions(
        read=read,
        find=FindOptions(tuple(excluded), no_ignore, hidden, follow_links),
        prune=prune,
        language=language,
        wait_seconds=wait,
        ids=ids,
        retry=retry,
    )
    report = _once(context, paths, options)

    def show(report: IngestReport) -> None:
        if json:
            print_json(ingest_record(report, context.obj.library.path))
        else:
            render_report(report, every_failure=failures == "all", quiet=quiet)

    show(report)
    if watch:
        _watch(context, paths, options, show)
    if strict and report.failed:
        raise typer.Exit(1)


def _watch(
    context: typer.Context,
    paths: list[str],
    options: IngestOptions,
    show: Callable[[IngestReport], None],
) -> NoReturn:
    """Take in what changes until Ctrl-C; what may pass, as another writer, is said and outlived."""
    said = ""
    while True:
        time.sleep(_WATCH_SECONDS)
        try:
            report = _once(context, paths, options)
        except (LibraryLocked, LibraryUnwritable, NothingThere) as passing:
            if passing.what != said:
                note(f"{passing.what} Retrying.")
            said = passing.what
            continue
        said = ""
        if report.added or report.updated or report.removed:
            show(report)


def _once(context: typer.Context, paths: list[str], options: IngestOptions) -> IngestReport:
    with progress_bar("Reading") as show:
        report: IngestReport = context.obj.library.ingest(*paths, options=options, on_progress=show)
        return report
