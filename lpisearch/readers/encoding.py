"""Bytes of unknown encoding in, text out.

The rule, everywhere: a byte order mark, then what the document declares (HTML), then strict
UTF-8 on the whole, then a guess by charset-normalizer where it can be trusted, last
Windows-1252 with a warning. Newlines become LF; NUL characters are removed, since neither
SQLite nor a terminal takes them.
"""

from __future__ import annotations

import codecs
import io
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.charsets import LONGEST_MARK, byte_order_mark, guess, known
from lpisearch.readers.streams import chunks
from lpisearch.records import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lpisearch.readers.base import SourceFile

NOT_TEXT = "looks like binary data, not text"
NUL_REMOVED = Problem("NUL characters were removed", warning=True)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and how it was read.

    Attributes
    ----------
    text
        With LF newlines, without NUL characters and byte order mark.
    encoding
        Python's name of the encoding.
    warnings
        What the user should know about it.
    """

    text: str
    encoding: str
    warnings: tuple[Problem, ...] = ()

    @property
    def metadata(self) -> dict[str, str]:
        """What to record with the document: the encoding, unless it is UTF-8."""
        return {} if self.encoding == "utf-8" else {"encoding": self.encoding}


def decode(data: bytes, declared: str = "") -> Decoded:
    """Read bytes as text, by the rule of this module; never fails.

    Parameters
    ----------
    data
        All bytes of the document.
    declared
        The encoding that the document itself names; ignored when it is none we know.
    """
    encoding, skip = byte_order_mark(data)
    warnings: list[Problem] = []
    if encoding:
        text = data[skip:].decode(encoding, "replace")
    else:
        encoding, text, warnings = _decode_without_mark(data, declared)
    if "\0" in text:
        warnings.append(NUL_REMOVED)
    return Decoded(clean(text), encoding, tuple(warnings))


def decode_text(data: bytes, declared: str = "") -> Decoded:
    """Read bytes as text; raises ReaderError if they are something else."""
    if looks_binary(data):
        raise ReaderError(NOT_TEXT)
    return decode(data, declared)


def clean(text: str) -> str:
    """Return text with LF newlines, without NUL characters and lone surrogates."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            # Half of a pair, as "\ud83d" in JSON: it cannot be stored as UTF-8.
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def looks_binary(data: bytes) -> bool:
    """Tell whether bytes are no text in any encoding: many NUL bytes or control characters."""
    if byte_order_mark(data)[0]:
        return False
    nuls = data.count(0)
    controls = len(data) - nuls - len(data.translate(None, _CONTROLS))
    return (
        nuls > max(_STRAY, len(data) * _NUL_SHARE)
        or controls > max(_STRAY, len(data) * _CONTROL_SHARE)
        or (nuls + controls) * _SHORT_SHARE > len(data)
    )


def utf8_chunks(source: SourceFile) -> Iterator[bytes]:
    """Yield the bytes of a record file; UTF-16 and UTF-32, told by their mark, as UTF-8.

    Bytes without a mark pass unchanged: each record is then decoded on its own.
    """
    pieces = chunks(source)
    # The mark may be cut in two by a tiny first chunk.
    head = next(pieces, b"")
    while 0 < len(head) < LONGEST_MARK and (more := next(pieces, b"")):
        head += more
    encoding, skip = byte_order_mark(head)
    rest = chain([head[skip:]], pieces)
    if encoding in ("", "utf-8"):
        return rest
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    return (decoder.decode(piece).encode() for piece in rest)


def detect(source: SourceFile) -> Decoded:
    """Find the encoding of a file too large to hold, by reading all of it once.

    Returns
    -------
    Decoded
        With an empty text.

    Raises
    ------
    ReaderError
        It looks like binary data. Damaged gzip data is no error here: whoever reads the
        records meets it again, after the whole ones.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    before = b""
    # The empty last piece ends the text: a character may be cut off there.
    for piece in chain(_until_damage(chunks(source)), [b""]):
        if not before and (encoding := byte_order_mark(piece)[0]):
            return Decoded("", encoding)
        if looks_binary(piece):
            raise ReaderError(NOT_TEXT)
        try:
            decoder.decode(piece, final=not piece)
        except UnicodeDecodeError:
            sample = before + piece
            encoding, _, warnings = _decode_without_mark(sample, final=not piece)
            return Decoded("", encoding, tuple(warnings))
        # The broken character may begin in the piece before: whole lines of it belong to
        # the sample.
        before = piece[piece.find(b"\n") + 1 :] or piece
    return Decoded("", "utf-8")


def text_chunks(pieces: Iterable[bytes], encoding: str) -> Iterator[str]:
    """Yield the text of chunks in a known encoding, with LF newlines and without its mark."""
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder(encoding)("replace"), translate=True
    )
    for number, piece in enumerate(chain(pieces, [b""])):
        text = decoder.decode(piece, final=not piece)
        yield text.removeprefix("\ufeff") if number == 0 else text


# Backspace, tab, newlines, form feed and escape occur in logs and manuals.
_CONTROLS = bytes(set(range(1, 32)) - set(b"\b\t\n\v\f\r\x1b") | {127})
_STRAY = 3
# In a few bytes a few control characters are many: a quarter of them is too much.
_SHORT_SHARE = 4
_NUL_SHARE = 0.01
_CONTROL_SHARE = 0.02
_REPLACEMENT = "\ufffd"
# Other encodings fit UTF-8 by chance for about one character in eight.
_INTACT_FOR_EACH_BROKEN = 4


def _until_damage(pieces: Iterator[bytes]) -> Iterator[bytes]:
    with suppress(ReaderError):
        yield from pieces


def _decode_without_mark(
    data: bytes, declared: str = "", *, final: bool = True
) -> tuple[str, str, list[Problem]]:
    """Return encoding, text and warnings; a sample that is not `final` may end in a character."""
    for encoding in (known(declared), "utf-8"):
        if (text := _decode_strictly(data, encoding, final=final)) is not None:
            return encoding, text, []
    text = data.decode("utf-8", "replace")
    replaced = text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode())
    intact = len(text) - len(text.encode("ascii", "ignore")) - replaced
    if intact > replaced * _INTACT_FOR_EACH_BROKEN:
        reason = f"broken UTF-8; damaged characters replaced: {replaced}"
        return "utf-8", text, [Problem(reason, warning=True)]
    encoding = guess(data)
    if (text := _decode_strictly(data, encoding, final=final)) is not None:
        return encoding, text, []
    warning = Problem("not UTF-8; read as cp1252", warning=True)
    return "cp1252", data.decode("cp1252", "replace"), [warning]


def _decode_strictly(data: bytes, encoding: str, *, final: bool) -> str | None:
    """Return the text, or None if a byte does not fit or there is no encoding."""
    if not encoding:
        return None
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final)
    except UnicodeDecodeError:
        return None
