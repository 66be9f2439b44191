"""Mail messages and their attachments, MBOX, 20 Newsgroups.

Attachments of known formats are documents of their own, after their message; in a mailbox after all
messages, whose numbers stay as they are.

The subject is the title, the body the text, other headers are metadata. The older header classes
of the standard library are used on purpose: the newer ones fail on broken headers, which are
common in mail, and take several times as long. Its `mailbox` reads a whole file first, to find
where messages begin.
"""

from __future__ import annotations

import email
import email.errors
import email.header
import email.policy
import re
from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.readers.base import (
    EMPTY,
    NO_TEXT,
    Reader,
    SourceFile,
    chunks,
    lines,
    over_limit,
    whole,
)
from lpisearch.readers.encoding import clean, decode, decode_text
from lpisearch.readers.html import page_of
from lpisearch.readers.records import date_of, document_from_fields, find_roles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from email.message import Message

    from lpisearch.options import ReadOptions


MEDIA_TYPE = "message/rfc822"

_ASCII = ("us-ascii", "ascii")
_PARAMETERS = ("content-type", "content-disposition", "content-transfer-encoding")
_LONGEST_PARAMETERS = 4_000
_LONGEST_HEADER = 20_000
_MOST_ATTACHED = 100  # files of one message that are read
_SIGNATURES = {"application/pgp-signature", "application/pkcs7-signature", "application/pgp-keys"}
_METADATA = {
    "from": "From",
    "to": "To",
    "cc": "Cc",
    "message_id": "Message-ID",
    "in_reply_to": "In-Reply-To",
    "list_id": "List-Id",
}


