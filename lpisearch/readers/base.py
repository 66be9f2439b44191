"""The contract of a reader, its limits, joined sections; bytes in chunks and lines, zip archives.

A reader never touches the database, assigns no labels from folders and never stops a run: it
yields what it can read, yields a `Problem` for a record that it cannot read, and raises
`ReaderError` if nothing in the file can be read. Any file at the default options, however it was
made, takes at most 60 s of processor time and 1 GB, reading and storing together.

Damaged gzip and zip data becomes `ReaderError`. Other system errors (a vanished file, no
permission, a failing disk) pass as `OSError`: they may concern more than this file. Members of an
archive are never written to disk, so a member called “../x” is harmless; limits apply to the bytes
actually unpacked, whatever sizes the archive declares.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Protocol, Self, cast

from lpisearch.errors import ReaderError
from lpisearch.files import open_within, read_limits
from lpisearch.messages import Message, Option
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.options import MEBIBYTE, ReadOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


CHUNK_BYTES = 256 * 1024

EXPANSION_RATIO = 200  # unpacked to packed bytes; honest text and XML reach about 30
EXPANSION_FREE_BYTES = 10 * MEBIBYTE  # a small file may pack very well without being an attack

EMPTY = "is empty"
NO_TEXT = "has no text"


@contextmanager
def stated_gzip_damage() -> Iterator[None]:
    """Turn what `gzip` raises for damaged data into a `ReaderError`."""
    try:
        yield
    except EOFError as error:
        raise ReaderError("is damaged: the gzip data is truncated") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ReaderError(f"is damaged: the gzip data is broken ({error})") from error


def chunks(source: SourceFile) -> Iterator[bytes]:
    """Yield the bytes of a source in pieces; before an error, everything intact was yielded."""
    packed_bytes = _size(source) if source.gzipped else 0
    unpacked_bytes = 0
    with stated_gzip_damage(), source.open() as stream:
        # read1, since read would drop the last whole bytes before the damage.
        read = getattr(stream, "read1", stream.read)
        while chunk := read(CHUNK_BYTES):
            if source.gzipped:
                unpacked_bytes += len(chunk)
                refuse_bomb(unpacked_bytes, packed_bytes)
            yield chunk


def _size(source: SourceFile) -> int:
    return source.size if source.data is not None else source.path.stat().st_size


def refuse_bomb(unpacked_bytes: int, packed_bytes: int) -> None:
    """Raise ReaderError for data that unpacks to far more than honest text does."""
    if unpacked_bytes > EXPANSION_FREE_BYTES + EXPANSION_RATIO * packed_bytes:
        raise ReaderError(f"unpacks to more than {EXPANSION_RATIO} times its size (a zip bomb?)")


def whole(source: SourceFile, limit: int) -> bytes:
    """Return all bytes of a source; raises ReaderError if it is empty or over the limit."""
    if not source.gzipped and (size := _size(source)) > limit:
        raise ReaderError(over_limit(limit, size))
    pieces = []
    size = 0
    for chunk in chunks(source):
        size += len(chunk)
        if size > limit:
            raise ReaderError(over_limit(limit, size, "more than "))
        pieces.append(chunk)
    if not size:
        raise ReaderError(EMPTY)
    return b"".join(pieces)


def lines(pieces: Iterable[bytes], limit: int) -> Iterator[tuple[int, bytes | None]]:
    r"""Yield each line with its number from 1, without its b"\n"; None for one over the limit."""
    number = 1
    held: list[bytes] = []
    held_bytes = 0
    for chunk in pieces:
        first, *rest = chunk.split(b"\n")
        held_bytes += len(first)
        if held_bytes <= limit:
            held.append(first)
        else:
            held.clear()
        if not rest:
            continue
        yield number, b"".join(held) if held_bytes <= limit else None
        last = rest.pop()
        for line in rest:
            number += 1
            yield number, line if len(line) <= limit else None
        number += 1
        held, held_bytes = [last], len(last)
    if held_bytes:
        yield number, b"".join(held) if held_bytes <= limit else None


def over_limit(limit: int, size: int | None = None, about: str = "") -> Message:
    """State that a document, or one record of a file, is over the limit."""
    stated = "" if size is None else f"{about}{size / MEBIBYTE:.1f} MiB, "
    return Message(
        f"is {stated}over the limit of {limit / MEBIBYTE:.1f} MiB for one document (raise it with ",
        Option("max_document_bytes"),
        ")",
    )


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an archive may unpack to."""

    entries: int = 10_000
    member_bytes: int = 64 * MEBIBYTE
    expanded_bytes: int = 200 * MEBIBYTE


