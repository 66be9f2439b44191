"""`lpisearch db`: the schema of the library, copies of it, and its tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lpisearch.cli.commands import VerbCommand, VerbGroup
from lpisearch.cli.progress import stage_line
from lpisearch.cli.render import Json, print_json, say

app = typer.Typer(
    cls=VerbGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Upgrade, check and copy the library.",
)


@app.command(cls=VerbCommand)
def upgrade(context: typer.Context, json: Json = False) -> None:
    """Bring an older library to this program's schema (any other command does so by itself)."""
    done = context.obj.library.upgrade()
    if json:
        print_json(done)
        return
    say(f"{done['library']} has schema {done['schema']}.")
    if done["copy"]:
        say(f"The library as it was is kept in {done['copy']}.")


@app.command(cls=VerbCommand)
def check(context: typer.Context, json: Json = False) -> None:
    """Compare the tables with what this program expects."""
    differences = context.obj.library.schema_differences()
    if json:
        print_json({"ok": not differences, "differences": differences})
    elif not differences:
        say("The tables are as this program expects.")
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
            metavar="FILE", help="The copy; a dated name beside the library if not given."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Copy the library, even while it is being written."""
    copy = context.obj.library.back_up(target)
    if json:
        print_json({"copy": str(copy)})
    else:
        say(f"Copied to {copy}.")


@app.command(cls=VerbCommand)
def split(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder, not there yet.")],
    shards: Annotated[
        int, typer.Option("--shards", metavar="N", min=1, help="How many libraries in it.")
    ] = 2,
    json: Json = False,
) -> None:
    """Write the library with its indexes as shards, which one or several servers open."""
    with stage_line() as line:
        done = context.obj.library.split(folder, shards, on_stage=line.stage)
    if json:
        print_json(done)
        return
    counts = ", ".join(f"{number:,}" for number in done["documents"])
    say(f"{done['folder']} has {done['shards']} shards of {counts} documents.")


@app.command(cls=VerbCommand)
def vector(
    context: typer.Context,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="A question, as for query.")],
    index: Annotated[str, typer.Option(metavar="NAME", help="The index.")] = "default",
    json: Json = False,
) -> None:
    """Print the vector of a question, as pgvector takes it."""
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
        str, typer.Option(metavar="auto|NAME", help="The new language; the old one if not given.")
    ] = "",
    json: Json = False,
) -> None:
    """Cut the words of all documents anew, perhaps in another language."""
    number = context.obj.library.retokenise(language)
    if json:
        print_json({"documents": number})
    else:
        say(f"{number:,} documents.")
