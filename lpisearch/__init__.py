"""Semantic document search and classification on a plain CPU.

>>> import lpisearch
>>> library = lpisearch.open("notes.db")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpisearch.library import Library
    from lpisearch.library import open_library as open  # noqa: A004 (lpisearch.open reads best)
    from lpisearch.records import Document, Entry, Filter, Finding, IngestReport
    from lpisearch.settings import IngestOptions, ReadOptions

__version__ = "0.1.0"

__all__ = [
    "Document",
    "Entry",
    "Filter",
    "Finding",
    "IngestOptions",
    "IngestReport",
    "Library",
    "ReadOptions",
    "open",
]

_HOMES = {
    "lpisearch.library": ("Library",),
    "lpisearch.records": ("Document", "Entry", "Filter", "Finding", "IngestReport"),
    "lpisearch.settings": ("IngestOptions", "ReadOptions"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `lpisearch --help` answers at once."""
    if name == "open":
        return import_module("lpisearch.library").open_library
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    message = f"module 'lpisearch' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
