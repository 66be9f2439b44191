"""Archives (zip, tar), and the files inside other files.

A file inside another is read by the reader of its own format, from memory: nothing is written to
disk, and its name is data, the end of an id. Each archive has the limits of `ArchiveLimits`; an
archive in an archive is read, deeper ones are not.
"""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zlib
from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING, cast

from lpisearch.errors import ReaderError
from lpisearch.model.documents import PART, Document, Problem
from lpisearch.readers.base import (
    NO_TEXT,
    Archive,
    ArchiveLimits,
    Reader,
    SourceFile,
    open_seekable,
    refuse_bomb,
    within_budget,
)
from lpisearch.readers.encoding import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lpisearch.options import ReadOptions


DEEPEST = 2  # archives and mail within each other
_LIMITS = ArchiveLimits()
_LONGEST_NAME = 400
_DAMAGE = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError, OSError)


def read_zip(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the documents of all members."""
    with Archive(source) as archive:
        members = ((name, partial(archive.read, name)) for name in archive.names())
        yield from _of_members(members, source, options)


def read_tar(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the documents of all members, in one pass; links and devices are omitted."""
    with open_seekable(source) as packed:
        stream = _Bounded(_unpacked(packed), source.size)
        try:
            with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as archive:
                members = ((one.name, _content(archive, one)) for one in archive if one.isreg())
                yield from _of_members(members, source, options)
        except _DAMAGE as error:
            raise ReaderError(f"is damaged, or not a tar archive ({error})") from error


def documents_inside(
    data: bytes, part: str, outer: SourceFile, options: ReadOptions
) -> Iterator[Document | Problem]:
    """Yield the documents of a file inside another; none if its format is unknown.

    `part` ends the id of its documents: "/report.pdf". A problem names it.
    """
    from lpisearch.readers.registry import reader_for

    name = part.rsplit("/", 1)[-1]
    source = SourceFile.inside(outer, data, name)
    shown = part.lstrip("/")
    position = 0
    options = replace(options, format="auto")
    try:
        reader = reader_for(source, options) if data else None
        if reader is None:
            return
        if source.depth > DEEPEST and reader.contains:
            yield Problem("is in too many archives or messages to be read", shown, warning=True)
            return
        for item in within_budget(reader.read(source, options), reader, options):
            if isinstance(item, Problem):
                yield replace(item, where=", ".join(filter(None, (shown, item.where))))
                continue
            position += 1
            yield _renamed(item, part, position if reader.many else 0)
    except (MemoryError, OSError):
        raise
    except ReaderError as error:
        yield Problem(error.what, shown)
    except Exception as error:  # noqa: BLE001 (a defect of one reader must not cost the others)
        yield Problem(f"cannot be read ({type(error).__name__}: {error})", shown)


def part_name(name: str) -> str:
    """Return the name of a member as a part of an id: relative, without steps upwards."""
    steps = clean(name).replace("\\", "/").split("/")
    kept = "/".join(step for step in steps if step not in {"", ".", ".."})
    return "/" + "".join(one if one.isprintable() else "_" for one in kept[:_LONGEST_NAME])


def _renamed(document: Document, part: str, position: int) -> Document:
    inner = str(document.metadata.get(PART, ""))
    if not inner and document.id is not None:
        inner = f":{document.id}"
    elif not inner and position:
        inner = f"#{position}"
    return replace(document, id=None, metadata={**document.metadata, PART: part + inner})


def _of_members(
    members: Iterable[tuple[str, Callable[[], bytes]]], source: SourceFile, options: ReadOptions
) -> Iterator[Document | Problem]:
    """Yield the documents of members that are not hidden."""
    taken: set[str] = set()
    some = False
    for number, (name, content) in enumerate(members, start=1):
        if number > _LIMITS.entries:
            raise ReaderError(f"has more than {_LIMITS.entries:,} members (a zip bomb?)")
        part = part_name(name)
        if name.endswith("/") or part == "/" or _is_hidden(part):
            continue
        if part in taken:
            part = f"{part} ({number})"
        taken.add(part)
        try:
            data = content()
        except ReaderError as error:
            yield Problem(error.what, part[1:])
            continue
        for item in documents_inside(data, part, source, options):
            some = True
            yield item
    if not some:
        raise ReaderError(NO_TEXT)


def _is_hidden(part: str) -> bool:
    return any(step.startswith(".") or step == "__MACOSX" for step in part.split("/"))


def _unpacked(stream: IO[bytes]) -> IO[bytes]:
    """Return the stream that a compressed one unpacks to."""
    magic = stream.read(6)
    stream.seek(0)
    if magic.startswith(b"BZh"):
        return bz2.open(stream)
    if magic.startswith(b"\xfd7zXZ\0"):
        return lzma.open(stream)
    return stream


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        if member.size > _LIMITS.member_bytes:
            limit = _LIMITS.member_bytes >> 20
            raise ReaderError(f"is more than {limit} MiB (a zip bomb?)")
        stream = archive.extractfile(member)
        return stream.read() if stream is not None else b""

    return read


class _Bounded(io.RawIOBase):
    """A stream that refuses to unpack to more than an archive may."""

    def __init__(self, stream: IO[bytes], packed_bytes: int) -> None:
        self._stream, self._packed_bytes, self._read = stream, packed_bytes, 0

    def read(self, size: int = -1) -> bytes:
        """Read bytes; raises ReaderError beyond a limit."""
        data = self._stream.read(min(size, _LIMITS.member_bytes) if size >= 0 else -1)
        self._read += len(data)
        if self._read > _LIMITS.expanded_bytes:
            limit = _LIMITS.expanded_bytes >> 20
            raise ReaderError(f"unpacks to more than {limit} MiB (a zip bomb?)")
        refuse_bomb(self._read, self._packed_bytes)
        return data


ZIP_READER = Reader("zip", (".zip",), read_zip, isolated=True, many=True, contains=True)
TAR_READER = Reader(
    "tar",
    (".tar", ".tgz", ".tbz2", ".txz", ".tar.bz2", ".tar.xz"),
    read_tar,
    isolated=True,
    many=True,
    contains=True,
)
