"""`lpisearch db`: upgrade, check and back up the library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lpisearch.cli.commands import VerbCommand, VerbGroup
from lpisearch.cli.render import Json, print_json, say

app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Upgrade, check and back up the library.",
)


@app.command(cls=VerbCommand)
def upgrade(context: typer.Context, json: Json = False) -> None:
    """Upgrade an older library to the current schema (any other command does this too)."""
    done = context.obj.library.upgrade()
    if json:
        print_json(done)
        return
    say(f"{done['library']} is at schema {done['schema']}.")
    if done["copy"]:
        say(f"A copy of the old library is in {done['copy']}.")


@app.command(cls=VerbCommand)
def check(context: typer.Context, json: Json = False) -> None:
    """Compare the database tables with the expected schema."""
    differences = context.obj.library.schema_differences()
    if json:
        print_json({"ok": not differences, "differences": differences})
    elif not differences:
        say("The tables match the expected schema.")
    else:
        say("\n".join(differences))
    if differences:
        raise typer.Exit(1)


@app.command(cls=VerbCommand)
def backup(
    context: typer.Context,
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Backup file (default: a dated name next to the library)."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Back up the library, even while it is in use."""
    copy = context.obj.library.back_up(target)
    if json:
        print_json({"copy": str(copy)})
    else:
        say(f"Copied to {copy}.")


@app.command(cls=VerbCommand)
def vector(
    context: typer.Context,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT", help="A query, as for `lpisearch query`.")
    ],
    index: Annotated[str, typer.Option(metavar="NAME", help="Index to use.")] = "default",
    json: Json = False,
) -> None:
    """Print the vector of a query in pgvector syntax."""
    found = [
        round(float(each), 7) for each in context.obj.library.vector(" ".join(text), index=index)
    ]
    if json:
        print_json({"vector": found})
    else:
        say(f"[{','.join(map(str, found))}]")


@app.command(cls=VerbCommand)
def retokenise(
    context: typer.Context,
    language: Annotated[
        str, typer.Option(metavar="auto|NAME", help="New language (default: the current one).")
    ] = "",
    json: Json = False,
) -> None:
    """Split all documents into words again, for example in another language."""
    number = context.obj.library.retokenise(language)
    if json:
        print_json({"documents": number})
    else:
        say(f"Documents split into words again: {number:,}.")
