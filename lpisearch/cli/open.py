"""Open a document in its default program.

Only existing files are opened, and none that the system would run instead of showing.
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
from lpisearch.cli.hits import HitLocation, recall
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
    location = _location(context, what)
    if json:
        file = _open(context, location)
        print_json({"id": location.id, "file": str(file), "page": location.page})
    else:
        open_and_say(context, location)


def open_and_say(context: typer.Context, location: HitLocation, *, aside: bool = False) -> None:
    """Open a location and report it; with `aside` on stderr, next to other results."""
    file = _open(context, location)
    say(f"Opened {file}{f', page {location.page}' if location.page else ''}.", aside=aside)


def _open(context: typer.Context, location: HitLocation) -> Path:
    chosen = context.obj.preferences.get("opener")
    return open_location(location, "" if chosen is None else chosen.value)


def _location(context: typer.Context, what: str) -> HitLocation:
    library = context.obj.library
    if what.isdecimal():
        return recall(int(what), library.path if names_library(context) else None)
    document = library.document(what)
    return HitLocation(document.id or what, document.path)


# What a double click would run.
# fmt: off
_PROGRAMS = frozenset((
    ".app", ".appimage", ".bat", ".cmd", ".com", ".command", ".cpl", ".desktop", ".exe", ".hta",
    ".inf", ".jar", ".js", ".jse", ".lnk", ".msc", ".msi", ".pif", ".pl", ".ps1", ".py", ".pyw",
    ".rb", ".reg", ".run", ".scpt", ".scr", ".sh", ".terminal", ".tool", ".url", ".vb", ".vbe",
    ".vbs", ".webloc", ".workflow", ".ws", ".wsf", ".wsh",
))
# fmt: on
# How to open a PDF file at a page, by the name of the viewer's desktop entry.
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
"""Viewers that may still be open, so that those that ended can be reaped."""


def open_location(location: HitLocation, opener: str = "") -> Path:
    """Open the file of a document, at its page if the viewer can; return the file.

    `opener` is the user's command, with {file} and {page}; "" uses the system's program. Raises
    `LpiSearchError` if there is no file, it is a program, or nothing opens it.
    """
    file = _file_of(location)
    if opener:
        _start(_filled(shlex.split(opener), file, location.page), location)
    elif file.suffix.lower() in _PROGRAMS:
        raise LpiSearchError(f"{file} is a program; it is not opened for safety.", _show(location))
    elif sys.platform == "win32":  # pragma: no cover (no such call elsewhere)
        os.startfile(file)  # noqa: S606 (the system's own opener)
    else:
        _start(_command(file, location.page), location)
    return file


def _file_of(location: HitLocation) -> Path:
    if not location.path or not Path(location.path).is_absolute():
        raise LpiSearchError(f"“{location.id}” has no file to open.", _show(location))
    file = Path(location.path)
    if location.path.startswith(("//", "\\\\")) or not file.is_file():
        raise LpiSearchError(f"{file} no longer exists.", _show(location))
    return file


def _show(location: HitLocation) -> str:
    return f"lpisearch docs show {shlex.quote(location.id)}"


def _command(file: Path, page: str) -> list[str]:
    """Return the command of a viewer that can open the page, or of the system's opener."""
    if sys.platform == "darwin":
        return ["open", str(file)]
    viewer = _viewer() if page and file.suffix.lower() == ".pdf" else ()
    return _filled(viewer, file, page) if viewer else ["xdg-open", str(file)]


def _viewer() -> Sequence[str]:
    """Return how to open a page in the default PDF viewer; () if unknown."""
    question = ["xdg-mime", "query", "default", "application/pdf"]
    try:
        done = subprocess.run(  # noqa: S603 (fixed words)
            question, capture_output=True, text=True, timeout=_SECONDS, check=False
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
                word = word.replace(sign, value)  # noqa: PLW2901 (filled one by one)
        filled.append(word)
    has_placeholder = any("{file}" in word or "{url}" in word for word in words)
    return filled if has_placeholder else [*filled, str(file)]


def _start(command: Sequence[str], location: HitLocation) -> None:
    """Start a viewer without waiting for it."""
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
            f"No program could open {location.path} ({reason}).",
            f"lpisearch config set opener COMMAND, or {_show(location)}",
        ) from error
