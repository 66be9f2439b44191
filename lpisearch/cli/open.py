"""Open a document in its default program, or show it here.

Only existing files are opened, and none that the system would run instead of showing. Manual pages,
messages of a mailbox, compressed files and what is inside other files are shown by this program:
few viewers show them as they were read.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli import options as typed
from lpisearch.cli.commands import names_library
from lpisearch.cli.hits import HitLocation, recall
from lpisearch.cli.output import Json, print_json, print_prose, say
from lpisearch.errors import LpiSearchError
from lpisearch.messages import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


_STATUS_SECONDS = 2.0  # in which a program that cannot open a file says so; a viewer stays open
_NO_PROGRAM = {"xdg-open": {3: "no program for it is installed", 4: "no program opened it"}}


def _start(command: Sequence[str], location: HitLocation) -> None:
    """Start a viewer; wait for its exit status if it ends soon."""
    nothing = subprocess.DEVNULL
    _STARTED[:] = [viewer for viewer in _STARTED if viewer.poll() is None]
    with tempfile.TemporaryFile() as errors:
        try:
            viewer = subprocess.Popen(  # noqa: S603 (no shell; the file is one argument)
                command, stdin=nothing, stdout=nothing, stderr=errors, start_new_session=True
            )
        except (OSError, ValueError) as error:
            reason = f"{command[0]}: {getattr(error, 'strerror', None) or error}"
            raise _not_opened(location, reason) from error
        _STARTED.append(viewer)
        try:
            status = viewer.wait(_STATUS_SECONDS)
        except subprocess.TimeoutExpired:
            return
        if status:
            errors.seek(0)
            said = errors.read(_LONGEST_REASON).decode(errors="replace").strip().split("\n")[-1]
            known = _NO_PROGRAM.get(command[0], {}).get(status, said or f"status {status}")
            raise _not_opened(location, f"{command[0]}: {known}")


_LONGEST_REASON = 10_000


def _not_opened(location: HitLocation, reason: str) -> LpiSearchError:
    return LpiSearchError(
        f"No program could open {location.path} ({printable(reason)}).",
        f"lpisearch config set opener COMMAND, or {_show(location)}",
    )
