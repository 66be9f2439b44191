"""The verb watch: ingest changes as they happen, and a service of the user that does so.

The events of the system tell of changes (watchfiles); without them the files are looked at every
two seconds. Each change is an ingest of all paths, which skips what is unchanged.
"""

from __future__ import annotations

import hashlib
import os
import plistlib
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from lpisearch.cli.commands import VerbCommand
from lpisearch.cli.ingest import Index, ingest_once, reporter
from lpisearch.cli.options import accepts
from lpisearch.cli.output import Json, note, print_json, say
from lpisearch.errors import (
    BadOption,
    FileInTheWay,
    LibraryLocked,
    LibraryUnwritable,
    LpiSearchError,
    NothingThere,
)
from lpisearch.files import refuse_others, whole_file
from lpisearch.location import Address, Location, real_path
from lpisearch.options import IngestOptions
from lpisearch.watching import Changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.model.documents import IngestReport


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
