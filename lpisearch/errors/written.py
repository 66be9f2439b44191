"""Errors of reports, plots and config files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors.base import LpiSearchError
from lpisearch.messages import Message, Option

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class ReportUnwritable(LpiSearchError):
    """A report or a picture cannot be written; an earlier one is intact."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"Cannot write the report to {path}: {reason}. Existing files are unchanged.",
            "choose another folder, free some space or check the permissions",
        )


class FileInTheWay(LpiSearchError):
    """What would be replaced is a library, or any other file than the kind to be written."""

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(
            f"{path} already exists and is not {kind}.",
            Message("choose another name, or overwrite it with ", Option("force", value=True)),
        )


class PlotUnavailable(LpiSearchError):
    """The library that draws pictures is not installed."""

    def __init__(self) -> None:
        super().__init__("Plots require matplotlib.", "pip install 'lpisearch[plot]'")


class BadPreference(LpiSearchError):
    """A file of settings cannot be read, or says something that means nothing."""

    def __init__(
        self, file: Path, line: int | None, reason: str, choices: Iterable[str] = ()
    ) -> None:
        place = f"{file}, line {line}" if line else f"{file}"
        known = ", ".join(choices)
        super().__init__(
            f"{place}: {reason}.",
            f"edit the file; allowed values: {known}" if known else "edit the file",
        )


class PreferencesUnwritable(LpiSearchError):
    """A file of settings cannot be written; it is as it was."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(
            f"Cannot write the settings to {file}: {reason}.",
            "free some space or check the permissions, then run the same command again",
        )
