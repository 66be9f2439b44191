"""Every error stated to a user.

```text
LpiSearchError                 what happened, and what to do next
├── LibraryError
│   ├── LibraryNotFound        no database at that path
│   ├── NotALibrary            the file is something else
│   ├── LibraryTooNew          written by a later version of the program
│   ├── LibraryLocked          another process is writing
│   ├── SeveralNames           hard links give the file two names
│   ├── LibraryUnwritable      folder or file cannot be written, or the disk is full
│   ├── LibraryUnreachable     the server of its database cannot be reached, or refuses
│   │   └── AddressRefused     its address cannot be understood
│   ├── ServerTooOld           the server of its database lacks what is needed
│   ├── VectorsUnavailable     vectors cannot be written to a table for other programs
│   ├── DriverMissing          what speaks with such a server is not installed
│   ├── LibraryDamaged         the file is not as it was written
│   └── DocumentDamaged        one document in it is not as it was written
├── SubspaceError
│   ├── IndexNotFound          the library has no such index
│   ├── IndexDamaged           a file of the index is not as it was written
│   ├── IndexUnreadable        the system does not let it be read now; it may be whole
│   ├── IndexTooNew            written by a later version of the program
│   ├── IndexOutdated          written by an earlier version of the program, which wrote less
│   ├── IndexUnwritable        its folder cannot be written
│   ├── ClassifierNotFound     the index has learned no labels
│   └── NothingToIndex         no documents, or none that differ
├── NothingToEvaluate          no labels, or none that differ
├── DocumentNotFound           no document has that id
├── SeveralDocuments           the file of that path holds more than one
├── NotUnicode                 a name that is no text, so that nothing is called so
├── NothingThere               a path names no file and no folder, and matches nothing
├── ReaderError                one file could not be read; the run goes on
├── ReportUnwritable           a report or a picture cannot be written
├── FileInTheWay               what would be replaced is no file of the kind to be written
├── PlotUnavailable            the library that draws pictures is not installed
├── BadPreference              a file of settings says what means nothing
├── PreferencesUnwritable      a file of settings cannot be written
├── ClusterError
│   ├── ClusterMissing         what speaks with a Dask cluster is not installed
│   ├── ClusterUnreachable     no scheduler answers at the address, or it has no worker
│   ├── ClusterMismatch        a worker has other versions of what computes an index
│   ├── FolderNotShared        a worker does not see the folder that it would write to
│   └── ClusterLost            scheduler or workers went away during the work
├── ServerUnreachable          no server answers at the address
├── ServerRefused              a server refuses what it is asked
├── NotServed                  what only the machine that has the library can do
└── BadOption                  a value that cannot work
```

Each class builds its text from data, so that a message is written once. A text names a field
(`dims`) or a call (`library.index()`) as data too: Python reads it so, and the command line says
`--dims` and `lpisearch index` (`lpisearch.messages`). It turns any error into `Error: … Next: …`
and exit status 1 (`BadOption`: 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lpisearch.messages import Message, Option, call, printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lpisearch.location import Location


class LpiSearchError(Exception):
    """What happened, and what to do next."""

    exit_status: ClassVar[int] = 1

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step

    @property
    def message(self) -> Message:
        """Both in one text, for a face to say in its own words."""
        return (
            Message(self.what, " Next: ", self.next_step) if self.next_step else Message(self.what)
        )

    def __str__(self) -> str:
        return str(self.message)


class BadOption(LpiSearchError):
    """An option has a value that cannot work.

    Parameters
    ----------
    field
        Its name in Python, such as "dims"; or those of several.
    reason
        Why the value cannot work, without a full stop.
    choices
        All that can.
    """

    exit_status: ClassVar[int] = 2

    def __init__(
        self, field: str | tuple[str, ...], reason: str, choices: Iterable[str] = ()
    ) -> None:
        names = (field,) if isinstance(field, str) else field
        self.fields = names
        listed = [part for name in names for part in (", ", Option(name))][1:]
        known = ", ".join(choices)
        super().__init__(
            Message(*listed, ": ", reason, "."),
            f"choose one of: {known}" if known else call("help"),
        )


class LibraryError(LpiSearchError):
    """The library as a whole cannot be used as asked."""


class LibraryNotFound(LibraryError):
    """There is no database at the path."""

    def __init__(self, path: Location) -> None:
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

    def __init__(self, path: Location, reason: str) -> None:
        super().__init__(
            f"{path} is not an lpisearch library: {reason}.",
            Message("use another file: ", call("open", "FILE")),
        )


class LibraryTooNew(LibraryError):
    """The schema is from a later version of the program."""

    def __init__(self, path: Location, revision: str) -> None:
        super().__init__(
            f"{path} was written by a newer lpisearch (schema {revision}).",
            "pip install --upgrade lpisearch",
        )


class LibraryLocked(LibraryError):
    """Another process is writing to the library."""

    def __init__(self, path: Location, holder: str) -> None:
        super().__init__(
            f"{path} is locked: {holder} is writing to it.",
            Message(
                "wait for it to finish, or wait longer with ", Option("wait_seconds", "SECONDS")
            ),
        )


class LibraryUnwritable(LibraryError):
    """The library cannot be written; what it held before is intact."""

    def __init__(self, path: Location, reason: str) -> None:
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

    def __init__(self, path: Location, reason: str) -> None:
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

    def __init__(self, place: Location, reason: str, next_step: str) -> None:
        super().__init__(f"Cannot use {place}: {reason}.", next_step)


class AddressRefused(LibraryUnreachable):
    """What was given for an address of a database is none."""

    def __init__(self, place: Location) -> None:
        super().__init__(
            place,
            "the address is invalid",
            "write it as postgresql://USER@HOST:PORT/DATABASE, with %40 for an @ in a password",
        )


class ServerTooOld(LibraryError):
    """The server of its database lacks what is needed."""

    def __init__(self, place: Location, reason: str, next_step: str) -> None:
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


class ClusterError(LpiSearchError):
    """A cluster cannot do the work. The library and its indexes are as they were."""


class ClusterMissing(ClusterError):
    """What speaks with a Dask cluster is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "Using several processes or machines requires dask.distributed.",
            "pip install 'lpisearch[cluster]'",
        )


