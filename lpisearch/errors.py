"""All errors that users see.

Each class builds its text from data, so that a message is written once. A text names a field
(`dims`) or a call (`library.index()`) as data too (`lpisearch.messages`): Python shows it so, the
command line as `--dims` and `lpisearch index`. The command line prints any error as
`Error: … Next: …` and ends with its exit status.
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
        """Both in one text, which each face renders."""
        parts = (self.what, " Next: ", self.next_step) if self.next_step else (self.what,)
        return Message(*parts)

    def __str__(self) -> str:
        return str(self.message)


class QueryFieldInvalid(LpiSearchError):
    """A field of a query, such as date:, has a value that cannot work."""

    exit_status: ClassVar[int] = 2

    def __init__(self, typed: str, value: str) -> None:
        super().__init__(
            f"{typed}: “{value}” is not a date such as 2024, 2024-05 or 2024..2025.",
            f'to search for it as written, put it in quotation marks: "{typed}"',
        )


class BadOption(LpiSearchError):
    """An option has a value that cannot work.

    Parameters
    ----------
    field
        Its name in Python, such as "dims", or the names of several.
    reason
        Why the value cannot work, without a full stop.
    choices
        All values that can.
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


class _OneFact(LpiSearchError):
    """An error of one fact; `template` has {} for it, `advice` is the next step."""

    template: ClassVar[str]
    advice: ClassVar[str] = ""

    def __init__(self, fact: object) -> None:
        super().__init__(self.template.format(fact), self.advice)


class _TwoFacts(LpiSearchError):
    """An error of two facts, mostly where and why."""

    template: ClassVar[str]
    advice: ClassVar[str] = ""

    def __init__(self, first: object, second: object) -> None:
        super().__init__(self.template.format(first, second), self.advice)


class LibraryError(LpiSearchError):
    """The library cannot be used."""


class LibraryNotFound(_OneFact, LibraryError):
    """There is no library at the path."""

    template = "No library found at {}."
    advice = Message(
        call("ingest", "PATH"),
        " creates one; to use another: ",
        call("open", "FILE"),
        ", LPISEARCH_DB=FILE, or for all folders ",
        call("settings", "library", "FILE"),
    )


class NotALibrary(_TwoFacts, LibraryError):
    """The file exists, but it is not a library."""

    template = "{} is not an lpisearch library: {}."
    advice = Message("use another file: ", call("open", "FILE"))


class LibraryTooNew(_TwoFacts, LibraryError):
    """A later version of the program wrote the library."""

    template = "{} was written by a newer lpisearch (schema {})."
    advice = "pip install --upgrade lpisearch, then start the program again"


class LibraryLocked(_TwoFacts, LibraryError):
    """Another process is writing to the library."""

    template = "{} is locked: {} is writing to it."
    advice = Message(
        "wait for it to finish, or wait longer with ", Option("wait_seconds", "SECONDS")
    )


class LibraryUnwritable(_TwoFacts, LibraryError):
    """The library cannot be written; existing data is intact."""

    template = "Cannot write to {}: {}. Existing data is intact."
    advice = "free some space or check the permissions, then run the same command again"


class SeveralNames(_TwoFacts, LibraryError):
    """The file has several hard links, which SQLite cannot write safely."""

    template = "{} has {} hard links; writing to it is not safe."
    advice = Message("remove the other links, or work on a copy: ", call("back_up"))


class LibraryDamaged(_TwoFacts, LibraryError):
    """The file is corrupt: a disk, or another program, changed it."""

    template = "{} is damaged: {}."
    advice = call("examine")


class DocumentDamaged(LibraryError):
    """A document in the library is corrupt."""

    def __init__(self, name: str, file: str) -> None:
        super().__init__(
            f"The document “{name}” is damaged in the library.",
            Message("restore it from ", file, ": ", call("examine", repair=True)),
        )


class LibraryUnreachable(LibraryError):
    """The database server cannot be reached, or refuses access."""

    def __init__(self, place: Location, reason: str, next_step: str) -> None:
        super().__init__(f"Cannot use {place}: {reason}.", next_step)


class AddressRefused(LibraryUnreachable):
    """The address of a database is invalid."""

    def __init__(self, place: Location) -> None:
        super().__init__(
            place,
            "the address is invalid",
            "write it as postgresql://USER@HOST:PORT/DATABASE, with %40 for an @ in a password",
        )


