"""The verbs serve, mcp, skill and demo."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from _thread import interrupt_main
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli.commands import names_library
from lpisearch.cli.options import accepts
from lpisearch.cli.output import note, say
from lpisearch.errors import AssistantsUnavailable, BadOption, LpiSearchError
from lpisearch.location import shipped_folder
from lpisearch.options import AssistantOptions, IngestOptions, ReadOptions, ServeSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.library import Library
    from lpisearch.remote.client import RemoteLibrary
    from lpisearch.web.jobs import Job


@accepts("libraries", "host", "open_", "read_only", "demo", "roots")
def serve(
    context: typer.Context,
    settings: ServeSettings,
    libraries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LIBRARY", help="Libraries, each at a port of its own (default: that of --db)."
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in your browser.")] = False,
    window: Annotated[
        bool,
        typer.Option("--window", help="Open a window of its own at any free port; end with it."),
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the sample documents.")] = False,
) -> None:
    """Serve the library as web pages and a JSON API."""
    try:
        from lpisearch.web.server import serve as run
    except ModuleNotFoundError as error:
        raise WebUnavailable from error
    with ExitStack() as stack:
        roots = tuple(path.expanduser() for path in settings.roots)
        library: Library = context.obj.library
        others = [stack.enter_context(_library_at(place)) for place in libraries or ()]
        if others and not names_library(context):
            library = others.pop(0)
        if demo:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            library = stack.enter_context(_sample(folder))
            roots = (*roots, shipped_folder("sample_corpus"))
        port = 0 if window and settings.port == ServeSettings().port else settings.port
        settings = replace(settings, roots=roots, port=port)

        def on_start(addresses: list[str], interrupted: list[Job]) -> None:
            address = addresses[0]
            for job in interrupted:
                note(
                    f"The job “{job.kind}” from {job.asked_at} was interrupted when the server "
                    "stopped. Completed work is saved; start it again to finish"
                )
            guarded = " Requests need the token." if settings.token else ""
            note(f"Serving {library.path.name} at {address}  (press Ctrl-C to stop).{guarded}")
            for other, there in zip(others, addresses[1:], strict=True):
                note(f"Serving {other.path.name} at {there}")
            browser = next(filter(None, map(shutil.which, _BROWSERS)), None) if window else None
            if browser:
                profile = stack.enter_context(
                    tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
                )
                Thread(target=_show, args=(browser, address, profile), daemon=True).start()
            elif open_ or window:
                typer.launch(address)

        for job in run(library, settings, on_start, others):
            note(f"The job “{job.kind}” did not finish; it will be listed at the next start")


# Browsers that show a page as a window of its own.
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge", "brave-browser")


def _show(browser: str, address: str, profile: str) -> None:
    """Show the page in a window until that is closed; then end the server."""
    options = ["--no-first-run", "--no-default-browser-check", f"--user-data-dir={profile}"]
    command = [browser, f"--app={address}", *options]
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL)  # noqa: S603 (a known browser)
    interrupt_main(signal.SIGTERM)


_NAMED = re.compile(r"([A-Za-z][\w-]*)=(.+)", re.DOTALL)


@accepts()
def mcp(context: typer.Context, options: AssistantOptions) -> None:
    """Serve the library to an assistant, by the Model Context Protocol on standard input."""
    if find_spec("mcp") is None:
        raise AssistantsUnavailable
    from lpisearch.agents.calls import LibraryTools
    from lpisearch.agents.protocol import serve_stdio

    with ExitStack() as stack:
        libraries = dict(_libraries(context, options))
        for library in libraries.values():
            stack.callback(library.close)
        roots = tuple(path.expanduser() for path in options.roots)
        if sys.stdin.isatty():
            note("Waiting for an assistant on standard input (press Ctrl-C to stop).")
        serve_stdio(LibraryTools(libraries, writes=options.allow_writes, roots=roots))


def _libraries(
    context: typer.Context, options: AssistantOptions
) -> Iterator[tuple[str, Library | RemoteLibrary]]:
    """Yield the libraries of `--db`, or the usual one; of several, each has a name of its own."""
    if not options.db:
        yield "library", context.obj.library
    names: set[str] = set()
    for text in options.db:
        match = _NAMED.fullmatch(text)
        name, place = match.groups() if match else (Path(text).stem, text)
        if name in names or (len(options.db) > 1 and not match):
            raise BadOption("db", f"give each library a name of its own, not “{text}”")
        names.add(name)
        yield name, _opened(place)


def _opened(place: str) -> Library | RemoteLibrary:
    if place.startswith(("http://", "https://")):
        from lpisearch.remote import connect

        return connect(place, os.environ.get("LPISEARCH_TOKEN", ""))
    return _library_at(place)


def _library_at(place: str) -> Library:
    from lpisearch.config import own_encoder
    from lpisearch.library import open_library

    return open_library(place, encoder=own_encoder())


def skill() -> None:
    """Print a SKILL.md that teaches an assistant to search the library."""
    from importlib.resources import files

    say(files("lpisearch.agents").joinpath("SKILL.md").read_text("utf-8").rstrip())


class WebUnavailable(LpiSearchError):
    """The libraries that serve pages are not installed."""

    def __init__(self) -> None:
        super().__init__("The web server is not installed.", "pip install 'lpisearch[web]'")


def _sample(folder: Path) -> Library:
    """Build a library and an index of the sample corpus."""
    from lpisearch.library import open_library

    library = open_library(folder / "demo.db")
    documents = shipped_folder("sample_corpus") / "documents"
    library.ingest(documents, options=IngestOptions(read=ReadOptions(labels="folder")))
    library.index()
    return library


_INGEST = ("ingest",)
_STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Add a folder of documents, and learn which words belong together.", _INGEST),
    ("Run it again: unchanged files are skipped.", _INGEST),
    (
        "Search in your own words; results need not contain them.",
        ("search", "why does my bread stay flat", "-k", "3"),
    ),
    (
        "Search by meaning alone, and explain the result.",
        ("search", "leaven", "-k", "1", "--by", "semantic", "--explain"),
    ),
    (
        "Find documents similar to this letter.",
        ("similar", "sailing/letter-from-a-lightship.odt", "-k", "2"),
    ),
    ("Predict a label for a new text.", ("classify", "my chain slips on the smallest sprocket")),
    ("List the topics in the collection.", ("topics",)),
)


def demo(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER", help="Keep the demo library in this folder (default: delete it)."
        ),
    ] = None,
) -> None:
    """Take a tour with the sample documents."""
    corpus = shipped_folder("sample_corpus")
    indexes = context.obj.preferences.get("auto_index")
    always = ("--index",) if indexes is not None and indexes.value == "no" else ()
    documents = (str(corpus / "documents"), "--labels", "folder", *always)
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / "demo.db"
        for purpose, verb in _STEPS:
            _step(library, purpose, [*verb, *(documents if verb == _INGEST else ())])
    say("\nNow try your own documents:", bold=True)
    say('  lpisearch ingest FOLDER\n  lpisearch search "YOUR QUESTION"\n  lpisearch open 1')


def _step(library: Path, purpose: str, verb: list[str]) -> None:
    say(f"\n{purpose}", bold=True)
    say(f"$ lpisearch {shlex.join(verb)}\n", dim=True)
    sys.stdout.flush()
    command = [sys.executable, "-m", "lpisearch", *verb]
    environment = {**os.environ, "LPISEARCH_DB": str(library), "LPISEARCH_PAGER": "cat"}
    result = subprocess.run(command, check=False, env=environment)  # noqa: S603 (our own program)
    if result.returncode:
        raise typer.Exit(result.returncode)
