"""Read ZIP archives with limits, for DOCX, ODT and EPUB.

A source file comes in; the bytes of single members go out. Nothing is ever written to disk, so
a member called "../x" does no harm. Each limit holds for the bytes that are really unpacked,
whatever sizes the archive declares.
"""

from __future__ import annotations

import errno
import io
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, BinaryIO, Self

from lpisearch.errors import ReaderError
from lpisearch.readers.streams import EMPTY, refuse_bomb, whole
from lpisearch.settings import MEBIBYTE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from lpisearch.readers.base import SourceFile


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an archive may unpack to.

    Attributes
    ----------
    entries
        Members; an office document or a book has tens to hundreds.
    member_bytes
        One unpacked member; a thousand pages of DOCX take about 10 MiB of XML.
    expanded_bytes
        All members read from one archive, together; also a gzipped file once unpacked.
    """

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
    """A zip archive whose members are read within limits; use it in a `with` statement.

    Parameters
    ----------
    source
        The archive, possibly gzipped.
    limits
        What it may unpack to.

    Raises
    ------
    ReaderError
        The file is no zip archive, is damaged or encrypted, or passes a limit.
    """

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()
        self._stream.close()

    def __contains__(self, name: str) -> bool:
        return name in self._zip.NameToInfo

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
