"""The verb ingest, and its report."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from lpisearch.cli.options import accepts
from lpisearch.cli.output import Json, note, print_json, print_table, render_message, say
from lpisearch.cli.progress import progress_bar
from lpisearch.errors import LibraryLocked, LibraryUnwritable, NothingThere
from lpisearch.messages import Message, are, counted
from lpisearch.model.codec import ingest_record
from lpisearch.options import IngestOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lpisearch.model.documents import IngestReport, Trouble


_WATCH_SECONDS = 2.0


@accepts(
    *("text_field", "ids", "exclude", "no_ignore", "hidden", "follow_links", "label_separators"),
    *("ocr", "language", "prune", "strict", "watch", "max_document_bytes", "wait_seconds", "retry"),
)
def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH", help="Files, folders or globs; - reads standard input."),
    ],
    options: IngestOptions,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if anything failed.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running and ingest changes until Ctrl-C.")
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
    excluded = (*context.obj.preferences.all_of("exclude"), *options.find.exclude)
    options = replace(options, find=replace(options.find, exclude=excluded))
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
    """Ingest changes until Ctrl-C; report an error that may pass, such as another writer, once."""
    reported = ""
    while True:
        time.sleep(_WATCH_SECONDS)
        try:
            report = _once(context, paths, options)
        except (LibraryLocked, LibraryUnwritable, NothingThere) as passing:
            if passing.what != reported:
                note(f"{passing.what} Retrying.")
            reported = passing.what
            continue
        reported = ""
        if report.added or report.updated or report.removed:
            show(report)


def _once(context: typer.Context, paths: list[str], options: IngestOptions) -> IngestReport:
    with progress_bar("Reading") as show:
        report: IngestReport = context.obj.library.ingest(*paths, options=options, on_progress=show)
        return report


_KINDS = 12
_GROUPS = 12
_EXAMPLES = 3
_EXCLUDED = (
    ("exclude", "", "by --exclude", ""),
    ("lpisearchignore", "", "by .lpisearchignore", "--no-ignore"),
    ("gitignore", "", "by .gitignore", "--no-ignore"),
    ("packages", "folder", "of installed packages", "--no-ignore"),
    ("caches", "folder", "of caches", "--no-ignore"),
    ("hidden", "", "hidden", "--hidden"),
    ("links", "symbolic link", "", "--follow-links"),
)
_PARTICULAR = re.compile(r"“[^“”]*”|\d[\d.,]*")


def render_report(report: IngestReport, *, every_failure: bool, quiet: bool) -> None:
    """Print what an ingest did; if `quiet`, only new failures."""
    if not quiet:
        _render_counts(report)
    if every_failure:
        _render_all("failed", [*report.failures, *report.known_failures])
    else:
        _render_grouped("failed", report.failures)
    if quiet:
        return
    if report.known_failures and not every_failure:
        known = counted(len(report.known_failures), "failure")
        note(f"{known} from earlier runs (--failures all lists them, --retry tries again)")
    if report.unlisted:
        note(f"{counted(report.unlisted, 'more failure')} not listed, in files with very many")
    if every_failure:
        _render_all("warnings", report.warnings)
    else:
        _render_grouped("warnings", report.warnings)


def _render_counts(report: IngestReport) -> None:
    counts = ("added", "updated", "unchanged", "removed", "failed")
    numbers = ", ".join(f"{getattr(report, name):,} {name}" for name in counts)
    say(f"{numbers} in {report.seconds:.1f} s")
    if not any((report.added, report.updated, report.removed, report.failures, report.unlisted)):
        note("No changes.")
    if report.missing:
        them = "it" if report.missing == 1 else "them"
        note(f"{are(report.missing, 'document')} no longer on disk; --prune removes {them}.")
    if report.skipped:
        note(_skipped(report.skipped))
    if report.left_out:
        note(_excluded(report.left_out))
    for remark in report.notes:
        note(remark)
    for complaint in report.index_notes:
        note(Message("The documents were saved, but an index could not be updated. ", complaint))


def _skipped(counts: Mapping[str, int]) -> str:
    """List the kinds of unsupported files, the most frequent first."""
    kinds = sorted(counts.items(), key=lambda kind: (-kind[1], kind[0]))
    named = ", ".join(f"{suffix} ({number:,})" for suffix, number in kinds[:_KINDS])
    more = f", and {counted(len(kinds) - _KINDS, 'more kind')}" if len(kinds) > _KINDS else ""
    return f"Skipped, unsupported format: {named}{more}"


def _excluded(counts: Mapping[str, int]) -> str:
    """List what was excluded, and the options that include it."""
    rows = [row for row in _EXCLUDED if row[0] in counts]
    reasons = [f"{_number(counts[key], thing)} {how}".strip() for key, thing, how, _ in rows]
    flags = dict.fromkeys(flag for *_, flag in rows if flag)
    include = f" (include with {', '.join(flags)})" if flags else ""
    return f"Excluded: {', '.join(reasons)}{include}"


def _number(number: int, thing: str) -> str:
    return counted(number, thing) if thing else f"{number:,}"


def _render_all(title: str, troubles: Sequence[Trouble]) -> None:
    if troubles:
        note("")
        rows = [(_relative(one.path), one.where, one.reason) for one in troubles]
        print_table((title, "where", "reason"), rows, aside=True)


def _render_grouped(title: str, troubles: Sequence[Trouble]) -> None:
    """Print a line for each reason, the rarest first."""
    groups: dict[str, list[Trouble]] = {}
    for trouble in troubles:
        groups.setdefault(_PARTICULAR.sub("…", render_message(trouble.reason)), []).append(trouble)
    if not groups:
        return
    note("")
    ordered = sorted(groups.items(), key=lambda group: len(group[1]))
    rows = [
        (len(group), _reason(kind, group), _locations(group)) for kind, group in ordered[:_GROUPS]
    ]
    print_table((title, "reason", "where"), rows, aside=True)
    if len(ordered) > _GROUPS:
        hidden = sum(len(group) for _, group in ordered[_GROUPS:])
        note(f"  … and {hidden:,} more for {len(ordered) - _GROUPS:,} other reasons")
    if any(len(group) > _EXAMPLES for group in groups.values()) or len(ordered) > _GROUPS:
        note("(--failures all lists each one)")


def _reason(kind: str, group: Sequence[Trouble]) -> str:
    """Return the exact reason if all failures share it, else its kind."""
    reasons = {render_message(one.reason) for one in group}
    return reasons.pop() if len(reasons) == 1 else kind


def _locations(group: Sequence[Trouble]) -> str:
    named = [", ".join(filter(None, (_relative(one.path), one.where))) for one in group[:_EXAMPLES]]
    return "; ".join(named) + ("; …" if len(group) > _EXAMPLES else "")


def _relative(path: str) -> str:
    """Return a path relative to the current folder, if it is below it."""
    try:
        return path.removeprefix(os.path.join(Path.cwd(), ""))  # noqa: PTH118 (ends in a separator)
    except OSError:  # it is gone
        return path
