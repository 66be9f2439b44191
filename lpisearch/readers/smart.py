"""SMART collections (Cranfield, MED, CISI, CACM): `.I`, then fields such as `.T`, `.W`, `.A`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import decode, utf8_chunks
from lpisearch.readers.streams import EMPTY, lines, over_limit
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield one document for each `.I` line; a problem for one without title and text."""
    warned = False
    for number, data in _records(source, options.max_document_bytes):
        where = f"line {number}"
        if data is None:
            yield Problem(over_limit(options.max_document_bytes), where)
            continue
        decoded = decode(data)
        if decoded.warnings and not warned:
            warned = True
            yield from (replace(warning, where=where) for warning in decoded.warnings)
        yield _document(decoded.text, decoded.metadata, where)


def sniff(head: bytes) -> bool:
    """Tell whether the first line is `.I` and a number."""
    return bool(_FIRST.match(head))


READER = Reader("smart", (".all",), read, sniff, many=True)

_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\.I[ \t]+\d+[ \t]*\r?\n")
_RECORD = re.compile(rb"\.I[ \t]+\S")
_FIELD = re.compile(r"^\.([A-Z])[ \t]*$", re.MULTILINE)
_METADATA = {"A": "author", "B": "source", "K": "keywords", "N": "entered", "C": "categories"}


def _records(source: SourceFile, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield each record with the line it begins on, or None for one over the limit."""
    begun = 0
    held: list[bytes] = []
    size = 0
    nothing = True
    for number, line in lines(utf8_chunks(source), limit):
        nothing = False
        if line is not None and _RECORD.match(line):
            if begun:
                yield begun, b"\n".join(held) if size <= limit else None
            begun, held, size = number, [], 0
        elif not begun and (line is None or line.strip()):
            break
        size = limit + 1 if line is None else size + len(line) + 1
        if size <= limit and line is not None:
            held.append(line)
        else:
            held.clear()
    if not begun:
        raise ReaderError(
            EMPTY if nothing else "is not a SMART collection: it does not start with an “.I” line"
        )
    yield begun, b"\n".join(held) if size <= limit else None


def _document(text: str, metadata: dict[str, str], where: str) -> Document | Problem:
    head, *pieces = _FIELD.split(text)
    gathered: dict[str, list[str]] = {}
    # The pattern's group puts letters and contents in turn. A repeated field goes on.
    for letter, content in zip(pieces[::2], pieces[1::2], strict=True):
        if stripped := content.strip():
            gathered.setdefault(letter, []).append(stripped)
    fields = {letter: "\n".join(contents) for letter, contents in gathered.items()}
    title = " ".join(fields.get("T", "").split())
    body = fields.get("W", "")
    if not title and not body:
        return Problem("has neither title nor text", where)
    stated = {name: fields[letter] for letter, name in _METADATA.items() if fields.get(letter)}
    return Document(
        title, body, id=head.removeprefix(".I").strip(), metadata={**stated, **metadata}
    )
