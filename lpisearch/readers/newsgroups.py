"""Messages of 20 Newsgroups: a few header lines, a blank line, the body; no file suffix.

Subject is the title, the body is the text, the other headers are metadata. Labels and splits
come from the folders, which is not a reader's business.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import decode_text
from lpisearch.readers.fields import document_from_fields, find_roles
from lpisearch.readers.streams import whole
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one message, after what there is to say about its encoding."""
    decoded = decode_text(whole(source, options.max_document_bytes))
    head, _, body = decoded.text.lstrip("\n").partition("\n\n")
    fields = _headers(head)
    if not fields:
        raise ReaderError("is not a message: it does not start with header lines")
    yield from decoded.warnings
    base = Document(source.stem, body.strip("\n"), media_type=MEDIA_TYPE, metadata=decoded.metadata)
    parts = find_roles(fields, replace(options, text_field=""), _PARTS)
    found = document_from_fields(fields, parts, base, separators=",")
    yield found


def sniff(head: bytes) -> bool:
    """Tell whether bytes begin with the headers of a news message, and not of a mail."""
    text = head.decode("latin-1").replace("\r\n", "\n").lstrip("\n")
    names = {name.lower() for name in _headers(text.partition("\n\n")[0])}
    is_mail = bool(names & _MAIL) and "newsgroups" not in names
    return not is_mail and ({"from", "subject"} <= names or {"newsgroups", "path"} <= names)


READER = Reader("newsgroups", (), read, sniff)
MEDIA_TYPE = "message/rfc822"

_PARTS = ("title", "date")
_MAIL = {"received", "delivered-to"}
_HEADER = re.compile(r"([!-9;-~]{1,60}):[ \t]*(.*)")


def _headers(head: str) -> dict[str, str]:
    """Return the header fields; nothing if a line is none.

    A folded line is joined; the collection also has some whose header itself was cut away.
    """
    fields: dict[str, str] = {}
    name = ""
    for line in head.split("\n"):
        found = _HEADER.fullmatch(line)
        if found:
            name = found[1]
            fields.setdefault(name, found[2].strip())
        elif name and line[:1] in (" ", "\t"):
            fields[name] = f"{fields[name]} {line.strip()}"
        elif line[:1] not in (" ", "\t"):
            return {}
    return fields
