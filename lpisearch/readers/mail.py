"""Mail: one document per message; attachments are listed but not read.

The standard library's older header classes are used on purpose: the newer ones fail on broken
headers, which mail is full of, and take several times as long.
"""

from __future__ import annotations

import email
import email.errors
import email.header
import email.policy
from typing import TYPE_CHECKING, Any

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import clean, decode
from lpisearch.readers.html import page_of
from lpisearch.readers.streams import NO_TEXT, whole
from lpisearch.readers.values import date_of
from lpisearch.records import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import Message

    from lpisearch.readers.base import SourceFile
    from lpisearch.settings import ReadOptions

MEDIA_TYPE = "message/rfc822"

_ASCII = ("us-ascii", "ascii")
_PARAMETERS = ("content-type", "content-disposition", "content-transfer-encoding")
_LONGEST_PARAMETERS = 4_000
_LONGEST_HEADER = 20_000
_METADATA = {
    "from": "From",
    "to": "To",
    "cc": "Cc",
    "message_id": "Message-ID",
    "in_reply_to": "In-Reply-To",
    "list_id": "List-Id",
}


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the message, after its warnings."""
    document, warnings = message_document(whole(source, options.max_page_bytes), source.stem)
    yield from warnings
    yield document


def message_document(data: bytes, stem: str) -> tuple[Document, list[Problem]]:
    """Turn the bytes of one message into a document.

    Parameters
    ----------
    data
        Headers, a blank line, the body.
    stem
        The title of a message without a subject.

    Raises
    ------
    ReaderError
        There are no headers: this is no message; or nothing to read in it.
    """
    try:
        message = email.message_from_bytes(data, policy=_POLICY)
        if not message.keys():
            raise ReaderError("is not a mail message: it has no headers")
        body = _Body()
        body.gather(message)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        # The parser of the standard library has open faults on malformed mail.
        raise ReaderError(f"cannot be read as a mail message: {error}") from error
    subject = _header(message, "Subject")
    text = "\n\n".join(body.texts)
    if not subject and not text:
        raise ReaderError(NO_TEXT)
    document = Document(
        title=subject or stem,
        text=text,
        date=date_of(_header(message, "Date")),
        media_type=MEDIA_TYPE,
        metadata=_metadata(message, body.attachments),
    )
    return document, body.warnings


class _ShortHeaders(email.policy.Compat32):
    """Cuts headers off where the standard library takes quadratic time for more.

    It copies the rest of the header for each parameter, and looks to its end for each encoded word.
    """

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Return name and value of a header."""
        name, value = super().header_source_parse(sourcelines)
        most = _LONGEST_PARAMETERS if name.lower() in _PARAMETERS else _LONGEST_HEADER
        return name, value[:most]


_POLICY = _ShortHeaders()


class _Body:
    """What is gathered from the parts of a message."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.attachments: list[str] = []
        self.warnings: list[Problem] = []

    def gather(self, part: Message) -> None:
        """Add one part: containers give their parts, of alternatives the plainest."""
        kind = part.get_content_type()
        name = _filename(part)
        if name or part.get_content_disposition() == "attachment":
            self.attachments.append(name or kind)
        elif kind == "multipart/alternative":
            self._gather_one(part)
        elif part.is_multipart():
            if kind == MEDIA_TYPE:  # a forwarded message, shown inside this one
                self.texts += [_header(inner, "Subject") for inner in _parts(part)]
            for inner in _parts(part):
                self.gather(inner)
        elif kind == "text/html":
            self._add(page_of(self._decoded(part)).text)
        elif kind.startswith("text/"):
            self._add(self._decoded(part))
        else:
            self.attachments.append(kind)

    def _gather_one(self, part: Message) -> None:
        """Add the plainest alternative that has text: the plain one is sometimes empty."""
        before = len(self.texts)
        for alternative in sorted(_parts(part), key=_plainness):
            self.gather(alternative)
            if len(self.texts) > before:
                return

    def _add(self, text: str) -> None:
        if text := text.strip():
            self.texts.append(text)

    def _decoded(self, part: Message) -> str:
        payload = part.get_payload(decode=True)
        data = payload if isinstance(payload, bytes) else b""
        charset = _parameter(part.get_content_charset)
        # Much mail claims ASCII, by default or by mistake, and is UTF-8.
        decoded = decode(data, declared="" if charset in _ASCII else charset)
        self.warnings += decoded.warnings
        return decoded.text


def _parts(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [inner for inner in payload if not isinstance(inner, str)] if payload else []


def _plainness(part: Message) -> int:
    """Order alternatives: plain text, other containers (they may hold it), HTML, the rest."""
    kind = part.get_content_type()
    if kind == "text/plain":
        return 0
    if kind.startswith("multipart/"):
        return 1
    return 2 if kind == "text/html" else 3


def _header(message: Message, name: str) -> str:
    """Return a header decoded, on one line; undecodable bytes are replaced."""
    return _decoded_words(message.get(name, ""))


def _decoded_words(value: Any) -> str:
    text = str(value)
    try:
        pieces = email.header.decode_header(value)
        text = "".join(
            decode(piece, declared=charset or "").text if isinstance(piece, bytes) else piece
            for piece, charset in pieces
        )
    except (ValueError, LookupError, email.errors.HeaderParseError):
        pass  # the undecoded header says more than none
    return " ".join(clean(text).split())


def _filename(part: Message) -> str:
    return _decoded_words(_parameter(part.get_filename))


def _parameter(get: Callable[[], str | None]) -> str:
    """Read a parameter of a header; the standard library fails on some malformed ones."""
    try:
        return get() or ""
    except (ValueError, TypeError, LookupError):
        return ""


def _metadata(message: Message, attachments: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {ours: _header(message, name) for ours, name in _METADATA.items()}
    found["attachments"] = attachments
    return {name: value for name, value in found.items() if value}


READER = Reader(name="eml", suffixes=(".eml",), read=read, isolated=True)
