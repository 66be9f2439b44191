"""JSON Lines: one record a line, streamed; also the corpus layout of retrieval benchmarks.

The file may be of any size: memory holds one chunk and one line. A line is decoded on its own,
so that one line in another encoding costs no other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import HEAD_BYTES, Reader
from lpisearch.readers.encoding import NOT_TEXT, decode, looks_binary, utf8_chunks
from lpisearch.readers.json_records import PLAIN, Records, not_valid, parse
from lpisearch.readers.streams import EMPTY, lines, over_limit
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document, or a problem with its line number, for each line that is not blank."""
    documents = _Lines(options)
    limit = options.max_document_bytes
    empty = True
    for number, line in lines(_text_only(utf8_chunks(source)), limit):
        if line is None:
            empty = False
            yield Problem(over_limit(limit), f"line {number}")
        elif line and not line.isspace():
            empty = False
            yield from documents.read(line, f"line {number}")
    if empty:
        raise ReaderError(EMPTY)
    yield from documents.fields_never_met()


def sniff(head: bytes) -> bool:
    """Tell whether the first line is a JSON object, or the beginning of a very long one."""
    first, newline, _ = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if not first.startswith(b"{"):
        return False
    if not newline and len(head) >= HEAD_BYTES:
        return first.startswith(b'{"')
    try:
        return isinstance(parse(first.decode("utf-8", "replace")), dict)
    except (ValueError, RecursionError):
        return False


READER = Reader("jsonl", (".jsonl", ".ndjson"), read, sniff, many=True)


def _text_only(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pass chunks on, unless the first is no text: else each of its lines would be a problem."""
    first = next(pieces, b"")
    if looks_binary(first):
        raise ReaderError(NOT_TEXT)
    yield first
    yield from pieces


class _Lines(Records):
    """Turns lines into documents."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(options)
        self._encoding_told = False

    def read(self, line: bytes, where: str) -> Iterator[Document | Problem]:
        """Yield the document of a line, or its problem."""
        base = PLAIN
        try:
            text = line.decode()
        except UnicodeDecodeError:
            decoded = decode(line)
            text = decoded.text
            base = replace(base, metadata=decoded.metadata)
            if not self._encoding_told:
                self._encoding_told = True
                yield from (replace(warning, where=where) for warning in decoded.warnings)
        try:
            record = parse(text)
        except (ValueError, RecursionError) as error:
            yield Problem(not_valid(error), where)
        else:
            yield self.document(record, base, where)
