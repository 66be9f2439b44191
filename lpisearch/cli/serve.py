"""`lpisearch serve`: serve the library as web pages and a JSON API."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli.render import note
from lpisearch.errors import LpiSearchError
from lpisearch.settings import IngestOptions, ReadOptions, shipped_folder
from lpisearch.settings.serving import DEFAULT_HOST, DEFAULT_PORT, ServeSettings

if TYPE_CHECKING:
    from lpisearch.library import Library
    from lpisearch.web.jobs.job import Job


def serve(
    context: typer.Context,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on.")
    ] = DEFAULT_PORT,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on; 0.0.0.0 accepts other machines.",
        ),
    ] = DEFAULT_HOST,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in your browser.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse all changes.")] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Serve the sample documents.")] = False,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root",
            metavar="DIR",
            help="Allow files under this folder to be added and downloaded (repeatable).",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Extra host name to accept, besides localhost and IP addresses (repeatable).",
        ),
    ] = None,
    token: Annotated[
        str,
        typer.Option(
            "--token",
            metavar="TEXT",
            help="Token that clients must send; LPISEARCH_TOKEN is safer, as other users "
            "cannot see it.",
            envvar="LPISEARCH_TOKEN",
        ),
    ] = "",
) -> None:
    """Serve the library as web pages and a JSON API."""
    try:
        from lpisearch.web.server import serve as run
    except ModuleNotFoundError as error:
        raise WebUnavailable from error
    with ExitStack() as stack:
        roots = tuple(path.expanduser() for path in root or ())
        library: Library = context.obj.library
        if demo:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            library = stack.enter_context(_sample(folder))
            roots = (*roots, shipped_folder("sample_corpus"))
        names = tuple(name or ())
        settings = ServeSettings(host, port, read_only, roots, token, names)

        def on_start(address: str, interrupted: list[Job]) -> None:
            for job in interrupted:
                note(
                    f"The job “{job.kind}” from {job.asked_at} was interrupted when the server "
                    "stopped. Completed work is saved; start it again to finish"
                )
            guarded = " Requests need the token." if token else ""
            note(f"Serving {library.path.name} at {address}  (press Ctrl-C to stop).{guarded}")
            if open_:
                typer.launch(address)

        for job in run(library, settings, on_start):
            note(f"The job “{job.kind}” did not finish; it will be listed at the next start")


class WebUnavailable(LpiSearchError):
    """The libraries that serve pages are not installed."""

    def __init__(self) -> None:
        super().__init__("The web server is not installed.", "pip install 'lpisearch[web]'")


def _sample(folder: Path) -> Library:
    """Make a library of the sample corpus, with its index."""
    from lpisearch.library import open_library

    library = open_library(folder / "demo.db")
    documents = shipped_folder("sample_corpus") / "documents"
    library.ingest(documents, options=IngestOptions(read=ReadOptions(labels="folder")))
    library.index()
    return library
