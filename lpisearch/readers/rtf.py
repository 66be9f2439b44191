"""RTF."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.readers.base import Reader, SourceFile
from lpisearch.readers.encoding import clean
from lpisearch.readers.streams import NO_TEXT, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.options import ReadOptions


_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?[0-9]{1,10})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z])|([{}])"
    rb"|([^\\{}\r\n]{1,4096})"
)
_SKIPPED = {
    b"fonttbl", b"colortbl", b"stylesheet", b"listtable", b"listoverridetable", b"rsidtbl",
    b"generator", b"header", b"headerl", b"headerr", b"headerf", b"footer", b"footerl", b"footerr",
    b"footerf", b"pict", b"object", b"fldinst", b"themedata", b"colorschememapping", b"datastore",
    b"latentstyles", b"xmlnstbl", b"info", b"nonshppict", b"bkmkstart", b"bkmkend", b"revtbl",
}  # fmt: skip
_STATED = {b"title", b"author", b"subject", b"keywords"}
_CHARACTERS = {
    b"par": "\n", b"sect": "\n", b"page": "\n", b"line": "\n", b"row": "\n", b"tab": "\t",
    b"cell": "\t", b"emdash": "—", b"endash": "–", b"bullet": "•", b"emspace": " ", b"enspace": " ",
    b"lquote": "\u2018", b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”",
}  # fmt: skip
_SIGNS = {b"~": " ", b"_": "-", b"\n": "\n", b"\r": "\n", b"\\": "\\", b"{": "{", b"}": "}"}
_BLANK_LINES = re.compile(r"\n{3,}")
_DEEPEST = 10_000


def read_rtf(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document."""
    data = whole(source, options.max_document_bytes)
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ReaderError("is not an RTF file")
    rtf = _Rtf(data)
    text = _BLANK_LINES.sub("\n\n", _joined(rtf.text)).strip()
    if not text:
        raise ReaderError(NO_TEXT)
    stated = {name: " ".join(_joined(pieces).split()) for name, pieces in rtf.stated.items()}
    title = stated.pop("title", "")
    yield Document(
        title or source.stem,
        text,
        media_type="application/rtf",
        metadata={name: value for name, value in stated.items() if value},
    )


class _Rtf:
    """One pass over the tokens of a file: pieces of its text, and of title, author and the like."""

    def __init__(self, data: bytes) -> None:
        self.text: list[str] = []
        self.stated: dict[str, list[str]] = {}
        # The target of the text of a group, if any, and the bytes that repeat each \u.
        self._groups: list[tuple[list[str] | None, int]] = []
        self._target: list[str] | None = self.text
        self._stand_ins = 1
        self._skip = 0
        self._optional = False
        self._code_page = "cp1252"
        for token in _TOKEN.finditer(data):
            self._take(token)

    def _take(self, token: re.Match[bytes]) -> None:
        word, number, code, sign, brace, text = token.groups()
        if brace == b"{":
            if len(self._groups) > _DEEPEST:
                raise ReaderError("is nested too deeply")
            self._groups.append((self._target, self._stand_ins))
        elif brace == b"}":
            if self._groups:
                self._target, self._stand_ins = self._groups.pop()
        elif word is not None:
            self._word(word, int(number) if number else None)
        elif code is not None:
            self._bytes(bytes.fromhex(code.decode()))
        elif sign == b"*":
            self._optional = True
        elif sign is not None:
            self._add(_SIGNS.get(sign, ""))
        else:
            self._bytes(text)

    def _word(self, word: bytes, number: int | None) -> None:
        if self._optional or word in _SKIPPED:
            # An optional group is one that a reader may leave out, unless it knows better.
            self._optional = False
            self._target = None
        if word in _STATED:
            self._target = self.stated.setdefault(word.decode(), [])
        elif word == b"ansicpg" and number is not None:
            self._code_page = _known_code_page(number)
        elif word == b"uc":
            self._stand_ins = max(0, min(number or 0, 16))
        elif word == b"u" and number is not None:
            self._add(chr(number % 0x10000))
            self._skip = self._stand_ins
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])

    def _bytes(self, data: bytes) -> None:
        """Add bytes of the code page, except those that replace a preceding Unicode character."""
        dropped = min(self._skip, len(data))
        self._skip -= dropped
        self._add(data[dropped:].decode(self._code_page, "replace"))

    def _add(self, text: str) -> None:
        if self._target is not None and text:
            self._target.append(text)


def _joined(pieces: list[str]) -> str:
    """Join pieces; the halves of a surrogate pair become one character."""
    return clean("".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _known_code_page(number: int) -> str:
    try:
        "".encode(f"cp{number}")
    except LookupError:
        return "cp1252"
    return f"cp{number}"


RTF_READER = Reader(
    name="rtf",
    suffixes=(".rtf",),
    read=read_rtf,
    sniff=lambda head: head.startswith(b"{\\rtf"),
    isolated=True,
)
