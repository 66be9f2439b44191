"""Programs of the system that show a file, or the folder that contains it.

Only existing files are opened, and none that the system would run instead of showing.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.errors import LpiSearchError
from lpisearch.messages import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class HitLocation:
    """Where a result is: the id of the document, its file, and the page of its best passage."""

    id: str
    path: str
    page: str = ""


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


def show_in_folder(file: Path) -> None:
    """Show the folder of a file in the system's file manager."""
    location = HitLocation(file.name, str(file))
    file = _file_of(location)
    if sys.platform == "darwin":
        _start(["open", "-R", str(file)], location)
    elif sys.platform == "win32":  # pragma: no cover (as above)
        _start(["explorer", f"/select,{file}"], location)
    else:
        _start(["xdg-open", str(file.parent)], location)


def has_viewer() -> bool:
    """Tell whether this machine can show a window: a server without a screen cannot."""
    if sys.platform in {"darwin", "win32"}:
        return True
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen) and shutil.which("xdg-open") is not None


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
