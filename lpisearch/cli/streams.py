"""Standard streams, with one clear error if they are closed or full.

A result that cannot be printed is an error, `OutputFailed`, whatever prints it. What goes to
stderr is for people who may not be there: where it cannot be written, the work goes on.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, Any

from lpisearch.wording import system_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

_INPUT, _OUTPUT, _ERRORS = range(3)


class OutputFailed(Exception):
    """What was to be printed could not be; why, in words of the system."""


class Output:
    """Standard output: what it does not take is an `OutputFailed`."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        with _stated():
            return self._stream.write(text)

    def flush(self) -> None:
        """Bring it to whoever reads."""
        with _stated():
            self._stream.flush()


class Aside(Output):
    """Standard error: what it does not take is passed over, as there is nobody to tell."""

    def write(self, text: str) -> int:
        """Write a text."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Bring it to whoever reads."""
        with suppress(OSError):
            self._stream.flush()


def prepare() -> None:
    """Put streams that state what is wrong with them in the place of the system's."""
    _fill_closed()
    if sys.stdin is None:
        sys.stdin = os.fdopen(_INPUT, closefd=False)
    sys.stdout = _as(Output, sys.stdout, _OUTPUT)
    sys.stderr = _as(Aside, sys.stderr, _ERRORS)


def give_up_output() -> None:
    """Let what is still to be printed go nowhere, so that the end of the program is quiet."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _fill_closed() -> None:
    """Give each closed stream a file, lest the library get its number and be written over."""
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
    except BrokenPipeError:  # the reader has enough, and wants no word of it
        raise
    except OSError as error:
        closed = error.errno == errno.EBADF
        raise OutputFailed("it is closed" if closed else system_reason(error)) from error
