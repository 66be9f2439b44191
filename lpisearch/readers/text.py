"""Plain text: one file, one document.

The title is the first line that is not blank, when it is short (120 characters), has a letter
or digit in it, and more text follows; else the name of the file. The text keeps every line, the
title too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import decode_text, looks_binary
from lpisearch.readers.streams import NO_TEXT, whole
from lpisearch.records import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem
    from lpisearch.settings import ReadOptions

LONGEST_TITLE = 120


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document, after what there is to say about its encoding."""
    decoded = decode_text(whole(source, options.max_document_bytes))
    text = decoded.text.strip()
    if not text:
        raise ReaderError(NO_TEXT)
    yield from decoded.warnings
    yield Document(first_line_title(text) or source.stem, text, metadata=decoded.metadata)


def first_line_title(text: str) -> str:
    """Return the first line if it can be a title, else ""."""
    first = _FIRST_OF_SEVERAL.match(text)
    line = first[1].strip() if first else ""
    return line if len(line) <= LONGEST_TITLE and re.search(r"\w", line) else ""


def sniff(head: bytes) -> bool:
    """Tell whether bytes are text at all. It is true of many formats: ask it last."""
    return bool(head) and not looks_binary(head)


READER = Reader(
    "text",
    (".txt", ".text", ".asc", ".log", ".adoc", ".asciidoc", ".tex"),
    read,
    sniff,
)

_FIRST_OF_SEVERAL = re.compile(r"\s*(\S[^\n]*)\n\s*\S")
