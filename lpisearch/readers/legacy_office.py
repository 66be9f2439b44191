"""The older formats of office programs: RTF, and compound files, which are DOC, XLS, PPT, MSG.

DOC and PPT are read by a converter that is installed (antiword, catdoc, catppt), XLS by xlrd or
xls2csv, messages of Outlook by olefile; xlrd and olefile come with `lpisearch[office]`.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers.archives import documents_inside, part_name
from lpisearch.readers.base import NO_TEXT, Reader, SourceFile, join_sections, open_seekable, whole
from lpisearch.readers.encoding import clean
from lpisearch.readers.plaintext import first_line_title

if TYPE_CHECKING:
    from collections.abc import Iterator


_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DOC = (("antiword", "-m", "UTF-8.txt", "-w", "0"), ("catdoc", "-d", "utf-8", "-w"))
_PPT = (("catppt", "-d", "utf-8"),)
_XLS = (("xls2csv", "-d", "utf-8", "-q", "0", "-c", "\t"),)
# Two converters one after the other must not take what a file may take: see `limits`.
_SECONDS = 25
_PROCESSOR_SECONDS = 10
_MEMORY_BYTES = 128 * MEBIBYTE


def read_doc(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document; the second converter runs if the first fails."""
    del options  # the worker bounds the size of the answer
    data = _data(source, "a Word DOC file")
    text = _by_converter(data, _DOC, "is in the old Word format; install antiword or catdoc")
    yield Document(first_line_title(text) or source.stem, text, media_type="application/msword")


def read_ppt(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document, by catppt."""
    del options
    data = _data(source, "a PowerPoint PPT file")
    text = _by_converter(data, _PPT, "is in the old PowerPoint format; install catdoc")
    title = first_line_title(text) or source.stem
    yield Document(title, text, media_type="application/vnd.ms-powerpoint")


def read_xls(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document: one row a line, a section for each sheet."""
    del options
    data = _data(source, "an Excel XLS file")
    sections: tuple[Section, ...] = ()
    if importlib.util.find_spec("xlrd"):
        text, sections = join_sections(_sheets(data))
    else:
        missing = "is in the old Excel format; install lpisearch[office], or catdoc,"
        text = _by_converter(data, _XLS, missing)
    if not text:
        raise ReaderError(NO_TEXT)
    yield Document(source.stem, text, media_type="application/vnd.ms-excel", sections=sections)


def _sheets(data: bytes) -> Iterator[tuple[str, str, str]]:
    import xlrd

    try:
        book = xlrd.open_workbook(file_contents=data, logfile=io.StringIO())
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError) as error:
        reason = str(error)
        raise ReaderError(
            "is encrypted" if "encrypted" in reason else f"is damaged: {reason}"
        ) from error
    for sheet in book.sheets():
        rows = (
            "\t".join(filter(None, (_cell(cell, book.datemode) for cell in sheet.row(number))))
            for number in range(sheet.nrows)
        )
        yield "sheet", clean(sheet.name), "\n".join(filter(None, rows))


def _cell(cell: Any, datemode: int) -> str:
    """Return a value as it is read: dates as dates, whole numbers without a point."""
    import xlrd

    if cell.ctype == xlrd.XL_CELL_DATE:
        with suppress(xlrd.XLDateError, ValueError, OverflowError):
            date = xlrd.xldate_as_datetime(cell.value, datemode)
            return str(date.date() if date.time() == datetime.min.time() else date)
    if cell.ctype == xlrd.XL_CELL_NUMBER and cell.value == int(cell.value):
        return str(int(cell.value))
    if cell.ctype in {xlrd.XL_CELL_ERROR, xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK}:
        return ""
    return " ".join(clean(str(cell.value)).split())


