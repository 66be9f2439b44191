"""JSON Lines, JSON arrays and Parquet, whose rows are read as records of JSON.

A file of JSON may have any size: memory contains one chunk and one line. Each line is decoded on
its own, so that one line in another encoding affects no other.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import ReaderError
from lpisearch.messages import Message
from lpisearch.model.documents import Document, Problem
from lpisearch.readers.base import (
    EMPTY,
    HEAD_BYTES,
    Reader,
    SourceFile,
    chunks,
    lines,
    open_seekable,
    over_limit,
)
from lpisearch.readers.encoding import (
    NOT_TEXT,
    decode,
    detect,
    looks_binary,
    text_chunks,
    utf8_chunks,
)
from lpisearch.readers.records import FieldRoles, document_from_fields, find_roles, named_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.options import ReadOptions


def read_json_array(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document, or a problem with its number, for each element."""
    encoding = detect(source)
    yield from encoding.warnings
    records = Records(options)
    base = Document("", "", metadata=encoding.metadata)
    texts = text_chunks(chunks(source), encoding.encoding)
    for number, value in enumerate(_elements(texts, options.max_document_bytes), 1):
        yield records.document(value, base, f"record {number}")
    yield from records.fields_never_met()


def sniff_json_array(head: bytes) -> bool:
    """Tell whether bytes begin as an array of objects."""
    return bool(_BEGINNING.match(head))


def read_parquet(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a document, or a problem with its number, for each row, a few in memory at a time."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise ReaderError("needs pyarrow: install lpisearch[parquet]") from error
    records, base, number = Records(options), Document("", ""), 0
    with open_seekable(source) as stream:
        try:
            rows = parquet.ParquetFile(stream)
            for batch in rows.iter_batches(_ROWS_AT_ONCE, use_threads=False):
                for value in batch.to_pylist():
                    number += 1
                    plain = {name: _plain(cell) for name, cell in value.items()}
                    yield records.document(plain, base, f"row {number}")
        except (ArrowException, ValueError, OSError) as error:
            if isinstance(error, OSError) and error.errno:  # of the system, not of the file
                raise
            reason = str(error).partition("\n")[0]
            raise ReaderError(f"is damaged, or not a Parquet file ({reason})") from error
    yield from records.fields_never_met()


_ROWS_AT_ONCE = 100


def _plain(cell: Any) -> Any:
    """Return a cell as JSON has it: times and numbers of a database as texts, bytes not at all."""
    if isinstance(cell, dict):
        return {str(name): _plain(value) for name, value in cell.items()}
    if isinstance(cell, list | tuple):
        return [_plain(value) for value in cell]
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    if cell is None or isinstance(cell, str | int | float):
        return cell
    return None if isinstance(cell, bytes) else str(cell)


PARQUET_READER = Reader(
    *("parquet", (".parquet", ".pq"), read_parquet),
    sniff=lambda head: head.startswith(b"PAR1"),
    isolated=True,
    many=True,
)
JSON_ARRAY_READER = Reader("json", (), read_json_array, sniff_json_array, many=True)

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
    """The part of a text in memory: from the element being read to the end of a chunk."""

    def __init__(self, texts: Iterator[str], limit: int) -> None:
        self._texts = texts
        self._limit = limit
        self._held = ""
        self._position = 0

    def first(self) -> str:
        """Return the next character that is not blank, or "" at the end, without advancing."""
        while True:
            self._position = _BLANK.match(self._held, self._position).end()  # type: ignore[union-attr]  # it matches ""
            if self._position < len(self._held):
                return self._held[self._position]
            if not self._extend(1):
                return ""

    def take(self) -> str:
        """Return the next character that is not blank, and advance past it."""
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
                if not self._extend(max(held, 1)):
                    raise
                continue
            # A number may go on too.
            if end < len(self._held) or not self._extend(1):
                self._position = end
                return value

    def _extend(self, characters: int) -> bool:
        """Read at least that many more characters, if there are any; drop what was parsed."""
        pieces = [self._held[self._position :]]
        self._position = 0
        gained = 0
        while gained < characters and (text := next(self._texts, None)) is not None:
            pieces.append(text)
            gained += len(text)
        self._held = "".join(pieces)
        return gained > 0


_BLANK = re.compile(r"[ \t\n]*")


# NaN and Infinity, which are not JSON but are written, become null.
DECODER = json.JSONDecoder(parse_constant=lambda _: None)
PLAIN = Document("", "")


class Records:
    """Turns JSON objects into documents; caches the roles of fields."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._layouts: dict[tuple[str, ...], FieldRoles] = {}
        self._unmet = named_fields(options)

    def document(self, record: Any, base: Document, where: str) -> Document | Problem:
        """Make a document of one JSON value."""
        if not isinstance(record, dict):
            return Problem("not a JSON object", where)
        result = self._document(record, base)
        return result if isinstance(result, Document) else replace(result, where=where)

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

    def _parts(self, names: tuple[str, ...]) -> FieldRoles:
        parts = find_roles(names, self._options)
        self._unmet = {part: name for part, name in self._unmet.items() if part in parts.missing}
        # Records with keys of their own (words as keys) must not fill the memory.
        if len(self._layouts) < _MOST_LAYOUTS and len(names) <= _WIDEST_LAYOUT:
            self._layouts[names] = parts
        return parts


def parse(text: str) -> Any:
    """Parse exactly one JSON value, with nothing but white space around it."""
    start = len(text) - len(text.lstrip()) if text[:1].isspace() else 0
    record, end = DECODER.raw_decode(text, start)
    if end != len(text) and not text[end:].isspace():
        raise json.JSONDecodeError("Extra data", text, end)
    return record


def not_valid(error: ValueError | RecursionError) -> str:
    """State why a text is not JSON."""
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON: {error.msg} at column {error.colno}"
    nested = isinstance(error, RecursionError)
    return f"not valid JSON: {'nested too deeply' if nested else error}"


_MOST_LAYOUTS = 1000
_WIDEST_LAYOUT = 1000


def read_jsonl(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
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


def sniff_jsonl(head: bytes) -> bool:
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


JSONL_READER = Reader("jsonl", (".jsonl", ".ndjson"), read_jsonl, sniff_jsonl, many=True)


def _text_only(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pass chunks on; refuse binary data at once: each of its lines would be a problem."""
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