class ServerTooOld(LibraryError):
    """The database server lacks a required feature."""

    def __init__(self, place: Location, reason: str, next_step: str) -> None:
        super().__init__(f"{place} cannot hold a library: {reason}.", next_step)


class DriverMissing(LibraryError):
    """The PostgreSQL driver is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "PostgreSQL libraries require psycopg.", "pip install 'lpisearch[postgres]'"
        )


class VectorsUnavailable(LibraryError):
    """Vectors cannot be exported to a table."""

    def __init__(self, reason: str, next_step: str) -> None:
        super().__init__(f"Vectors cannot be exported: {reason}.", next_step)


class DocumentNotFound(_OneFact):
    """No document has this id or path."""

    template = "No document has the id or path “{}”."
    advice = call("entries")


class SeveralDocuments(LpiSearchError):
    """The path names a file of several documents."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__(
            f"{path} contains {number:,} documents; choose one by id.", call("entries", path=path)
        )


class NotUnicode(LpiSearchError):
    """A name is not valid Unicode, so nothing has it."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"“{printable(text)}” is not valid Unicode.", "check how it was typed or encoded"
        )


class NothingThere(_OneFact):
    """A path names no file and no folder."""

    template = "No such file or folder: {}."
    advice = "check the path, or put it in quotes"


class GoneWithDocuments(NothingThere):
    """A path names no file and no folder, but documents came from there."""

    def __init__(self, path: str, documents: str) -> None:
        super().__init__(path)
        self.what = f"{path} is gone; the library has {documents} from there."
        self.next_step = Message(
            "if it moved, ingest it where it is now: documents keep their labels. "
            "To remove them, add ",
            Option("prune"),
        )


class ReaderError(LpiSearchError):
    """A file could not be read; the message states the reason, and the caller adds the file."""


class SubspaceError(LpiSearchError):
    """An index cannot be built, opened or used; the documents are safe."""


class IndexNotFound(SubspaceError):
    """The library has no index of this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        others = ", ".join(known)
        super().__init__(
            f"The library has no index “{name}”" + (f"; it has: {others}." if others else "."),
            call("index", name=name) if others else call("index"),
        )


class IndexDamaged(_TwoFacts, SubspaceError):
    """A file of the index is missing, cut short or changed."""

    template = "The index in {} is damaged: {}."
    advice = call("index")


class IndexNotHere(SubspaceError):
    """The library was copied or moved without the folder of its index."""

    def __init__(self, folder: Path, found: Path | None = None) -> None:
        moved = "If the library was moved, move that too"
        follow = f"{found} has it: rename that" if found else moved
        what = f"The index is not built here: there is no {folder}. {follow}."
        super().__init__(what, call("index"))


class IndexUnreadable(_TwoFacts, SubspaceError):
    """The system refuses to open a file of the index, which may be intact."""

    template = "The index in {} cannot be read: {}."
    advice = "check permissions, free memory and the limit on open files (ulimit -n)"


class IndexTooNew(_TwoFacts, SubspaceError):
    """The index has a later format."""

    template = "The index in {} was written by a newer lpisearch (format {})."
    advice = Message("pip install --upgrade lpisearch, or rebuild the index: ", call("index"))


class IndexOutdated(SubspaceError):
    """The index is intact, but an earlier version wrote less of it."""

    def __init__(self, name: str, missing: Iterable[str]) -> None:
        lacks = ", ".join(missing)
        super().__init__(
            f"The index “{name}” was written by an older lpisearch and lacks {lacks}.",
            call("index"),
        )


class IndexNotOwned(_TwoFacts, SubspaceError):
    """The role may not write the tables of an index that the database searches."""

    template = "The index has tables of {0}, which {1} may write after GRANT {0} TO {1}."
    advice = Message("after that, or as the owner: ", call("index", in_database=True))


class IndexUnwritable(_TwoFacts, SubspaceError):
    """The folder of an index cannot be written; the previous index is intact."""

    template = "Cannot write an index to {}: {}. The previous index is intact."
    advice = "free some space or check the permissions, then run the same command again"


class ClassifierNotFound(SubspaceError):
    """The index does not have the requested classifier."""


class NothingToIndex(SubspaceError):
    """The documents are too few or too alike to learn from."""


