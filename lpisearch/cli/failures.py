"""What to state of what went wrong, whichever verb was under way: the one place for all of them.

An error of the library states itself. What the system refuses (a full disk, a closed stream, no
memory, no more files) is stated with what became of the work. All else is a defect of the program.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from lpisearch.cli.streams import OutputFailed
from lpisearch.errors import LpiSearchError, NotUnicode
from lpisearch.wording import system_reason

if TYPE_CHECKING:
    from collections.abc import Mapping

# What stands once a verb has something to print; other verbs change nothing.
_DONE: Mapping[str, str] = {
    "ingest": "The documents are stored; only the report could not be printed",
    "index": "The index is built and in use; only the report could not be printed",
    "evaluate": "Finished parts are kept, and the same command goes on from there",
    "docs delete": "The documents are removed; only the report could not be printed",
    "docs export": "What was printed is not all",
    "doctor": "The library was examined; only the findings could not be printed",
    "db upgrade": "The library has the new schema; only the report could not be printed",
    "db backup": "The copy is written; only the report could not be printed",
    "db split": "The shards are written; only the report could not be printed",
    "db retokenise": "The tokens are made anew; only the report could not be printed",
    "config set": "The setting is written; only the report could not be printed",
    "config unset": "The setting is gone; only the report could not be printed",
    "open": "The file was opened; only the report could not be printed",
    "label": "The labels are stored; only the report could not be printed",
}
_UNCHANGED = "Nothing was changed"
_KEPT = "What was finished before is kept"
_AGAIN = "then run the same command again"
_SHORT_OF = {errno.ENOMEM: "memory", errno.EMFILE: "files", errno.ENFILE: "files"}
_SCARCE = {
    "memory": (
        f"There is not enough memory. {_KEPT}.",
        f"close other programs or raise the limit (ulimit -v), {_AGAIN}",
    ),
    "files": (
        f"More files would have to be open than the system allows. {_KEPT}.",
        f"raise the limit, as by ulimit -n 1024, {_AGAIN}",
    ),
}


def stated(error: BaseException, verb: str) -> LpiSearchError | None:
    """Return the error to state, or None for a defect of the program.

    Parameters
    ----------
    error
        What was raised.
    verb
        What was under way, such as "docs list"; "" before any was.
    """
    own = _own(error, verb)
    if own is not None and _is_adrift():
        own.what = f"{own.what} The working folder is gone."
        own.next_step = f"change to a folder that is there (cd), {_AGAIN}"
    return own


def was_interrupted(error: BaseException | None) -> bool:
    """Tell Ctrl-C, also where a module that was being loaded made an error of its own of it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _own(error: BaseException, verb: str) -> LpiSearchError | None:
    if isinstance(error, LpiSearchError):
        return error
    if isinstance(error, OutputFailed):
        return LpiSearchError(
            f"Standard output cannot be written: {error}. {_state(verb)}.",
            f"give it a place that takes it, {_AGAIN}",
        )
    if lacking := _lacking(error):
        return LpiSearchError(*_SCARCE[lacking])
    return _refused(error)


def _refused(error: BaseException) -> LpiSearchError | None:
    """Return the error for a name or a file that the system does not take."""
    if isinstance(error, UnicodeEncodeError):
        return NotUnicode(error.object)
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return LpiSearchError("No file has a name with a zero byte.", "check the path")
    if isinstance(error, OSError):
        place = f" {os.fsdecode(error.filename)}" if error.filename else ""
        return LpiSearchError(
            f"The system refused{place}: {system_reason(error)}. {_KEPT}.",
            f"free some space or check the permissions, {_AGAIN}",
        )
    return None


def _state(verb: str) -> str:
    return next((said for name, said in _DONE.items() if verb.startswith(name)), _UNCHANGED)


def _lacking(error: BaseException) -> str:
    """Tell what the system has no more of, or ""; what a module raises while it loads says it."""
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, OSError) and error.errno in _SHORT_OF:
        return _SHORT_OF[error.errno]
    if isinstance(error, (ImportError, RuntimeError, OSError)):
        text = str(error)
        if "start new thread" in text or "failed to map segment" in text:
            return "memory"
        return next(
            (thing for number, thing in _SHORT_OF.items() if os.strerror(number) in text), ""
        )
    return ""


def _is_adrift() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 (whether there is one)
    except OSError:
        return True
    return False
