"""Errors of building, opening, using and evaluating indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors.base import LpiSearchError
from lpisearch.messages import Message, call

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class SubspaceError(LpiSearchError):
    """A subspace index cannot be built, opened or used. The documents are safe."""


class IndexNotFound(SubspaceError):
    """The library has no index of that name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        others = ", ".join(known)
        super().__init__(
            f"The library has no index “{name}”" + (f"; it has: {others}." if others else "."),
            call("index", name=name) if others else call("index"),
        )


class IndexDamaged(SubspaceError):
    """A file of the index is missing, cut short or changed."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"The index in {folder} is damaged: {reason}.", call("index"))


class IndexUnreadable(SubspaceError):
    """The system refuses to open a file of the index, which may well be whole."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(
            f"The index in {folder} cannot be read: {reason}.",
            "check permissions, free memory and the limit on open files (ulimit -n)",
        )


class IndexTooNew(SubspaceError):
    """The folder is of a later format."""

    def __init__(self, folder: Path, number: int) -> None:
        super().__init__(
            f"The index in {folder} was written by a newer lpisearch (format {number}).",
            Message("pip install --upgrade lpisearch, or rebuild the index: ", call("index")),
        )


class IndexOutdated(SubspaceError):
    """The folder is whole, but of an earlier version that wrote less."""

    def __init__(self, name: str, missing: Iterable[str]) -> None:
        lacks = ", ".join(missing)
        super().__init__(
            f"The index “{name}” was written by an older lpisearch and lacks {lacks}.",
            call("index"),
        )


class IndexUnwritable(SubspaceError):
    """The folder cannot be written; the index that was in use is intact."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(
            f"Cannot write an index to {folder}: {reason}. The previous index is intact.",
            "free some space or check the permissions, then run the same command again",
        )


class ClassifierNotFound(SubspaceError):
    """The index has no classifier of the kind that is asked for."""


class NothingToIndex(SubspaceError):
    """There is nothing from which a subspace could be learned."""


class NothingToEvaluate(LpiSearchError):
    """There are no labels or judgements that an evaluation could compare with."""
