"""JSON Lines: one record a line, streamed; also the corpus layout of retrieval benchmarks.

The file may be of any size: memory holds one chunk and one line. A line is decoded on its own,
so that one line in another encoding costs no other.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import ReaderError
from lpisearch.readers.base import HEAD_BYTES, Reader
from lpisearch.readers.encoding import NOT_TEXT, decode, looks_binary, utf8_chunks
from lpisearch.readers.fields import Parts, asked_fields, document_from_fields, find_parts
from lpisearch.readers.streams import EMPTY, lines, over_limit
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document, or a problem with its line number, for each line that is not blank."""
    records = _Records(options)
    limit = options.max_document_bytes
    empty = True
    for number, line in lines(_text_only(utf8_chunks(source)), limit):
        if line is None:
            empty = False
            yield Problem(over_limit(limit), f"line {number}")
        elif line and not line.isspace():
            empty = False
            yield from records.read(line, f"line {number}")
    if empty:
        raise ReaderError(EMPTY)
    yield from records.fields_never_met()


def sniff(head: bytes) -> bool:
    """Tell whether the first line is a JSON object, or the beginning of a very long one."""
    first, newline, _ = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if not first.startswith(b"{"):
        return False
    if not newline and len(head) >= HEAD_BYTES:
        return first.startswith(b'{"')
    try:
        return isinstance(_parse(first.decode("utf-8", "replace")), dict)
    except (ValueError, RecursionError):
        return False


READER = Reader("jsonl", (".jsonl", ".ndjson"), read, sniff, many=True)

_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_PLAIN = Document("", "")
_MOST_LAYOUTS = 1000


class _Records:
    """Turns lines into documents; remembers what is the same from line to line."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._layouts: dict[tuple[str, ...], Parts] = {}
        self._unmet = asked_fields(options)
        self._encoding_told = False

    def read(self, line: bytes, where: str) -> Iterator[Document | Problem]:
        """Yield the document of a line, or its problem."""
        base = _PLAIN
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
            record = _parse(text)
        except (ValueError, RecursionError) as error:
            yield Problem(f"not valid JSON: {_reason(error)}", where)
            return
        if not isinstance(record, dict):
            yield Problem("not a JSON object", where)
            return
        found = self._document(record, base)
        yield found if isinstance(found, Document) else replace(found, where=where)

    def fields_never_met(self) -> Iterator[Problem]:
        """Warn of each field that the options name and no record has: it may be misspelt."""
        for name in self._unmet.values():
            yield Problem(f"no record has a field “{name}”", warning=True)

    def _document(self, record: dict[str, Any], base: Document) -> Document | Problem:
        names = tuple(record)
        parts = self._layouts.get(names)
        if parts is None:
            parts = self._parts(names)
        for part in ("id", "text"):
            if part in parts.missing:
                return Problem(f"has no field “{parts.missing[part]}”")
        return document_from_fields(record, parts, base)

    def _parts(self, names: tuple[str, ...]) -> Parts:
        parts = find_parts(names, self._options)
        self._unmet = {part: name for part, name in self._unmet.items() if part in parts.missing}
        # Records with keys of their own (words as keys) must not fill the memory.
        if len(self._layouts) < _MOST_LAYOUTS:
            self._layouts[names] = parts
        return parts


def _text_only(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pass chunks on, unless the first is no text: else each of its lines would be a problem."""
    first = next(pieces, b"")
    if looks_binary(first):
        raise ReaderError(NOT_TEXT)
    yield first
    yield from pieces


def _parse(text: str) -> Any:
    """Parse exactly one JSON value, with nothing but white space around it."""
    start = len(text) - len(text.lstrip()) if text[:1].isspace() else 0
    record, end = _DECODER.raw_decode(text, start)
    if end != len(text) and not text[end:].isspace():
        raise json.JSONDecodeError("Extra data", text, end)
    return record


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
