"""Open a hit in its program.

Only files that are there are opened, none that the system would run in place of showing it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli import options as typed
from lpisearch.cli.commands import names_library
from lpisearch.cli.hits import Place, recall
from lpisearch.cli.output import Json, print_json, say
from lpisearch.errors import LpiSearchError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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


# What a double click would start: a document of this name is shown as text instead.
# fmt: off
_PROGRAMS = frozenset((
    ".app", ".appimage", ".bat", ".cmd", ".com", ".command", ".cpl", ".desktop", ".exe", ".hta",
    ".inf", ".jar", ".js", ".jse", ".lnk", ".msc", ".msi", ".pif", ".pl", ".ps1", ".py", ".pyw",
    ".rb", ".reg", ".run", ".scpt", ".scr", ".sh", ".terminal", ".tool", ".url", ".vb", ".vbe",
    ".vbs", ".webloc", ".workflow", ".ws", ".wsf", ".wsh",
))
# fmt: on
# How viewers of PDF files are told a page, by the name of their entry in the desktop.
_VIEWERS: Mapping[str, tuple[str, ...]] = {
    "evince": ("evince", "--page-label={page}", "{file}"),
    "papers": ("papers", "--page-label={page}", "{file}"),
    "atril": ("atril", "--page-label={page}", "{file}"),
    "xreader": ("xreader", "--page-label={page}", "{file}"),
    "okular": ("okular", "--page={page}", "{file}"),
    "zathura": ("zathura", "--page={page}", "{file}"),
    "mupdf": ("mupdf", "{file}", "{page}"),
    "xpdf": ("xpdf", "{file}", "{page}"),
    "qpdfview": ("qpdfview", "{file}#{page}"),
    "firefox": ("firefox", "{url}#page={page}"),
    "chromium": ("chromium", "{url}#page={page}"),
    "google-chrome": ("google-chrome", "{url}#page={page}"),
}
_SECONDS = 5
_STARTED: list[subprocess.Popen[bytes]] = []
"""Viewers that may still be open; the system forgets one that has ended when it is asked for."""


def open_place(place: Place, opener: str = "") -> Path:
    """Open the file of a document, at its page where the viewer can; return the file.

    Parameters
    ----------
    place
        The document.
    opener
        A command of the person's own, with {file} and {page}; else what the system opens it with.

    Raises
    ------
    LpiSearchError
        There is no such file, it is not one to be opened, or nothing opens it.
    """
    file = _file_of(place)
    if opener:
        _start(_filled(shlex.split(opener), file, place.page), place)
    elif file.suffix.lower() in _PROGRAMS:
        raise LpiSearchError(f"{file} is a program; it is not opened for safety.", _show(place))
    elif sys.platform == "win32":  # pragma: no cover (there is no such call elsewhere)
        os.startfile(file)  # noqa: S606 (the system's own opener)
    else:
        _start(_command(file, place.page), place)
    return file


def _file_of(place: Place) -> Path:
    if not place.path or not Path(place.path).is_absolute():
        raise LpiSearchError(f"“{place.id}” has no file to open.", _show(place))
    file = Path(place.path)
    if place.path.startswith(("//", "\\\\")) or not file.is_file():
        raise LpiSearchError(f"{file} no longer exists.", _show(place))
    return file


def _show(place: Place) -> str:
    return f"lpisearch docs show {shlex.quote(place.id)}"


def _command(file: Path, page: str) -> list[str]:
    """Return the viewer with the page, where it is known how to tell it one, or the system's."""
    if sys.platform == "darwin":
        return ["open", str(file)]
    viewer = _viewer() if page and file.suffix.lower() == ".pdf" else ()
    return _filled(viewer, file, page) if viewer else ["xdg-open", str(file)]


def _viewer() -> Sequence[str]:
    """Return how the person's viewer of PDF files takes a page; nothing if that is not known."""
    asked = ["xdg-mime", "query", "default", "application/pdf"]
    try:
        done = subprocess.run(  # noqa: S603 (fixed words)
            asked, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    entry = done.stdout.strip().lower().removesuffix(".desktop")
    named = next((name for name in _VIEWERS if name in entry), "")
    return _VIEWERS[named] if named and shutil.which(_VIEWERS[named][0]) else ()


def _filled(words: Sequence[str], file: Path, page: str) -> list[str]:
    """Return a command with file and page in the places it has for them; the file at the end."""
    values = {"{file}": str(file), "{url}": file.as_uri(), "{page}": page or "1"}
    filled = []
    for word in words:
        for sign, value in values.items():
            if sign in word:
                word = word.replace(sign, value)  # noqa: PLW2901 (filled place by place)
        filled.append(word)
    has_place = any("{file}" in word or "{url}" in word for word in words)
    return filled if has_place else [*filled, str(file)]


def _start(command: Sequence[str], place: Place) -> None:
    """Start a viewer, and leave it alone."""
    nothing = subprocess.DEVNULL
    _STARTED[:] = [viewer for viewer in _STARTED if viewer.poll() is None]
    try:
        _STARTED.append(
            subprocess.Popen(  # noqa: S603 (no shell; the file is one argument)
                command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
            )
        )
    except (OSError, ValueError) as error:
        reason = f"{command[0]}: {getattr(error, 'strerror', None) or error}"
        raise LpiSearchError(
            f"No program could open {place.path} ({reason}).",
            f"lpisearch config set opener COMMAND, or {_show(place)}",
        ) from error
