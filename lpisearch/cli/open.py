"""`lpisearch open`: open a search result or document in its default program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli import completion
from lpisearch.cli.answers import Place, recall
from lpisearch.cli.invocation import names_library
from lpisearch.cli.opener import open_place
from lpisearch.cli.render import Json, print_json, say

if TYPE_CHECKING:
    from pathlib import Path


def open_(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="N|DOCUMENT",
            help="Result number, document id or path.",
            autocompletion=completion.documents,
        ),
    ] = "1",
    json: Json = False,
) -> None:
    """Open a result of the last search, or a document, in its default program.

    PDF files open at the page of the passage, if the viewer supports it.
    """
    place = _place(context, what)
    if json:
        file = _open(context, place)
        print_json({"id": place.id, "file": str(file), "page": place.page})
    else:
        open_and_say(context, place)


def open_and_say(context: typer.Context, place: Place, *, aside: bool = False) -> None:
    """Open a place as the person wants it, and say so; with `aside` beside another result."""
    file = _open(context, place)
    say(f"Opened {file}{f', page {place.page}' if place.page else ''}.", aside=aside)


def _open(context: typer.Context, place: Place) -> Path:
    chosen = context.obj.preferences.get("opener")
    return open_place(place, "" if chosen is None else chosen.value)


def _place(context: typer.Context, what: str) -> Place:
    library = context.obj.library
    if what.isdecimal():
        return recall(int(what), library.path if names_library(context) else None)
    found = library.document(what)
    return Place(found.id or what, found.path)
