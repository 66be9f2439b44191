"""How numbers of things and names of labels are said in notes and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.reports.cells import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMED = 5


def counted(number: int, thing: str, things: str = "") -> str:
    """Say how many there are: "1 class", "2 classes"."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def are(number: int, thing: str, things: str = "") -> str:
    """Say how many are something: "1 document is", "2 documents are"."""
    return f"{counted(number, thing, things)} {'is' if number == 1 else 'are'}"


def have(number: int, thing: str, things: str = "") -> str:
    """Say how many have something: "1 document has", "2 documents have"."""
    return f"{counted(number, thing, things)} {'has' if number == 1 else 'have'}"


def quoted(names: Sequence[str]) -> str:
    """Name things as they were given, in quotation marks and without control characters."""
    return ", ".join(f"“{printable(name)}”" for name in names)


def some(names: Sequence[str]) -> str:
    """Name the first few things."""
    listed = ", ".join(printable(name) for name in names[:_NAMED])
    return listed + (", …" if len(names) > _NAMED else "")
