"""MBOX: a file of messages, read as a stream; one message is in memory at a time.

The standard library's `mailbox` reads the whole file first, to find where messages begin.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.mail import message_document
from lpisearch.readers.streams import EMPTY, chunks, lines, over_limit
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield each message, after its warnings; a broken one yields a problem instead."""
    limit = options.max_page_bytes
    for number, message in enumerate(_messages(lines(chunks(source), limit), limit), 1):
        where = f"message {number}"
        try:
            document, warnings = message_document(message.bytes(), f"{source.stem} {number}")
        except ReaderError as error:
            yield Problem(error.what, where)
            continue
        for warning in warnings:
            yield Problem(warning.reason, where, warning=True)
        yield document


class _Message:
    """The lines of one message, given up once they are too many bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: list[bytes] = []
        self._size = 0

    def add(self, line: bytes | None) -> None:
        self._size += self._limit + 1 if line is None else len(line) + 1
        if self._size > self._limit:
            self._lines.clear()
        elif line is not None:
            self._lines.append(line)

    def bytes(self) -> bytes:
        if self._size > self._limit:
            raise ReaderError(over_limit(self._limit, self._size, "at least "))
        # Writers of the format put ">" before a line of the body that begins with "From ".
        return _QUOTED_FROM.sub(rb"\1", b"\n".join(self._lines))


# The separating line tells the time of delivery; a few writers leave it out.
_SEPARATOR = re.compile(rb"From .*\d:\d\d")
_HEADER = re.compile(rb"[!-9;-~]+:")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_BEGINNING = re.compile(_SEPARATOR.pattern + rb"[^\n]*\n" + _HEADER.pattern)


def _messages(numbered: Iterable[tuple[int, bytes | None]], limit: int) -> Iterator[_Message]:
    """Gather the lines between separators: lines "From …" at the start or after a blank line."""
    message: _Message | None = None
    after_blank = True
    stream = (line for _, line in numbered)
    for line, following in pairwise(chain(stream, [b""])):
        if after_blank and _separates(line, following):
            if message:
                yield message
            message = _Message(limit)
        elif message:
            message.add(line)
        elif line is None or line.strip():
            raise ReaderError("is not an MBOX file: it does not start with “From ”")
        after_blank = line in (b"", b"\r")
    if not message:
        raise ReaderError(EMPTY)
    yield message


def _separates(line: bytes | None, following: bytes | None) -> bool:
    """Tell a separating line from a sentence that begins with the same word."""
    if not line or not line.startswith(b"From "):
        return False
    return bool(_SEPARATOR.match(line) or (following and _HEADER.match(following)))


def _sniff(head: bytes) -> bool:
    return bool(_BEGINNING.match(head))


READER = Reader("mbox", (".mbox", ".mbx"), read, _sniff, isolated=True, many=True)