def read_mail(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the message, after its warnings."""
    message = read_message(whole(source, options.max_page_bytes), source.stem)
    yield from message.warnings
    yield message.document
    yield from _attached(message, "", source, options)


class ReadMessage(NamedTuple):
    """What a message contains."""

    document: Document
    warnings: list[Problem]
    attached: list[tuple[str, Message]]


def _attached(
    message: ReadMessage, number: str, source: SourceFile, options: ReadOptions
) -> Iterator[Document | Problem]:
    """Yield the documents attached to a message; what cannot be read is a warning."""
    from lpisearch.readers.archives import documents_inside, part_name

    shared = {"message": message.document.title, **message.document.metadata}
    facts = {name: shared[name] for name in ("message", "from") if shared.get(name)}
    taken: Counter[str] = Counter()
    for name, part in message.attached[:_MOST_ATTACHED]:
        inside = part_name(name.replace("/", "_"))
        taken[inside] += 1
        if taken[inside] > 1:
            stem, dot, suffix = inside.rpartition(".")
            inside = f"{stem or suffix} ({taken[inside]}){dot}{suffix if stem else ''}"
        for item in documents_inside(_content(part), f"{number}{inside}", source, options):
            if isinstance(item, Problem):
                yield replace(item, warning=True)
                continue
            date = item.date or message.document.date
            title = item.title
            if title == PurePath(inside).stem:  # it has no title of its own
                title = f"{message.document.title}: {name}"
            yield replace(item, title=title, date=date, metadata={**facts, **item.metadata})


def _content(part: Message) -> bytes:
    """Return the bytes of an attachment; b"" if they cannot be decoded."""
    try:
        if part.get_content_type() == MEDIA_TYPE:
            return b"".join(inner.as_bytes() for inner in _parts(part)[:1])
        payload = part.get_payload(decode=True)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return b""
    return payload if isinstance(payload, bytes) else b""


def read_message(data: bytes, stem: str) -> ReadMessage:
    """Read one message; `stem` replaces a missing subject.

    Raises ReaderError if there are no headers or nothing to read.
    """
    try:
        message = email.message_from_bytes(data, policy=_POLICY)
        if not message.keys():
            raise ReaderError("is not a mail message: it has no headers")
        body = _Body(message)
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
    return ReadMessage(document, body.warnings, body.attached)


class _ShortHeaders(email.policy.Compat32):
    """Truncates headers where the standard library takes quadratic time for more.

    It copies the rest of the header for each parameter, and scans to its end for each encoded word.
    """

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Return name and value of a header."""
        name, value = super().header_source_parse(sourcelines)
        most = _LONGEST_PARAMETERS if name.lower() in _PARAMETERS else _LONGEST_HEADER
        return name, value[:most]


_POLICY = _ShortHeaders()


class _Body:
    """The text and attachments of the parts of a message."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self.texts: list[str] = []
        self.attachments: list[str] = []
        self.attached: list[tuple[str, Message]] = []
        self.warnings: list[Problem] = []

    def gather(self, part: Message) -> None:
        """Add one part: each part of a container, the plainest of alternatives."""
        kind = part.get_content_type()
        name = _decoded_words(_parameter(part.get_filename))
        # A message that is nothing but a text is that text, whatever name it has.
        is_attached = name or part.get_content_disposition() == "attachment"
        if is_attached and not (part is self._message and kind.startswith("text/")):
            self.attachments.append(name or kind)
            if name or kind == MEDIA_TYPE:
                ending = ".eml" if kind == MEDIA_TYPE and not name.endswith(".eml") else ""
                self.attached += (
                    [] if kind in _SIGNATURES else [(f"{name or 'mail'}{ending}", part)]
                )
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
    """Order alternatives: plain text, other containers (they may contain it), HTML, the rest."""
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
        pass  # the undecoded header is better than none
    return " ".join(clean(text).split())


def _parameter(get: Callable[[], str | None]) -> str:
    """Read a parameter of a header; the standard library fails on some malformed ones."""
    try:
        return get() or ""
    except (ValueError, TypeError, LookupError):
        return ""


def _metadata(message: Message, attachments: list[str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {ours: _header(message, name) for ours, name in _METADATA.items()}
    metadata["attachments"] = attachments
    return {name: value for name, value in metadata.items() if value}


MAIL_READER = Reader("eml", (".eml",), read_mail, isolated=True, contains=True)


def read_mbox(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield each message, after its warnings; a broken one yields a problem instead."""
    limit = options.max_page_bytes
    with_attachments: set[int] = set()
    for number, message in enumerate(_messages(lines(chunks(source), limit), limit), 1):
        where = f"message {number}"
        try:
            read = read_message(message.bytes(), f"{source.stem} {number}")
        except ReaderError as error:
            yield Problem(error.what, where)
            continue
        for warning in read.warnings:
            yield Problem(warning.reason, where, warning=True)
        yield read.document
        if read.attached:
            with_attachments.add(number)
    if not with_attachments:
        return
    for number, message in enumerate(_messages(lines(chunks(source), limit), limit), 1):
        if number in with_attachments:
            read = read_message(message.bytes(), f"{source.stem} {number}")
            yield from _attached(read, f"#{number}", source, options)


class _Message:
    """The lines of one message, dropped once they exceed the limit."""

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


# The separating line has the time of delivery; a few writers omit it.
_SEPARATOR = re.compile(rb"From .*\d:\d\d")
_HEADER = re.compile(rb"[!-9;-~]+:")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_BEGINNING = re.compile(_SEPARATOR.pattern + rb"[^\n]*\n" + _HEADER.pattern)


def _messages(numbered: Iterable[tuple[int, bytes | None]], limit: int) -> Iterator[_Message]:
    """Collect the lines between separators: lines “From …” at the start or after a blank line."""
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


MBOX_READER = Reader(
    "mbox", (".mbox", ".mbx"), read_mbox, _sniff, isolated=True, many=True, contains=True
)


def read_newsgroups(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield warnings about the encoding, then the one message."""
    decoded = decode_text(whole(source, options.max_document_bytes))
    head, _, body = decoded.text.lstrip("\n").partition("\n\n")
    fields = _headers(head)
    if not fields:
        raise ReaderError("is not a message: it does not start with header lines")
    yield from decoded.warnings
    base = Document(source.stem, body.strip("\n"), media_type=MEDIA_TYPE, metadata=decoded.metadata)
    parts = find_roles(fields, replace(options, text_field=""), _PARTS)
    yield document_from_fields(fields, parts, base, separators=",")


def sniff(head: bytes) -> bool:
    """Tell whether bytes begin with the headers of a news message, not of a mail."""
    text = head.decode("latin-1").replace("\r\n", "\n").lstrip("\n")
    names = {name.lower() for name in _headers(text.partition("\n\n")[0])}
    is_mail = bool(names & _MAIL) and "newsgroups" not in names
    return not is_mail and ({"from", "subject"} <= names or {"newsgroups", "path"} <= names)


NEWSGROUPS_READER = Reader("newsgroups", (), read_newsgroups, sniff)

_PARTS = ("title", "date")
_MAIL = {"received", "delivered-to"}
_NEWSGROUPS_HEADER = re.compile(r"([!-9;-~]{1,60}):[ \t]*(.*)")


def _headers(head: str) -> dict[str, str]:
    """Return the header fields; {} if a line is not a header.

    Folded lines are joined; the collection also has some whose header itself was cut off.
    """
    fields: dict[str, str] = {}
    name = ""
    for line in head.split("\n"):
        header = _NEWSGROUPS_HEADER.fullmatch(line)
        if header:
            name = header[1]
            fields.setdefault(name, header[2].strip())
        elif name and line[:1] in (" ", "\t"):
            fields[name] = f"{fields[name]} {line.strip()}"
        elif line[:1] not in (" ", "\t"):
            return {}
    return fields