_LIMITS = ArchiveLimits()
_CHUNK = MEBIBYTE
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_FLAG = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises for damaged data; RuntimeError is its word for what it does not support.
_DAMAGE = (zipfile.BadZipFile, EOFError, zlib.error, struct.error, ValueError, RuntimeError)


class Archive:
    """A zip archive whose members are read within limits; use it in a `with` statement."""

    def __init__(self, source: SourceFile, limits: ArchiveLimits = _LIMITS) -> None:
        self._limits = limits
        self._stream = open_seekable(source, limits.expanded_bytes)
        try:
            self._packed_bytes = self._stream.seek(0, io.SEEK_END)
            self._zip = self._open_zip()
        except BaseException:
            self._stream.close()
            raise
        self._expanded_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._zip.close()
        self._stream.close()

    def __contains__(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def names(self) -> list[str]:
        """Return the names of the members, in their order."""
        return [info.filename for info in self._zip.infolist()]

    def read(self, name: str) -> bytes:
        """Unpack one member; raises ReaderError if it is missing, damaged or too large."""
        try:
            info = self._zip.getinfo(name)
        except KeyError:
            raise ReaderError(f"is damaged: it has no part “{name}”") from None
        if info.flag_bits & _ENCRYPTED_FLAG:
            raise ReaderError("is encrypted")
        # The other methods of zipfile unpack a whole block at once, without a bound.
        if info.compress_type not in _METHODS:
            raise ReaderError(f"compresses its part “{name}” in a way the format does not allow")
        with _stated_damage(f"in its part “{name}”"), self._zip.open(info) as member:
            return self._read_within_limits(member, name)

    def _open_zip(self) -> zipfile.ZipFile:
        self._stream.seek(0)
        # Word and LibreOffice wrap an encrypted DOCX in the container of the old .doc format.
        if self._stream.read(len(_OLE_MAGIC)) == _OLE_MAGIC:
            raise ReaderError("is encrypted, or in the old binary Office format")
        with _stated_damage("not a complete zip archive"):
            archive = zipfile.ZipFile(self._stream)
        if len(archive.infolist()) > self._limits.entries:
            raise ReaderError(f"has more than {self._limits.entries:,} members (a zip bomb?)")
        return archive

    def _read_within_limits(self, member: IO[bytes], name: str) -> bytes:
        chunks = []
        size = 0
        while chunk := member.read(_CHUNK):
            size += len(chunk)
            self._expanded_bytes += len(chunk)
            self._check_limits(size, name)
            chunks.append(chunk)
        return b"".join(chunks)

    def _check_limits(self, member_bytes: int, name: str) -> None:
        if member_bytes > self._limits.member_bytes:
            limit = self._limits.member_bytes // MEBIBYTE
            raise ReaderError(f"unpacks to more than {limit} MiB in “{name}” (a zip bomb?)")
        if self._expanded_bytes > self._limits.expanded_bytes:
            limit = self._limits.expanded_bytes // MEBIBYTE
            raise ReaderError(f"unpacks to more than {limit} MiB (a zip bomb?)")
        refuse_bomb(self._expanded_bytes, self._packed_bytes)


def open_seekable(source: SourceFile, most_bytes: int = _LIMITS.expanded_bytes) -> BinaryIO:
    """Open a source for random access; a gzipped one is unpacked into memory, within a limit."""
    if source.gzipped:
        return io.BytesIO(whole(source, most_bytes))
    stream = source.open()
    if not stream.seek(0, io.SEEK_END):
        stream.close()
        raise ReaderError(EMPTY)
    stream.seek(0)
    return stream


@contextmanager
def _stated_damage(where: str) -> Iterator[None]:
    """Turn what `zipfile` raises for damaged data into a `ReaderError`."""
    try:
        yield
    except _DAMAGE as error:
        raise ReaderError(f"is damaged: {where} ({error or type(error).__name__})") from error
    except OSError as error:
        # A false offset makes a seek invalid; any other error is the system's own.
        if error.errno == errno.EINVAL:
            raise ReaderError(f"is damaged: {where}") from error
        raise


HEAD_BYTES = 8192


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read, unpacked on the fly if it is gzipped.

    Attributes
    ----------
    path
        The file on disk.
    name
        The name that determines the format: without ".gz", or the name given to standard input.
    gzipped
        Whether the bytes begin with the gzip magic number.
    data
        The bytes of a file inside another, which is not on disk; None for one that is.
    depth
        How many files are around it.
    within
        The folders outside of which it is not opened; () allows all.
    page
        The number of the only page that is wanted; 0 for all of it.
    start
        The first bytes on disk, if the file was opened to look at them.
    """

    path: Path
    name: str
    gzipped: bool = False
    data: bytes | None = field(default=None, repr=False)
    depth: int = 0
    within: Sequence[str] = ()
    page: int = 0
    start: bytes = field(default=b"", repr=False, compare=False)
    _opened: list[BinaryIO] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def at(cls, path: Path, name: str = "", page: int = 0) -> SourceFile:
        """Look at the first bytes of a file; raises OSError if it cannot be opened."""
        within = read_limits().within
        with open_within(path, within) as stream:
            start = stream.read(HEAD_BYTES)
        shown = name or path.name
        named = PurePath(shown).stem if shown.lower().endswith(".gz") else shown
        gzipped = start.startswith(b"\x1f\x8b")
        return cls(path, named, gzipped, within=within, page=page, start=start)

    @classmethod
    def inside(cls, outer: SourceFile, data: bytes, name: str) -> SourceFile:
        """Return a file inside another, from its bytes."""
        gzipped = data.startswith(b"\x1f\x8b")
        shown = PurePath(name).stem if name.lower().endswith(".gz") else name
        return cls(outer.path, shown, gzipped, data, outer.depth + 1)

    @property
    def size(self) -> int:
        """Bytes of the file on disk, or inside another; 0 if it no longer exists."""
        if self.data is not None:
            return len(self.data)
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    @property
    def suffix(self) -> str:
        """The suffix in lower case, such as ".md"."""
        return os.path.splitext(self.name)[1].lower().removesuffix(".")  # noqa: PTH122 (in a tenth of the time)

    @property
    def stem(self) -> str:
        """The name without its suffix: the title of a document without another."""
        return PurePath(self.name).stem

    def open(self) -> BinaryIO:
        """Open the (unpacked) bytes for reading."""
        if self.data is not None:
            inner = io.BytesIO(self.data)
            return cast("BinaryIO", gzip.open(inner) if self.gzipped else inner)
        plain: Any = open_within(self.path, self.within)
        if self.gzipped:
            packed = gzip.GzipFile(fileobj=plain)
            packed.myfileobj = plain  # closed with it
            plain = packed
        self._opened[:] = [plain]
        return self._opened[0]

    def consumed(self) -> int:
        """Return how many bytes of the file have been read so far, for a progress bar."""
        for stream in self._opened:
            raw = getattr(stream, "fileobj", stream)
            if raw is not None and not raw.closed:
                return int(raw.tell())
        return 0

    def head(self) -> bytes:
        """Return the first few kilobytes, for sniffing."""
        if self.start and not self.gzipped:
            return self.start
        with self.open() as stream:
            return stream.read(HEAD_BYTES)


class ReadFunction(Protocol):
    """The function of a reader."""

    def __call__(self, source: SourceFile, options: ReadOptions, /) -> Iterator[Document | Problem]:
        """Yield the documents of the file, and a problem for each unreadable record."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One format.

    Attributes
    ----------
    name
        The value of `--format`.
    suffixes
        File name endings in lower case, with the dot.
    read
        Yields the documents.
    sniff
        Tells from the first bytes whether a file of unknown or ambiguous name has this format;
        None for a format recognised by name only.
    owns
        Tells from the first bytes whether a file with one of the suffixes has this format, if other
        formats share the suffix; None otherwise.
    isolated
        Whether the extractor may crash, hang or take much memory, however small the file: it then
        runs in a worker process with limits on time and memory. Large and gzipped files of any
        format do.
    many
        Whether one file contains many documents; those without an id become `path#1`, `path#2`, …
    contains
        Whether it reads files inside the file, of any format.
    """

    name: str
    suffixes: tuple[str, ...]
    read: ReadFunction
    sniff: Callable[[bytes], bool] | None = None
    owns: Callable[[bytes], bool] | None = None
    isolated: bool = False
    many: bool = False
    contains: bool = False


READING_SECONDS = 30.0  # processor time to read a small file
STORING_SECONDS = 10.0  # beyond that, to tokenise and store it
SECONDS_FOR_EACH_MEBIBYTE = 10.0  # more per MiB on disk: a hundred times what an honest file needs
SILENT_SECONDS = 60.0  # without an answer of a reader, whether it computes or waits
MEMORY_BYTES = 768 * MEBIBYTE  # address space of one worker
USUAL_DOCUMENT_BYTES = ReadOptions().max_document_bytes
IN_PROCESS_BYTES = MEBIBYTE  # a plain file of a simple format up to this size needs no worker
MOST_REMARKS = 1000  # warnings of one file; the next one says that there are more
MOST_PROBLEMS = 10_000  # unreadable records that end a file, unless more can be read
# Of one document, or pairs of characters: FTS5 holds them all in memory, 200 bytes each. The
# complete works of an author have 30,000.
MOST_DIFFERENT_WORDS = 1_500_000


def reading_seconds(file_bytes: int, base: float = READING_SECONDS) -> float:
    """Return the processor time that a reader may take for a file of this size."""
    return base + SECONDS_FOR_EACH_MEBIBYTE * (file_bytes // MEBIBYTE)


def total_seconds(file_bytes: int) -> float:
    """Return the processor time that reading and storing a file may take together."""
    return reading_seconds(file_bytes) + STORING_SECONDS


def memory_bytes(options: ReadOptions) -> int:
    """Return the address space of a worker: more if documents may be larger."""
    return max(MEMORY_BYTES, MEMORY_BYTES * options.max_document_bytes // USUAL_DOCUMENT_BYTES)


_BLOCK, _ASCII = 1_000_000, 128
_WORD = re.compile(r"[^\s!-/:-@\[-`{-~]+")


def within_budget(
    items: Iterable[Document | Problem], reader: Reader, options: ReadOptions
) -> Iterator[Document | Problem]:
    """Pass on what a reader yields; a document that is too large becomes a problem."""
    documents = problems = remarks = 0
    for item in items:
        if isinstance(item, Problem):
            problems += not item.warning
            remarks += item.warning
            if not item.warning or remarks < MOST_REMARKS:
                yield item
            elif remarks == MOST_REMARKS:
                yield Problem("further warnings are not shown", warning=True)
            if problems > MOST_PROBLEMS and problems > documents:
                location = f"at {item.where}" if item.where else "half-way"
                raise ReaderError(f"gave up {location}: {problems:,} records could not be read")
            continue
        documents += 1
        reason = _refusal(item, options)
        if not reason:
            yield item
            continue
        if not reader.many:
            raise ReaderError(reason)
        yield Problem(reason, f"document {documents}")


def _refusal(document: Document, options: ReadOptions) -> str:
    """Return why a document is too large to store, or ""."""
    size = document_bytes(document)
    if size > options.max_document_bytes:
        return over_limit(options.max_document_bytes, size)
    if len(document.text) > MOST_DIFFERENT_WORDS and has_too_many_words(document.text):
        return f"has more than {MOST_DIFFERENT_WORDS:,} different words, so it is probably not text"
    return ""


def has_too_many_words(text: str, most: int = MOST_DIFFERENT_WORDS) -> bool:
    """Tell whether a text has more different words, or pairs of characters, than a limit."""
    words: set[str] = set()
    pairs: set[str] = set()
    others = len(text) - len(text.encode("ascii", "ignore"))
    only_words = not others or 2 * others + _ASCII**2 <= most  # so many pairs there can be
    for start in range(0, len(text), _BLOCK):
        block = text[start : start + _BLOCK]
        words.update(_WORD.findall(block))
        if not only_words:
            pairs.update(map(add, block, block[1:]))
        if max(len(words), len(pairs)) > most:
            return True
    return False


def document_bytes(document: Document) -> int:
    """Return the size of a document as UTF-8, with its metadata."""
    size = _utf8_bytes(document.title) + _utf8_bytes(document.text)
    if document.metadata:
        size += len(json.dumps(document.metadata, ensure_ascii=False))
    return size


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_BETWEEN = "\n\n"


def join_sections(parts: Iterable[tuple[str, str, str]]) -> tuple[str, tuple[Section, ...]]:
    """Join (kind, name, text) parts by blank lines; return where each that is not empty begins."""
    texts, sections, start = [], [], 0
    for kind, name, text in parts:
        if text:
            texts.append(text)
            sections.append(Section(start, kind, name))
            start += len(text) + len(_BETWEEN)
    return _BETWEEN.join(texts), tuple(sections)


def line_sections(
    lines: Sequence[str],
    headings: Iterable[tuple[int, str]],
    *,
    between: str = "\n",
    skipped: int = 0,
) -> tuple[Section, ...]:
    """Return the sections of a text joined from lines or blocks.

    Headings are (number of the line from 0, name), in order; `skipped` is the number of
    characters stripped from the beginning of the joined text.
    """
    ends = list(accumulate((len(line) + len(between) for line in lines), initial=0))
    return tuple(
        Section(max(ends[number] - skipped, 0), "heading", name)
        for number, name in headings
        if name
    )
