"""Open a document, or a result of the last search, in its default program, or show it here.

Manual pages, messages of a mailbox, compressed files and what is inside other files are shown by
this program: few viewers show them as they were read. The last search is stored in the state
folder, so that its results can be opened by their numbers.
"""

from __future__ import annotations

import json as json_format
import re
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli import options as typed
from lpisearch.cli.commands import names_library
from lpisearch.cli.hits import state_folder
from lpisearch.cli.output import Json, print_json, print_prose, say
from lpisearch.errors import LpiSearchError
from lpisearch.files import whole_file
from lpisearch.viewers import HitLocation, open_location

if TYPE_CHECKING:
    from lpisearch.location import Location
    from lpisearch.model.answers import Answer
    from lpisearch.model.documents import Document


def open_(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="N|DOCUMENT",
            help="Result number, document id or path.",
            autocompletion=typed.documents,
        ),
    ] = "1",
    json: Json = False,
) -> None:
    """Open a result of the last search, or a document, in its default program.

    PDF files open at the page of the passage, if the viewer supports it. Manual pages, mailboxes
    and compressed files are shown here.
    """
    location = _location(context, what)
    if json:
        facts = {"id": location.id, "file": location.path, "page": location.page}
        if _is_shown_here(context, location):
            text = context.obj.library.document(location.id).text
            print_json({**facts, "text": text})
        else:
            print_json({**facts, "file": str(_open(context, location))})
    else:
        open_and_say(context, location)


def open_and_say(context: typer.Context, location: HitLocation, *, aside: bool = False) -> None:
    """Open a location and report it; with `aside` on stderr, next to other results."""
    if _is_shown_here(context, location) and not aside:
        _show_here(context.obj.library.document(location.id))
        return
    file = _open(context, location)
    say(f"Opened {file}{f', page {location.page}' if location.page else ''}.", aside=aside)


def _open(context: typer.Context, location: HitLocation) -> Path:
    chosen = context.obj.preferences.get("opener")
    return open_location(location, "" if chosen is None else chosen.value)


# Formats that a viewer would show as source text or not at all.
_SHOWN = re.compile(
    r"\.(?:gz|bz2|xz|zip|tar|tgz|tbz2|txz|mbox|mbx|man|mdoc|[1-9][a-z]{0,2})$", re.IGNORECASE
)


def _is_shown_here(context: typer.Context, location: HitLocation) -> bool:
    """Tell whether this program shows a document itself; never if the user chose an opener."""
    if context.obj.preferences.get("opener") is not None:
        return False
    path = Path(location.path)
    is_inside = f"{path.name}/" in location.id or ("#" in location.id and not path.suffix)
    return bool(location.path) and (is_inside or _SHOWN.search(path.name) is not None)


def _show_here(document: Document) -> None:
    """Print a document, on a terminal through a pager."""
    from lpisearch.cli.query import paged

    def show() -> None:
        if document.title and not document.text.startswith(document.title):
            say(f"{document.title}\n")
        print_prose(document.text)

    paged(show)


def _location(context: typer.Context, what: str) -> HitLocation:
    library = context.obj.library
    if what.isdecimal():
        return recall(int(what), library.path if names_library(context) else None)
    document = library.document(what)
    return HitLocation(document.id or what, document.path)


_OWNER_ONLY = 0o600
_NEXT = "lpisearch search TEXT"


def remember(library: Location, answer: Answer) -> None:
    """Store the locations of results under their numbers; a failure is ignored."""
    locations = {
        str(hit.rank): asdict(HitLocation(hit.id, hit.path, hit.snippet.page)) for hit in answer
    }
    text = json_format.dumps({"library": str(library.absolute()), "hits": locations})
    with suppress(OSError, UnicodeEncodeError):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with whole_file(file, _OWNER_ONLY) as stream:
            stream.write(text.encode())


def recall(number: int, library: Location | None = None) -> HitLocation:
    """Return where a result of the last search is.

    Raises `LpiSearchError` if there is none, or if the search was in another library.
    """
    try:
        stored = json_format.loads(_file().read_bytes())
        searched, hits = str(stored["library"]), stored["hits"]
    except (OSError, ValueError, KeyError, TypeError):
        raise LpiSearchError("There is no earlier search to open a result from.", _NEXT) from None
    if library is not None and str(library.absolute()) != searched:
        raise LpiSearchError(f"The last search was in {searched}, not in {library}.", _NEXT)
    try:
        return HitLocation(**hits[str(number)])
    except KeyError:
        present = f"results {min(map(int, hits))} to {max(map(int, hits))}" if hits else "nothing"
        raise LpiSearchError(
            f"The last search has no result {number}; it returned {present}.", _NEXT
        ) from None


def _file() -> Path:
    return state_folder() / "last-answer.json"