class EncoderNotFound(_TwoFacts):
    """The name of an encoder leads to none."""

    template = "Cannot open the encoder “{}”: {}."
    advice = (
        "name an installed encoder, MODULE:NAME, the address of an embeddings server, "
        "or a .txt or .npz file of word vectors"
    )


class EncoderFailed(_TwoFacts):
    """An encoder did not return vectors; what was encoded before is kept."""

    template = "The encoder “{}” failed: {}."
    advice = "mend it and run the same command again, or leave the encoder out"


class NothingToEvaluate(LpiSearchError):
    """There are no labels or judgements to compare with."""


class ClusterError(LpiSearchError):
    """A cluster cannot do the work; the library and its indexes are unchanged."""


class ClusterMissing(ClusterError):
    """Dask is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "Using several processes or machines requires dask.distributed.",
            "pip install 'lpisearch[cluster]'",
        )


class ClusterUnreachable(_TwoFacts, ClusterError):
    """No scheduler answers, or it has no workers."""

    template = "Cannot use the cluster at {}: {}."
    advice = "check the address, or start “dask scheduler” and “dask worker tcp://HOST:8786”"


class ClusterMismatch(ClusterError):
    """A worker has other versions of the libraries that build an index."""

    def __init__(self, worker: str, there: str, here: str) -> None:
        super().__init__(
            f"{worker} runs {there}; this machine runs {here}.",
            "install the same versions on the scheduler and every worker",
        )


class FolderNotShared(_TwoFacts, ClusterError):
    """A worker cannot access the folder it has to write to."""

    template = "The worker {1} cannot see files written to {0}."
    advice = (
        "share that folder with all workers under the same path, or move the "
        "library to a shared folder"
    )


class ClusterLost(_TwoFacts, ClusterError):
    """The scheduler or a worker disappeared during the work."""

    template = "Lost the cluster at {}: {}. Completed work is saved."
    advice = "restart the cluster and run the same command to continue"


class ServerUnreachable(_TwoFacts):
    """No library server answers."""

    template = "Cannot reach a library at {}: {}."
    advice = "check the address, or start the server"


class AnswerInvalid(_TwoFacts):
    """A server answers what no library server answers."""

    template = "The answer of {} is not one of a library: {}."
    advice = "check the address, and that both programs are of the same version"


class ServerRefused(LpiSearchError):
    """A server refuses a request for a reason other than the library's.

    Attributes
    ----------
    status
        The HTTP status.
    """

    def __init__(self, status: int, reason: str, next_step: str = "") -> None:
        super().__init__(f"The server returned an error ({status}): {reason}", next_step)
        self.status = status


class NotServed(_OneFact):
    """A method is available only on the machine that has the library."""

    template = "library.{} is not available from a server."
    advice = "run it on the machine that has the library"


class ReportUnwritable(_TwoFacts):
    """A report or a plot cannot be written; an earlier one is intact."""

    template = "Cannot write the report to {}: {}. Existing files are unchanged."
    advice = "choose another folder, free some space or check the permissions"


class FileInTheWay(_TwoFacts):
    """An existing file is not of the kind to be written."""

    template = "{} already exists and is not {}."
    advice = Message("choose another name, or overwrite it with ", Option("force", value=True))


class PlotUnavailable(LpiSearchError):
    """Matplotlib is not installed."""

    def __init__(self) -> None:
        super().__init__("Plots require matplotlib.", "pip install 'lpisearch[plot]'")


class PackageMissing(LpiSearchError, ImportError):
    """A part of the program needs a package that is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} requires {package}.", f"pip install 'lpisearch[{extra}]'")


class AssistantsUnavailable(LpiSearchError):
    """The library of the assistants' protocol is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "The server for assistants is not installed.", "pip install 'lpisearch[mcp]'"
        )


class BadPreference(LpiSearchError):
    """A settings file cannot be read, or contains an invalid line."""

    def __init__(
        self, file: Path, line: int | None, reason: str, choices: Iterable[str] = ()
    ) -> None:
        place = f"{file}, line {line}" if line else f"{file}"
        known = ", ".join(choices)
        super().__init__(
            f"{place}: {reason}.",
            f"edit the file; allowed values: {known}" if known else "edit the file",
        )


class PreferencesUnwritable(_TwoFacts):
    """A settings file cannot be written; it is unchanged."""

    template = "Cannot write the settings to {}: {}."
    advice = "free some space or check the permissions, then run the same command again"