class ClusterUnreachable(ClusterError):
    """No scheduler answers, or it has no workers."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"Cannot use the cluster at {address}: {reason}.",
            "check the address, or start “dask scheduler” and “dask worker tcp://HOST:8786”",
        )


class ClusterMismatch(ClusterError):
    """A worker has other versions of what computes an index."""

    def __init__(self, worker: str, there: str, here: str) -> None:
        super().__init__(
            f"{worker} runs {there}; this machine runs {here}.",
            "install the same versions on the scheduler and every worker",
        )


class FolderNotShared(ClusterError):
    """A worker does not see the folder that it would write to."""

    def __init__(self, folder: Path, worker: str) -> None:
        super().__init__(
            f"The worker {worker} cannot see files written to {folder}.",
            "share that folder with all workers under the same path, or move the "
            "library to a shared folder",
        )


class ClusterLost(ClusterError):
    """Scheduler or workers went away during the work."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"Lost the cluster at {address}: {reason}. Completed work is saved.",
            "restart the cluster and run the same command to continue",
        )


class ServerUnreachable(LpiSearchError):
    """No server of a library answers."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"Cannot reach a library at {url}: {reason}.", "check the address, or start the server"
        )


class ServerRefused(LpiSearchError):
    """A server refuses what it is asked, for a reason that is not the library's.

    Attributes
    ----------
    status
        Of HTTP.
    """

    def __init__(self, status: int, reason: str, next_step: str = "") -> None:
        super().__init__(f"The server returned an error ({status}): {reason}", next_step)
        self.status = status


class NotServed(LpiSearchError):
    """A method of a library that is open on its own machine alone."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"library.{name} is not available from a server.",
            "run it on the machine that has the library",
        )


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
