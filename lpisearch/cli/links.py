"""Links to files, for terminals that can follow them (OSC 8)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_WITHOUT = ("dumb", "linux", "vt", "eterm", "emacs")
_FIRST_VTE = 5000  # GNOME's terminals before 0.50 showed such links as rubbish


def can_link() -> bool:
    """Tell whether the terminal takes links: nearly all do, or pass over them.

    `FORCE_HYPERLINK` set to 1 or 0 decides, as in other programs.
    """
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced != "0"
    terminal = os.environ.get("TERM", "dumb").lower()
    if not sys.stdout.isatty() or terminal.startswith(_WITHOUT):
        return False
    version = os.environ.get("VTE_VERSION", "")
    return not version.isdecimal() or int(version) >= _FIRST_VTE


def link_to(path: str, page: str = "") -> str:
    """Return the address of a file, and of a page in it; "" where there is none to follow."""
    file = Path(path) if path else None
    if file is None or not file.is_absolute() or not can_link():
        return ""
    address = file.as_uri()
    is_pdf = file.suffix.lower() == ".pdf" and page.isdecimal()
    return f"{address}#page={page}" if is_pdf else address
