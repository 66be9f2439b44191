"""The verbs ingest and watch, and a service of the user that watches.

The events of the system tell of changes (watchfiles); without them the files are looked at every
two seconds. Each change is an ingest of all paths, which skips what is unchanged.
"""

from __future__ import annotations

import gc
import hashlib
import math
import os
import re
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NoReturn

import typer

from lpisearch.cli.commands import VerbCommand, names_library
from lpisearch.cli.options import accepts
from lpisearch.cli.output import (
    Json,
    note,
    print_json,
    print_table,
    progress_bar,
    render_message,
    say,
)
from lpisearch.errors import (
    BadOption,
    FileInTheWay,
    LibraryLocked,
    LibraryUnwritable,
    LpiSearchError,
    NothingThere,
    NothingToIndex,
)
from lpisearch.files import refuse_others, whole_file
from lpisearch.location import Address, Location, real_path
from lpisearch.messages import Call, Message, are, counted, lasting
from lpisearch.model.codec import ingest_record
from lpisearch.options import IngestOptions
from lpisearch.watching import Changes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.model.documents import IngestReport, Trouble
    from lpisearch.model.reports import IndexReport


_OBJECTS = 100_000  # made before the collector looks for garbage: those of a batch go without it
MOST_SECONDS, MOST_MEGABYTES = 300, 4000
"""The largest estimate of a build that begins unasked."""
Index = Annotated[
    bool | None,
    typer.Option(
        "--index/--no-index",
        help="Build the index afterwards. Default: if it is missing or out of date, and takes "
        f"at most {lasting(MOST_SECONDS)} and {MOST_MEGABYTES // 1000} GB of memory.",
    ),
]


@accepts(
    *("text_field", "ids", "exclude", "no_ignore", "hidden", "follow_links", "label_separators"),
    *("ocr", "language", "prune", "index", "strict", "watch", "max_document_bytes"),
    *("wait_seconds", "retry", "workers"),
)
def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="Files, folders, globs or addresses (s3://…); - reads standard input, irds:NAME a "
            "collection.",
        ),
    ],
    options: IngestOptions,
    index: Index = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if anything failed.", hidden=True)
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
    show = reporter(
        context,
        options,
        index=index,
        quiet=quiet,
        json=json,
        every_failure=failures == "all",
        advises=not watch,
    )
    report = ingest_once(context, paths, options)
    show(report)
    if watch:
        keep_fresh(context, paths, options, show)
    if strict and report.failed:
        raise typer.Exit(1)


def reporter(
    context: typer.Context,
    options: IngestOptions,
    *,
    index: bool | None,
    quiet: bool,
    json: bool,
    every_failure: bool = False,
    advises: bool = False,
) -> Callable[[IngestReport], None]:
    """Return what prints the report of an ingest, and builds the index that is due."""
    preferred = context.obj.preferences.get("auto_index")
    index_too = index if index is not None else preferred is None or preferred.value == "yes"

    def show(report: IngestReport) -> None:
        if not json:
            render_report(report, every_failure=every_failure, quiet=quiet, index_follows=index_too)
        built = (
            _index(context, options, always=bool(index), quiet=json or quiet) if index_too else []
        )
        if json:
            record = ingest_record(report, context.obj.library.path)
            print_json(record | {"indexes": built})
        elif not quiet:
            _render_indexes(built)
            asked = context.parent is None or context.parent.invoked_subcommand == context.info_name
            if advises and asked and (built or report.added or report.updated):
                library = f" --db {shlex.quote(str(context.obj.library.path))}"
                named = library if names_library(context) else ""
                note(f'Next: lpisearch{named} search "YOUR QUESTION"')

    return show


def _index(
    context: typer.Context, options: IngestOptions, *, always: bool, quiet: bool
) -> list[IndexReport]:
    """Build the index if it is missing or out of date; too few documents are no error."""
    from lpisearch.cli.index import build_due

    most = (math.inf, math.inf) if always else (MOST_SECONDS, MOST_MEGABYTES)
    try:
        return build_due(context, options.wait_seconds, most, quiet=quiet)
    except NothingToIndex as error:
        note(render_message(error.what))
        return []


