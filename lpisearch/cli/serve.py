"""`lpisearch serve`: serve the library as web pages and a JSON API."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli.render import note
from lpisearch.errors import BadOption, LpiSearchError
from lpisearch.settings import IngestOptions, ReadOptions, shipped_folder
from lpisearch.settings.serving import DEFAULT_HOST, DEFAULT_PORT, ServeLimits, ServeSettings

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
    shard: Annotated[
        str,
        typer.Option("--shard", metavar="K/N", help="Serve shard K of a library split into N."),
    ] = "",
    shards: Annotated[
        str,
        typer.Option(
            "--shards",
            metavar="URL,URL",
            help="Serve a library whose shards run on these servers (all with the same token).",
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
        library = _chosen(context, shard, shards, token)
        if demo:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            library = stack.enter_context(_sample(folder))
            roots = (*roots, shipped_folder("sample_corpus"))
        limits = ServeLimits(requests_per_second=0) if shard else ServeLimits()
        is_fixed = read_only or bool(shard) or library.is_sharded
        names = tuple(name or ())
        settings = ServeSettings(host, port, is_fixed, roots, token, names, limits=limits)

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


def _chosen(context: typer.Context, shard: str, shards: str, token: str) -> Library:
    """Return what is to be served: a library, one shard of it, or what stands before shards."""
    if shard and shards:
        raise BadOption("shard", "cannot be combined with --shards")
    if shards:
        from lpisearch.sharded import connect_shards

        return connect_shards([url.strip() for url in shards.split(",") if url.strip()], token)
    library: Library = context.obj.library
    return library.shard(shard) if shard else library


def _sample(folder: Path) -> Library:
    """Make a library of the sample corpus, with its index."""
    from lpisearch.sharded import open_library

    library = open_library(folder / "demo.db")
    documents = shipped_folder("sample_corpus") / "documents"
    library.ingest(documents, options=IngestOptions(read=ReadOptions(labels="folder")))
    library.index()
    return library
