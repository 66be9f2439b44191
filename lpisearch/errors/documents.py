"""Errors for missing documents and unreadable files."""

from __future__ import annotations

from lpisearch.errors.base import LpiSearchError
from lpisearch.messages import call
from lpisearch.wording import printable


class DocumentNotFound(LpiSearchError):
    """No document has the id or path."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No document has the id or path “{name}”.", call("entries"))


class SeveralDocuments(LpiSearchError):
    """The file of that path holds more than one document."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__(
            f"{path} contains {number:,} documents; choose one by id.",
            call("entries", path=path),
        )


class NotUnicode(LpiSearchError):
    """What was typed is not valid Unicode; no document and no file is called so."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"“{printable(text)}” is not valid Unicode.",
            "check how it was typed or encoded",
        )


class NothingThere(LpiSearchError):
    """A PATH names no file, no folder, and matches nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No such file or folder: {name}.", "check the path, or put it in quotes")


class ReaderError(LpiSearchError):
    """One file could not be read. The message names the reason, the caller knows the file."""
