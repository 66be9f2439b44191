"""Display width of text in terminal columns."""

from __future__ import annotations

import unicodedata


def width_of(text: str) -> int:
    """Count the columns."""
    return len(text) if text.isascii() else sum(map(_width, text))


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Fill a text with blanks; with `right` it ends at the last column."""
    blanks = " " * (width - width_of(text))
    return blanks + text if right else text + blanks


def shortened(text: str, width: int, ellipsis: str = "…") -> str:
    """Cut a text that is too wide, with a sign that something is left out."""
    if width_of(text) <= width:
        return text
    room = width - width_of(ellipsis)
    while text and width_of(text) > room:
        text = text[:-1]
    return text.rstrip() + ellipsis


def _width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
