"""A JSON array of records, as many programs export: streamed, element by element."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from lpisearch.errors import ReaderError
from lpisearch.messages import Message
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import detect, text_chunks
from lpisearch.readers.json_records import DECODER, Records, not_valid
from lpisearch.readers.streams import EMPTY, chunks, over_limit
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document, or a problem with its number, for each element.

    Raises
    ------
    ReaderError
        It is no array, or is broken: what follows the break cannot be read.
    """
    encoding = detect(source)
    yield from encoding.warnings
    records = Records(options)
    base = Document("", "", metadata=encoding.metadata)
    texts = text_chunks(chunks(source), encoding.encoding)
    for number, value in enumerate(_elements(texts, options.max_document_bytes), 1):
        yield records.document(value, base, f"record {number}")
    yield from records.fields_never_met()


def sniff(head: bytes) -> bool:
    """Tell whether bytes begin as an array of objects."""
    return bool(_BEGINNING.match(head))


READER = Reader("json", (), read, sniff, many=True)

_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")


def _elements(texts: Iterator[str], limit: int) -> Iterator[Any]:
    window = _Window(texts, limit)
    if not window.first():
        raise ReaderError(EMPTY)
    if window.take() != "[":
        raise ReaderError("is not a JSON array of records")
    number = 1
    closed = window.first() == "]"
    while not closed:
        try:
            yield window.value()
        except (ValueError, RecursionError) as error:
            raise ReaderError(f"is malformed in record {number}: {not_valid(error)}") from error
        closed = window.first() == "]"
        if not closed and window.take() != ",":
            raise ReaderError(f"is malformed after record {number}: expected a comma or the end")
        number += 1
    window.take()
    if window.first():
        raise ReaderError("is malformed: extra data after the array")


class _Window:
    """The part of a text that is held: from the element being read to the end of a chunk."""

    def __init__(self, texts: Iterator[str], limit: int) -> None:
        self._texts = texts
        self._limit = limit
        self._held = ""
        self._position = 0

    def first(self) -> str:
        """Return the next character that is not blank, or "" at the end, and leave it there."""
        while True:
            self._position = _BLANK.match(self._held, self._position).end()  # type: ignore[union-attr]  # it matches ""
            if self._position < len(self._held):
                return self._held[self._position]
            if not self._more(1):
                return ""

    def take(self) -> str:
        """Return the next character that is not blank, and go beyond it."""
        character = self.first()
        self._position += 1
        return character

    def value(self) -> Any:
        """Return the next value; raises ValueError if it is not valid."""
        self.first()
        while True:
            try:
                value, end = DECODER.raw_decode(self._held, self._position)
            except json.JSONDecodeError:
                # It may go on in the next chunk. Twice as much each time, so that a long value
                # is not parsed once for each chunk.
                held = len(self._held) - self._position
                if held > self._limit:
                    raise ReaderError(
                        Message("has a record that ", over_limit(self._limit))
                    ) from None
                if not self._more(max(held, 1)):
                    raise
                continue
            # A number may go on too.
            if end < len(self._held) or not self._more(1):
                self._position = end
                return value

    def _more(self, characters: int) -> bool:
        """Hold so many more characters, if there are any; forget those that were read."""
        pieces = [self._held[self._position :]]
        self._position = 0
        gained = 0
        while gained < characters and (text := next(self._texts, None)) is not None:
            pieces.append(text)
            gained += len(text)
        self._held = "".join(pieces)
        return gained > 0


_BLANK = re.compile(r"[ \t\n]*")
