"""CSV and TSV.

Each row is a document. In a table without a known text column all columns are the text; if most of
its rows have no words, the table is one document, of its header and first rows. The file is read
twice, the first time for its encoding, since one late byte decides it.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.messages import Message, Option, counted
from lpisearch.model.documents import Document, Problem
from lpisearch.readers.base import EMPTY, Reader, SourceFile, chunks, over_limit
from lpisearch.readers.encoding import NUL_REMOVED, clean, detect, text_chunks
from lpisearch.readers.plaintext import LONGEST_TITLE
from lpisearch.readers.records import FieldRoles, document_from_fields, find_roles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.options import ReadOptions


def read(
    source: SourceFile, options: ReadOptions, preferred: str = ","
) -> Iterator[Document | Problem]:
    """Yield a document, or a problem with its line number, for each row below the header."""
    # The module has one limit for all; its own default, 128 KiB, is far too low for documents.
    csv.field_size_limit(options.max_document_bytes)
    encoding = detect(source)
    yield from encoding.warnings
    lines = _Lines(_lines(text_chunks(chunks(source), encoding.encoding), options))
    sample = _sample(lines)
    delimiter = _delimiter(sample, preferred)
    rows = csv.reader(chain(sample, lines), delimiter=delimiter, strict=True)
    try:
        names = _column_names(next(rows, []))
    except csv.Error as error:
        raise ReaderError(f"has no readable header row: {error}") from error
    parts = _column_roles(names, options)
    base = Document("", "", metadata=encoding.metadata)
    numbered = _numbered(rows)
    if parts.text is None:
        first = list(islice(numbered, _SAMPLE_LINES))
        if _is_numeric([row for _, row in first if not isinstance(row, Problem)]):
            yield _table(source, names, first, base)
            return
        numbered = chain(first, numbered)
    make = partial(
        _document, names=names, parts=parts, base=base, separators=options.label_separators
    )
    for where, row in numbered:
        record = row if isinstance(row, Problem) else make(row)
        yield replace(record, where=where) if isinstance(record, Problem) else record
    if lines.nul_met:
        yield NUL_REMOVED


CSV_READER = Reader("csv", (".csv",), read, many=True)
TSV_READER = Reader("tsv", (".tsv", ".tab"), partial(read, preferred="\t"), many=True)

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_LINES = 50
_BETWEEN_CELLS = "\t"
_SAMPLE_CHARACTERS = 1_000_000


class _Lines:
    """Lines for the csv module, without NUL characters; remembers whether there were any."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.nul_met = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        if "\0" in line:
            self.nul_met = True
            return line.replace("\0", "")
        return line


def _lines(texts: Iterator[str], options: ReadOptions) -> Iterator[str]:
    """Split text into lines that keep their newline; memory contains one chunk and one line."""
    limit = options.max_document_bytes
    held: list[str] = []
    length = 0
    for text in texts:
        first, *rest = text.split("\n")
        held.append(first)
        length += len(first)
        if length > limit:
            raise ReaderError(Message("has a line that ", over_limit(limit)))
        if rest:
            yield "".join(held) + "\n"
            last = rest.pop()
            yield from (f"{line}\n" for line in rest)
            held, length = [last], len(last)
    if length:
        yield "".join(held)


def _sample(lines: Iterator[str]) -> list[str]:
    sample: list[str] = []
    characters = 0
    for line in lines:
        sample.append(line)
        characters += len(line)
        if len(sample) == _SAMPLE_LINES or characters > _SAMPLE_CHARACTERS:
            break
    return sample


def _delimiter(sample: list[str], preferred: str) -> str:
    """Find the delimiter that splits the most rows into as many cells as the header.

    Ties go to the wider header, then to the delimiter that the suffix of the file implies.
    """
    best = (0.0, 0, False)
    chosen = preferred
    for delimiter in _DELIMITERS:
        rows = csv.reader(sample, delimiter=delimiter)
        try:
            widths = [len(row) for row in rows if row]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            # The last row of the sample may be cut off.
            agreeing = Counter(widths[:-1] if len(widths) > 2 else widths)[widths[0]]  # noqa: PLR2004 - header and one row
            score = (agreeing / len(widths), widths[0], delimiter == preferred)
            if score > best:
                best, chosen = score, delimiter
    return chosen


