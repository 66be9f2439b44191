"""Bytes in chunks and lines; zip archives.

Damaged gzip and zip data becomes `ReaderError`. Other system errors (a vanished file, no
permission, a failing disk) pass as `OSError`: they may concern more than this file. Members of an
archive are never written to disk, so a member called “../x” is harmless; limits apply to the bytes
actually unpacked, whatever sizes the archive declares.
"""

from __future__ import annotations

import errno
import gzip
import io
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, BinaryIO, Self

from lpisearch.errors import ReaderError
from lpisearch.messages import Message, Option
from lpisearch.options import MEBIBYTE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lpisearch.readers.base import SourceFile


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