def _render_indexes(built: list[IndexReport]) -> None:
    """Print what was built."""
    for one in built:
        name = "" if one.name == "default" else f" “{one.name}”"
        took = lasting(sum(one.seconds.values()))
        say(f"Index{name} built in {took}: {counted(one.documents, 'document')}")


def ingest_once(context: typer.Context, paths: list[str], options: IngestOptions) -> IngestReport:
    """Ingest paths, with a progress bar."""
    gc.set_threshold(_OBJECTS)
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


def render_report(
    report: IngestReport, *, every_failure: bool, quiet: bool, index_follows: bool = False
) -> None:
    """Print what an ingest did; if `quiet`, only new failures."""
    if not quiet:
        _render_counts(report, index_follows=index_follows)
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


def _render_counts(report: IngestReport, *, index_follows: bool) -> None:
    names = ("added", "updated", "moved", "unchanged", "removed", "failed")
    counts = [(getattr(report, name), name) for name in names if getattr(report, name)]
    things = ["document" if counts[:1] != [(report.failed, "failed")] else "file", *[""] * 5]
    parts = [
        f"{_number(number, thing)} {name}"
        for (number, name), thing in zip(counts, things, strict=False)
    ]
    say(f"{', '.join(parts) or 'No documents found'} in {lasting(report.seconds)}")
    if report.missing:
        them = "it" if report.missing == 1 else "them"
        note(f"{are(report.missing, 'document')} no longer on disk; --prune removes {them}.")
    if report.empty:
        note(f"{are(report.empty, 'file')} empty.")
    if report.skipped:
        note(_skipped(report.skipped))
    if report.left_out:
        note(_excluded(report.left_out))
    for remark in report.notes:
        if not (index_follows and _names_index(remark)):
            note(remark)
    for complaint in report.index_notes:
        note(Message("The documents were saved, but an index could not be updated. ", complaint))


def _names_index(remark: str) -> bool:
    """Tell whether a note says to build the index."""
    parts = remark.parts if isinstance(remark, Message) else ()
    return any(isinstance(part, Call) and part.verb == "index" for part in parts)


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
    """Print the reasons, the most frequent first."""
    groups: dict[str, list[Trouble]] = {}
    for trouble in troubles:
        groups.setdefault(_PARTICULAR.sub("…", render_message(trouble.reason)), []).append(trouble)
    if not groups:
        return
    note("")
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    rows = [(len(group), _reason(kind, group), group) for kind, group in ordered[:_GROUPS]]
    if sys.stderr.isatty():  # lines, as a table would break paths
        for number, reason, group in rows:
            note(f"{number:,} {title if number > 1 else title.removesuffix('s')}: {reason}")
            for where in _locations(group):
                note(f"    {where}")
    else:
        joined = [(number, reason, "; ".join(_locations(group))) for number, reason, group in rows]
        print_table((title, "reason", "where"), joined, aside=True)
    if len(ordered) > _GROUPS:
        hidden = sum(len(group) for _, group in ordered[_GROUPS:])
        note(f"  … and {hidden:,} more for {len(ordered) - _GROUPS:,} other reasons")
    if any(len(group) > _EXAMPLES for group in groups.values()) or len(ordered) > _GROUPS:
        note("(--failures all lists each one)")


def _reason(kind: str, group: Sequence[Trouble]) -> str:
    """Return the exact reason if all failures share it, else its kind."""
    reasons = {render_message(one.reason) for one in group}
    return reasons.pop() if len(reasons) == 1 else kind


def _locations(group: Sequence[Trouble]) -> list[str]:
    """Return the first few places of a group."""
    named = [", ".join(filter(None, (_relative(one.path), one.where))) for one in group[:_EXAMPLES]]
    return [*named, "…"] if len(group) > _EXAMPLES else named


def _relative(path: str) -> str:
    """Return a path relative to the current folder, if it is below it."""
    try:
        return path.removeprefix(os.path.join(Path.cwd(), ""))  # noqa: PTH118 (ends in a separator)
    except OSError:  # it is gone
        return path