_SUBJECT, _BODY, _HTML, _TO, _CC, _SENDER, _ADDRESS, _MESSAGE_ID = (
    "0037", "1000", "1013", "0E04", "0E03", "0C1A", "5D01", "1035",
)  # fmt: skip
_LONG_NAME, _SHORT_NAME, _CONTENT = "3707", "3704", "3701"
_TIMES = (0x00390040, 0x0E060040)  # submitted, delivered
_MOST_ATTACHED = 100
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def read_msg(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield a message of Outlook, then the documents attached to it."""
    data = _data(source, "an Outlook message")
    if not importlib.util.find_spec("olefile"):
        raise ReaderError("is an Outlook message; install lpisearch[office] to read it")
    message = _Message(data)
    subject, text = message.text(_SUBJECT), message.text(_BODY).strip()
    if not text and (html := message.stream(f"__substg1.0_{_HTML}0102")):
        from lpisearch.readers.html import page_of

        text = page_of(html).text
    if not subject and not text:
        raise ReaderError(NO_TEXT)
    attached = list(message.attached())[:_MOST_ATTACHED]
    sender = f"{message.text(_SENDER)} <{message.text(_ADDRESS)}>".replace("<>", "").strip()
    facts = {
        "from": sender,
        "to": message.text(_TO),
        "cc": message.text(_CC),
        "message_id": message.text(_MESSAGE_ID),
        "attachments": [name for name, _ in attached],
    }
    yield Document(
        subject or source.stem,
        text,
        date=message.date(),
        media_type="application/vnd.ms-outlook",
        metadata={name: value for name, value in facts.items() if value},
    )
    for name, content in attached:
        part = part_name(name.replace("/", "_"))
        for item in documents_inside(content, part, source, options):
            if isinstance(item, Problem):
                yield Problem(item.reason, item.where, warning=True)
            else:
                yield item


class _Message:
    """The properties of a message of Outlook."""

    def __init__(self, data: bytes) -> None:
        import olefile

        try:
            self._file = olefile.OleFileIO(io.BytesIO(data))
        except (OSError, ValueError, IndexError, struct.error) as error:
            raise ReaderError(f"is damaged ({error})") from error

    def text(self, number: str, folder: str = "") -> str:
        """Return a property, as Unicode or in the code page of Western Europe."""
        name = f"{folder}__substg1.0_{number}"
        wide, narrow = self.stream(f"{name}001F"), self.stream(f"{name}001E")
        text = wide.decode("utf-16-le", "replace") if wide else narrow.decode("cp1252", "replace")
        return clean(text).strip()

    def stream(self, name: str) -> bytes:
        """Return a stream, b"" if there is none."""
        try:
            data: bytes = self._file.openstream(name).read() if self._file.exists(name) else b""
        except (OSError, ValueError, IndexError, struct.error):
            return b""
        return data

    def date(self) -> str:
        """Return when it was sent or delivered, in ISO 8601."""
        properties = self.stream("__properties_version1.0")
        entries = (properties[at : at + 16] for at in range(32, len(properties) - 15, 16))
        known = {tag: value for tag, _, value in (struct.unpack("<IIQ", one) for one in entries)}
        ticks = next((known[tag] for tag in _TIMES if known.get(tag)), 0)
        with suppress(OverflowError):
            return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat() if ticks else ""
        return ""

    def attached(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and bytes of each attached file."""
        folders = {path[0] for path in self._file.listdir() if path[0].startswith("__attach")}
        for folder in sorted(folders):
            place = f"{folder}/"
            name = self.text(_LONG_NAME, place) or self.text(_SHORT_NAME, place)
            if name:
                yield name, self.stream(f"{place}__substg1.0_{_CONTENT}0102")


def _data(source: SourceFile, what: str) -> bytes:
    """Return the bytes of a compound file."""
    with open_seekable(source) as stream:
        data = stream.read()
    if not data.startswith(_OLE):
        raise ReaderError(f"is not {what}")
    return data


def _by_converter(data: bytes, commands: tuple[tuple[str, ...], ...], missing: str) -> str:
    """Return the text of a file by the first converter that reads it."""
    converters = [command for command in commands if shutil.which(command[0])]
    if not converters:
        raise ReaderError(f"{missing} to read it")
    text = next(filter(None, (_converted(data, command) for command in converters)), "")
    if not text:
        raise ReaderError(NO_TEXT)
    return text


def _converted(data: bytes, command: tuple[str, ...]) -> str:
    """Return the text of a file by a converter, or "" if it fails."""
    with _named(data) as (path, descriptors):
        try:
            done = subprocess.run(  # noqa: S603 (a fixed command, no shell; one thread)
                [*command, path],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=True,
                timeout=_SECONDS,
                env={**os.environ, "HOME": str(Path(path).parent)},
                pass_fds=descriptors,
                preexec_fn=_limit_itself if os.name == "posix" else None,
            )
        except (OSError, subprocess.SubprocessError):
            return ""
    return clean(done.stdout.decode(errors="replace")).replace("\f", "\n").strip()


@contextmanager
def _named(data: bytes) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield a path of some bytes, and the descriptors that a process needs to open it.

    In memory where the system can name that: a worker writes no files.
    """
    if sys.platform == "linux" and Path("/proc/self/fd").is_dir():
        with os.fdopen(os.memfd_create("file"), "wb") as stream:
            stream.write(data)
            stream.flush()
            yield f"/proc/self/fd/{stream.fileno()}", (stream.fileno(),)
        return
    with tempfile.TemporaryDirectory(prefix="lpisearch-") as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        yield str(path), ()


def _limit_itself() -> None:
    """Limit a converter before it starts: it would outlive a worker that is ended."""
    import resource

    for kind, most in (
        (resource.RLIMIT_CPU, _PROCESSOR_SECONDS),
        (resource.RLIMIT_AS, _MEMORY_BYTES),
    ):
        with suppress(OSError, ValueError):  # macOS refuses some limits
            resource.setrlimit(kind, (most, most))


def _begins(head: bytes) -> bool:
    return head.startswith(_OLE)


# RTF and HTML are called .doc too, and graphs for Graphviz .dot; a .msg may be any text.
DOC_READER = Reader("doc", (".doc", ".dot"), read_doc, owns=_begins, isolated=True)
PPT_READER = Reader("ppt", (".ppt", ".pps"), read_ppt, owns=_begins, isolated=True)
XLS_READER = Reader("xls", (".xls", ".xlt"), read_xls, owns=_begins, isolated=True)
MSG_READER = Reader("msg", (".msg",), read_msg, owns=_begins, isolated=True, contains=True)


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
