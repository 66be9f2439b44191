"""Standard streams, signals, and the errors of the system as messages.

An error of the library has its own message. An error of the system (a full disk, a closed stream,
no memory, too many files) becomes one that says what became of the work; any other exception is a
defect. Output that cannot be printed is an `OutputFailed`; what cannot be written to stderr is
dropped, and the work goes on.
"""

from __future__ import annotations

import _thread
import atexit
import errno
import os
import signal
import sys
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, Any

from lpisearch.errors import LpiSearchError, NotUnicode
from lpisearch.messages import system_reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_STOPPED = "Interrupted. Completed work is saved; run the same command to continue."
_STOPPED_AS = "lpisearch.stopped"

INTERRUPTED = 130


# What a verb has done by the time it prints; other verbs change nothing.
_DONE: Mapping[str, str] = {
    "ingest": "The documents were saved, but the report could not be printed",
    "index": "The index was built and is in use, but the report could not be printed",
    "evaluate": "Completed parts are saved; run the same command to continue",
    "docs delete": "The documents were removed, but the report could not be printed",
    "docs export": "The output is incomplete",
    "doctor": "The library was checked, but the findings could not be printed",
    "db upgrade": "The library was upgraded, but the report could not be printed",
    "db backup": "The backup was written, but the report could not be printed",
    "db retokenise": (
        "The documents were split into words again, but the report could not be printed"
    ),
    "config set": "The setting was saved, but the report could not be printed",
    "config unset": "The setting was removed, but the report could not be printed",
    "open": "The file was opened, but the report could not be printed",
    "label": "The labels were saved, but the report could not be printed",
}
_UNCHANGED = "Nothing was changed"
_KEPT = "Completed work is saved"
_AGAIN = "then run the same command again"
_SHORT_OF = {errno.ENOMEM: "memory", errno.EMFILE: "files", errno.ENFILE: "files"}
_SCARCE = {
    "memory": (
        f"Not enough memory. {_KEPT}.",
        f"close other programs or raise the limit (ulimit -v), {_AGAIN}",
    ),
    "files": (
        f"Too many open files. {_KEPT}.",
        f"raise the limit, for example with ulimit -n 1024, {_AGAIN}",
    ),
}


def stated(error: BaseException, verb: str) -> LpiSearchError | None:
    """Return the error to report for an exception of a verb, or None for a defect."""
    own = _own(error, verb)
    if own is not None and _has_no_folder():
        own.what = f"{own.what} The current folder no longer exists."
        own.next_step = f"change to an existing folder (cd), {_AGAIN}"
    return own


def when_stopped(ctx: Any, text: str) -> None:
    """Set what Ctrl-C reports from now on, where completed work is not saved; "" for the usual."""
    ctx.meta[_STOPPED_AS] = text


def stopped(ctx: Any) -> str:
    """Return what Ctrl-C reports."""
    own = ctx.meta.get(_STOPPED_AS) if ctx is not None else ""
    return f"\n{own or _STOPPED}"


def was_interrupted(error: BaseException | None) -> bool:
    """Tell Ctrl-C, also if a module that was being loaded turned it into another error."""
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
            f"Cannot write to standard output: {error}. {_state(verb)}.",
            f"redirect the output elsewhere, {_AGAIN}",
        )
    if lacking := _lacking(error):
        return LpiSearchError(*_SCARCE[lacking])
    return _refused(error)


def _refused(error: BaseException) -> LpiSearchError | None:
    """Return the error for a name or a file that the system refuses."""
    if isinstance(error, UnicodeEncodeError):
        return NotUnicode(error.object)
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return LpiSearchError("File names cannot contain a NUL byte.", "check the path")
    if isinstance(error, OSError):
        location = f" at {os.fsdecode(error.filename)}" if error.filename else ""
        return LpiSearchError(
            f"File error{location}: {system_reason(error)}. {_KEPT}.",
            f"free some space or check the permissions, {_AGAIN}",
        )
    return None


def _state(verb: str) -> str:
    return next((state for name, state in _DONE.items() if verb.startswith(name)), _UNCHANGED)


def _lacking(error: BaseException) -> str:
    """Return "memory" or "files" if the error says that they ran out, else ""."""
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


def _has_no_folder() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 (whether there is one)
    except OSError:
        return True
    return False


_INPUT, _OUTPUT, _ERRORS = range(3)


class OutputFailed(Exception):
    """Output could not be printed, for the reason that the system gives."""


class Output:
    """Standard output; a failure to write is an `OutputFailed`."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        with _stated():
            return self._stream.write(text)

    def flush(self) -> None:
        """Flush the stream."""
        with _stated():
            self._stream.flush()


class Aside(Output):
    """Standard error; a failure to write is ignored, as nobody would read about it."""

    def write(self, text: str) -> int:
        """Write a text."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        with suppress(OSError):
            self._stream.flush()


def prepare() -> None:
    """Replace the standard streams by ones that report their failures."""
    _fill_closed()
    if sys.stdin is None:
        sys.stdin = os.fdopen(_INPUT, closefd=False)
    sys.stdout = _as(Output, sys.stdout, _OUTPUT)
    sys.stderr = _as(Aside, sys.stderr, _ERRORS)


def give_up_output() -> None:
    """Discard further output, so that the program ends quietly."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _fill_closed() -> None:
    """Open a file for each closed stream, so that the library does not get its number."""
    for number in (_INPUT, _OUTPUT, _ERRORS):
        try:
            os.fstat(number)
        except OSError:
            # Standard output must not seem to be written.
            os.open(os.devnull, os.O_WRONLY if number == _ERRORS else os.O_RDONLY)


def _as(kind: type[Output], stream: IO[str] | None, number: int) -> Any:
    if stream is None:
        stream = os.fdopen(number, "w", encoding="utf-8", closefd=False)
    if isinstance(stream, TextIOWrapper):  # programs that read us expect one encoding
        encoding = None if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")
    return stream if isinstance(stream, Output) else kind(stream)


@contextmanager
def _stated() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the reader has enough
        raise
    except OSError as error:
        closed = error.errno == errno.EBADF
        raise OutputFailed("it is closed" if closed else system_reason(error)) from error


@contextmanager
def handle_sigint() -> Iterator[None]:
    """Repeat an interrupt that an interpreter callback swallowed; at exit, let one kill us."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    before = sys.unraisablehook

    def repeat(what: sys.UnraisableHookArgs) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            _thread.interrupt_main()
        else:
            before(what)

    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = before