_TYPED = "lpisearch.typed"
_INSTALL = "--install"


class WatchCommand(VerbCommand):
    """Keeps the words that were typed: the service runs with them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and keep a copy."""
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, args)


@accepts("quiet", "install", "uninstall", "json")
def watch(
    context: typer.Context,
    options: IngestOptions,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Files and folders to watch.")
    ] = None,
    index: Index = None,
    install: Annotated[
        bool, typer.Option(_INSTALL, help="Write a service that watches from each login on.")
    ] = False,
    uninstall: Annotated[
        bool, typer.Option("--uninstall", help="Remove the service of this library.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only new failures.")] = False,
    json: Json = False,
) -> None:
    """Ingest changes of files as they happen, until Ctrl-C, and keep the index up to date.

    Deleted files are reported; their documents are removed with --prune only.
    """
    library = context.obj.library
    if uninstall:
        _report_service(Service.of(library.path).remove(), json=json)
        return
    if not paths or "-" in paths:
        raise BadOption("PATH", "give the files and folders to watch")
    if install:
        words = [word for word in context.meta[_TYPED] if word != _INSTALL]
        _report_service(Service.of(library.path).write(words), json=json)
        return
    excluded = (*context.obj.preferences.all_of("exclude"), *options.find.exclude)
    options = replace(options, find=replace(options.find, exclude=excluded))
    show = reporter(context, options, index=index, quiet=quiet, json=json)
    show(ingest_once(context, paths, options))
    keep_fresh(context, paths, options, show)


watch_app = typer.Typer(add_completion=False)
watch_app.command("watch", cls=WatchCommand)(watch)


_ANYWAY_SECONDS = 600.0
"""Between looks at all files if no event comes: network drives do not tell of every change."""


def keep_fresh(
    context: typer.Context,
    paths: Sequence[str],
    options: IngestOptions,
    show: Callable[[IngestReport], None],
) -> NoReturn:
    """Ingest changes until Ctrl-C; report an error that may pass, such as another writer, once.

    While a path is gone nothing is ingested, so that nothing is pruned because of it.
    """
    if any("://" in path for path in paths):
        raise BadOption("watch", "does not see changes at an address")
    changes = Changes(paths, options, context.obj.library.path, note)
    note(f"Watching {', '.join(paths)} ({changes.means}). Ctrl-C stops.")
    # The first look is soon: something may have changed before the events began.
    reported, missing, looked = "", 0, time.monotonic() - _ANYWAY_SECONDS
    while True:
        is_due = changes.wait() or reported or time.monotonic() - looked > _ANYWAY_SECONDS
        if not is_due:
            continue
        looked = time.monotonic()
        try:
            report = ingest_once(context, [_present(path) for path in paths], options)
            changed = report.added or report.updated or report.moved or report.removed
            if changed or report.missing != missing:
                show(report)
                sys.stdout.flush()
            reported, missing = "", report.missing
        except (LibraryLocked, LibraryUnwritable, NothingThere) as passing:
            if passing.what != reported:
                note(f"{passing.what} Retrying.")
            reported = passing.what
            changes.pause()


def _present(path: str) -> str:
    here = os.path.lexists(Path(path).expanduser())
    if not here and not glob(path, recursive=True):  # noqa: PTH207 (as it was typed)
        raise NothingThere(path)
    return path


_SIGNATURE = b"# Written by lpisearch watch."


