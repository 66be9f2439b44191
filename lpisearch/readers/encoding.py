"""Bytes to text; charset detection.

The rule, everywhere: a byte order mark, then the encoding that the document declares (HTML), then
strict UTF-8 on the whole, then a guess by charset-normalizer where it can be trusted, last
Windows-1252 with a warning. Newlines become LF; NUL characters are removed, since neither
SQLite nor a terminal accepts them.
"""

from __future__ import annotations

import codecs
import html
import io
import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Problem
from lpisearch.readers.base import SourceFile, chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


NOT_TEXT = "looks like binary data, not text"
NUL_REMOVED = Problem("NUL characters were removed", warning=True)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text with LF newlines, without NUL characters and byte order mark; its encoding."""

    text: str
    encoding: str
    warnings: tuple[Problem, ...] = ()

    @property
    def metadata(self) -> dict[str, str]:
        """What to record with the document: the encoding, unless it is UTF-8."""
        return {} if self.encoding == "utf-8" else {"encoding": self.encoding}


def decode(data: bytes, declared: str = "") -> Decoded:
    """Decode bytes by the rule of this module; an unknown declared encoding is ignored."""
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
    """Decode bytes; raises ReaderError if they are not text."""
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


def unescape(text: str) -> str:
    """Replace character references; Python refuses those of thousands of digits."""
    return html.unescape(_ENDLESS.sub("\N{REPLACEMENT CHARACTER}", text))


_ENDLESS = re.compile(r"&#[0-9]{1000,};?")


def looks_binary(data: bytes) -> bool:
    """Tell whether bytes are not text in any encoding: many NULs or control characters."""
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
    """Yield the bytes of a record file; UTF-16 and UTF-32 with a byte order mark as UTF-8.

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
    """Find the encoding of a file too large for memory, by reading all of it once; no text.

    Damaged gzip data is not an error here: the reader of the records meets it again, after the
    intact ones. Raises ReaderError for binary data.
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
    """Return encoding, text and warnings; unless `final`, the last character may be cut."""
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
    """Return the text, or None if a byte does not fit or no encoding is given."""
    if not encoding:
        return None
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data, final)
    except UnicodeDecodeError:
        return None


SAMPLE_BYTES = 64 * 1024  # of a text for charset-normalizer: more does not make it surer
LONGEST_MARK = 4


def byte_order_mark(data: bytes) -> tuple[str, int]:
    """Return the encoding and the length of the byte order mark, or "" and 0."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    return "", 0


def known(declared: str) -> str:
    """Return Python's name of a declared encoding, or "" if it is unknown or not plain text."""
    try:
        name = codecs.lookup(declared.strip()).name
    except (LookupError, ValueError):
        return ""
    return _LARGER.get(name, name) if _DECLARABLE.fullmatch(name) else ""


def guess(data: bytes) -> str:
    """Ask charset-normalizer, but only where its answer can be trusted.

    For a sentence or two it finds many encodings equally good: Thai, Korean and Chinese for one
    text. Of those, take the one that gives the most usual characters of its script.
    """
    first = next(_HIGH.finditer(data)).start()
    sample = data[max(0, first - _BEFORE) : first + SAMPLE_BYTES]
    runs = [len(run) for run in _HIGH.findall(sample)]
    # Umlauts and accents stand alone between ASCII letters, at most in pairs, as in “größer”.
    if sum(run * run for run in runs) < _SHORTEST_RUN * sum(runs):
        return ""
    from charset_normalizer import from_bytes

    for cut in range(_LONGEST_CHARACTER):  # the sample may end within a character
        matches = from_bytes(sample[: len(sample) - cut], cp_isolation=list(_SCRIPTS))
        candidates = {match.encoding: match for match in matches if match.encoding in _SCRIPTS}
        if candidates:
            ranks = {
                name: (
                    round(_usual_share(str(candidates[name]), name), 1),
                    candidates[name].coherence,
                )
                for name in _SCRIPTS
                if name in candidates
            }
            best = max(ranks, key=lambda name: ranks[name])
            return best if ranks[best][0] >= _USUAL_SHARE else ""
    return ""


def _usual_share(text: str, encoding: str) -> float:
    """Return the share of usual characters among those that are not ASCII."""
    characters = [character for character in text[:_LOOKED_AT] if character > "\x7f"]
    if not characters:
        return 0.0
    script = _SCRIPTS[encoding]
    if isinstance(script, str):
        usual = sum(len(run) for run in re.findall(f"[{script}\\W]+", "".join(characters)))
        # In the wrong Cyrillic encoding, capitals and small letters change places.
        strange = len(_CAPITAL_WITHIN_WORD.findall(text[:_LOOKED_AT]))
        return max(0, usual - 3 * strange) / len(characters)
    pairs = [character.encode(encoding, "replace") for character in characters]
    usual = sum(len(pair) == _PAIR and pair[0] in script for pair in pairs)
    if encoding in _WITHOUT_LOW_TRAIL:
        usual -= sum(len(pair) == _PAIR and pair[0] in script and pair[1] <= _LOW for pair in pairs)
    if encoding in _JAPANESE and not _KANA.search("".join(characters)):
        usual //= 2
    return usual / len(characters)


_MARKS = (
    # The mark of UTF-16 begins that of UTF-32, so the longer ones come first.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARABLE = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp\d+|koi8-[rut]|gb\w+|hz|big5\w*|shift_jis\w*|euc_\w+"
    r"|iso2022_\w+|mac-\w+|johab|tis-620"
)
# What browsers read when a page names the older, smaller set.
_LARGER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# The encodings to guess from, for scripts other than Latin (charset-normalizer takes "café" for
# cp1250), best first where two fit equally. For each, the usual characters: letters of a script, or
# the first bytes of its more frequent characters (kana, Hangul, the first level of ideographs)
# and punctuation.
_SCRIPTS: dict[str, str | frozenset[int]] = {
    "cp1251": "\u0400-\u04ff",
    "koi8_r": "\u0400-\u04ff",
    "cp866": "\u0400-\u04ff",
    "cp1253": "\u0370-\u03ff",
    "cp1255": "\u05d0-\u05ea",
    "cp949": frozenset((0xA1, 0xA3, *range(0xB0, 0xC9))),
    "euc_jp": frozenset((0xA1, 0xA3, 0xA4, 0xA5, *range(0xB0, 0xD0))),
    "cp932": frozenset((0x81, 0x82, 0x83, *range(0x88, 0x99))),
    "gb18030": frozenset((0xA1, 0xA3, *range(0xB0, 0xD8))),
    "big5": frozenset(range(0xA1, 0xC7)),
    "cp1256": "\u0621-\u064a",
    "cp874": "\u0e01-\u0e4e",
}
_JAPANESE = ("euc_jp", "cp932")
_KANA = re.compile(r"[\u3040-\u30ff]")
# In these, a low second byte is an extension for rare characters.
_WITHOUT_LOW_TRAIL = ("cp949", "gb18030")
_LOW = 0xA0
_PAIR = 2
_CAPITAL_WITHIN_WORD = re.compile("[\u03b1-\u03c9\u0430-\u0451][\u0391-\u03a9\u0400-\u042f]")
_USUAL_SHARE = 0.8
_LOOKED_AT = 4000
_HIGH = re.compile(rb"[\x80-\xff]+")
_BEFORE = 1024
_SHORTEST_RUN = 3  # on average, as a character of the text sees it
_LONGEST_CHARACTER = 4