def _column_names(header: list[str]) -> list[str]:
    """Return the names of the columns; a repeated name gets a number."""
    if not any(name.strip() for name in header):
        raise ReaderError(EMPTY if not header else "has no header row")
    names = [name.strip() for name in header]
    taken: set[str] = set()
    next_number: dict[str, int] = {}
    for column, name in enumerate(names):
        unique = name
        while unique and unique in taken:
            number = next_number.get(name, 2)
            next_number[name] = number + 1
            unique = f"{name} ({number})"
        taken.add(unique)
        names[column] = unique
    return names


def _column_roles(names: list[str], options: ReadOptions) -> FieldRoles:
    parts = find_roles([name for name in names if name], options)
    known = ", ".join(f"“{name}”" for name in names if name)
    if parts.missing:
        part, name = next(iter(parts.missing.items()))
        raise ReaderError(
            Message(
                f"has no column “{name}” (",
                Option(_OPTION.get(part, part)),
                f"); its columns are {known}",
            )
        )
    return parts


_OPTION = {"id": "id_field", "title": "title_field", "text": "text_field"}


def _numbered(rows: Iterator[list[str]]) -> Iterator[tuple[str, list[str] | Problem]]:
    """Yield each row that is not blank with the line it begins on; a bad one as a problem."""
    while True:
        # `line_num` counts the lines taken so far, so the next row begins one later.
        where = f"line {rows.line_num + 1}"  # type: ignore[attr-defined]  # of csv.reader
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield where, Problem(f"not valid CSV: {_reason(error)}")
            continue
        if row:
            yield where, row


def _reason(error: csv.Error) -> str:
    unclosed = "unexpected end of data" in str(error)
    return "unclosed quote; the rest of the file cannot be read" if unclosed else str(error)


def _document(
    row: list[str], *, names: list[str], parts: FieldRoles, base: Document, separators: str
) -> Document | Problem:
    while len(row) > len(names) and not row[-1]:
        row.pop()
    if len(row) != len(names):
        return Problem(f"{counted(len(row), 'cell')}, but the header has {len(names)}")
    # An empty cell is not metadata.
    cells = {name: cell for name, cell in zip(names, row, strict=True) if name}
    nonempty = tuple(name for name in parts.others if cells[name])
    if parts.text is None:
        base = _row(cells, parts, base)
    return document_from_fields(cells, replace(parts, others=nonempty), base, separators)


def _row(cells: dict[str, str], parts: FieldRoles, base: Document) -> Document:
    """Return a row whose columns are all text, titled by its first words."""
    marks = {parts.id, parts.labels, parts.split, parts.path, parts.media_type}
    texts = {name: " ".join(clean(cell).split()) for name, cell in cells.items()}
    shown = [texts[name] for name in cells if name not in marks and texts[name]]
    worded = (texts[name] for name in cells if name not in {*marks, parts.date})
    title = next((text for text in worded if _has_letter(text)), "")
    return replace(base, title=title[:LONGEST_TITLE], text=_BETWEEN_CELLS.join(shown))


def _is_numeric(rows: list[list[str]]) -> bool:
    """Tell whether most rows of a table have no words."""
    worded = sum(any(map(_has_letter, row)) for row in rows)
    return bool(rows) and 2 * worded < len(rows)


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


def _table(
    source: SourceFile,
    names: list[str],
    first: list[tuple[str, list[str] | Problem]],
    base: Document,
) -> Document:
    """Return a table of numbers as one document: its header and first rows."""
    rows = [names, *(row for _, row in first if not isinstance(row, Problem))]
    text = "\n".join(_BETWEEN_CELLS.join(filter(None, map(clean, row))) for row in rows)
    return replace(base, title=source.stem, text=text)