class Service(NamedTuple):
    """A service of the user that watches for one library: the file, and what starts and stops it.

    Nothing is started or stopped here: the system starts it at the next login.
    """

    library: Location
    file: Path
    link: Path | None  # what makes systemd start it
    start: str
    stop: str

    @classmethod
    def of(cls, library: Location) -> Service:
        """Return the service of a library, written or not."""
        where = str(library if isinstance(library, Address) else real_path(library))
        digest = hashlib.blake2b(where.encode(errors="surrogatepass"), digest_size=4).hexdigest()
        if sys.platform == "darwin":
            label = f"lpisearch.watch.{digest}"
            agents = Path.home() / "Library" / "LaunchAgents"
            file = agents / f"{label}.plist"
            start = f"launchctl bootstrap gui/$(id -u) {shlex.quote(str(file))}"
            return cls(library, file, None, start, f"launchctl bootout gui/$(id -u)/{label}")
        if sys.platform != "linux":
            raise BadOption("install", "only systemd (Linux) and launchd (macOS) are supported")
        config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        units, name = config / "systemd" / "user", f"lpisearch-watch-{digest}.service"
        link = units / "default.target.wants" / name
        start = f"systemctl --user daemon-reload && systemctl --user start {name}"
        return cls(library, units / name, link, start, f"systemctl --user stop {name}")

    def write(self, words: Sequence[str]) -> dict[str, str]:
        """Write the service, which runs `watch` with some words in the current folder."""
        if isinstance(self.library, Address) and self.library.secrets:
            raise BadOption("db", "a service must not contain a password; put it into ~/.pgpass")
        named = self.library if isinstance(self.library, Address) else self.library.absolute()
        url = named.url if isinstance(named, Address) else str(named)
        program = [sys.executable, "-P", "-m", "lpisearch", "watch", "--db", url, *words]
        text = _agent(self.file.stem, program) if self.link is None else _unit(url, program)
        try:
            refuse_others(self.file, "a service of lpisearch", lambda head: _SIGNATURE[2:] in head)
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(self.file, 0o644) as stream:
                stream.write(text)
            if self.link is not None:
                self.link.parent.mkdir(exist_ok=True)
                self.link.unlink(missing_ok=True)
                self.link.symlink_to(Path("..") / self.file.name)
        except FileInTheWay as other:
            other.next_step = f"rename {self.file}"
            raise
        except OSError as error:
            raise CannotWriteService(self.file, error) from error
        return {
            "written": str(self.file),
            "starts": "when you log in",
            "start it now": self.start,
            "stop it": self.stop,
            "remove it": shlex.join(["lpisearch", "watch", "--uninstall", "--db", url]),
        }

    def remove(self) -> dict[str, str]:
        """Remove the file and the link; what runs is left running."""
        try:
            refuse_others(self.file, "a service of lpisearch", lambda head: _SIGNATURE[2:] in head)
            existed = self.file.exists()
            for path in (self.file, self.link):
                if path is not None:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise CannotWriteService(self.file, error) from error
        if not existed:
            return {"removed": "nothing; this library has no service"}
        return {"removed": str(self.file), "stop it": self.stop}


class CannotWriteService(LpiSearchError):
    """The file of a service cannot be written or removed."""

    def __init__(self, file: Path, error: OSError) -> None:
        reason = error.strerror or str(error)
        super().__init__(f"Cannot write {file}: {reason}.", "check the permissions of its folder")


def _unit(library: str, program: Sequence[str]) -> bytes:
    """Return the unit of a systemd service."""
    lines = [
        _SIGNATURE.decode(),
        "[Unit]",
        f"Description=lpisearch watches for {_as_specified(library)}",
        "[Service]",
        f"ExecStart={' '.join(map(_as_word, program))}",
        f"WorkingDirectory={_as_specified(str(Path.cwd()))}",
        "Restart=on-failure",
        "RestartSec=30",
        "Nice=10",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _as_specified(text: str) -> str:
    return " ".join(text.replace("%", "%%").split("\n"))


def _as_word(word: str) -> str:
    """Quote a word as systemd reads it."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("%", "%%"), ("$", "$$")):
        word = word.replace(sign, written)
    return f'"{word}"'


def _agent(label: str, program: Sequence[str]) -> bytes:
    """Return the property list of a launchd agent."""
    import plistlib

    values = {
        "Label": label,
        "ProgramArguments": list(program),
        "WorkingDirectory": str(Path.cwd()),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
    }
    head, _, rest = plistlib.dumps(values).partition(b"\n")
    return b"%s\n<!-- %s -->\n%s" % (head, _SIGNATURE[2:], rest)


def _report_service(facts: dict[str, str], *, json: bool) -> None:
    if json:
        print_json(facts)
        return
    for name, value in facts.items():
        say(f"{name[0].upper()}{name[1:]}: {value}")
