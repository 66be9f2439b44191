"""Errors of opening, reading and writing libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors.base import LpiSearchError
from lpisearch.messages import Message, Option, call

if TYPE_CHECKING:
    from pathlib import Path

    from lpisearch.places import Place


class LibraryError(LpiSearchError):
    """The library as a whole cannot be used as asked."""


class LibraryNotFound(LibraryError):
    """There is no database at the path."""

    def __init__(self, path: Place) -> None:
        super().__init__(
            f"No library found at {path}.",
            Message(
                call("ingest", "PATH"),
                " creates one; to use another: ",
                call("open", "FILE"),
                ", LPISEARCH_DB=FILE, or for all folders ",
                call("settings", "library", "FILE"),
            ),
        )


class NotALibrary(LibraryError):
    """The file exists, but it is not one of ours."""

    def __init__(self, path: Place, reason: str) -> None:
        super().__init__(
            f"{path} is not an lpisearch library: {reason}.",
            Message("use another file: ", call("open", "FILE")),
        )


class LibraryTooNew(LibraryError):
    """The schema is from a later version of the program."""

    def __init__(self, path: Place, revision: str) -> None:
        super().__init__(
            f"{path} was written by a newer lpisearch (schema {revision}).",
            "pip install --upgrade lpisearch",
        )


class LibraryLocked(LibraryError):
    """Another process is writing to the library."""

    def __init__(self, path: Place, holder: str) -> None:
        super().__init__(
            f"{path} is locked: {holder} is writing to it.",
            Message(
                "wait for it to finish, or wait longer with ", Option("wait_seconds", "SECONDS")
            ),
        )


class LibraryUnwritable(LibraryError):
    """The library cannot be written; what it held before is intact."""

    def __init__(self, path: Place, reason: str) -> None:
        super().__init__(
            f"Cannot write to {path}: {reason}. Existing data is intact.",
            "free some space or check the permissions, then run the same command again",
        )


class SeveralNames(LibraryError):
    """Hard links give the file more than one name: SQLite writes such a file at its peril."""

    def __init__(self, path: Path, number: int) -> None:
        super().__init__(
            f"{path} has {number} hard links; writing to it is not safe.",
            Message("remove the other links, or work on a copy: ", call("back_up")),
        )


class LibraryDamaged(LibraryError):
    """The file is not as it was written: a disk, or another program, changed it."""

    def __init__(self, path: Place, reason: str) -> None:
        super().__init__(f"{path} is damaged: {reason}.", call("examine"))


class DocumentDamaged(LibraryError):
    """What the library holds of a document is not as it was written."""

    def __init__(self, name: str, file: str) -> None:
        super().__init__(
            f"The document “{name}” is damaged in the library.",
            Message("restore it from ", file, ": ", call("examine", repair=True)),
        )


class LibraryUnreachable(LibraryError):
    """The server of its database cannot be reached, or does not let it be used."""

    def __init__(self, place: Place, reason: str, next_step: str) -> None:
        super().__init__(f"Cannot use {place}: {reason}.", next_step)


class AddressRefused(LibraryUnreachable):
    """What was given for an address of a database is none."""

    def __init__(self, place: Place) -> None:
        super().__init__(
            place,
            "the address is invalid",
            "write it as postgresql://USER@HOST:PORT/DATABASE, with %40 for an @ in a password",
        )


class ServerTooOld(LibraryError):
    """The server of its database lacks what is needed."""

    def __init__(self, place: Place, reason: str, next_step: str) -> None:
        super().__init__(f"{place} cannot hold a library: {reason}.", next_step)


class DriverMissing(LibraryError):
    """What speaks with PostgreSQL is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "PostgreSQL libraries require psycopg.", "pip install 'lpisearch[postgres]'"
        )


class VectorsUnavailable(LibraryError):
    """Vectors cannot be written to a table for other programs."""

    def __init__(self, reason: str, next_step: str) -> None:
        super().__init__(f"Vectors cannot be exported: {reason}.", next_step)
