"""Bytes of a source within limits: whole, in chunks or line by line.

A source file comes in; bytes go out, unpacked, with a damaged gzip told in plain words.
Everything else that the system reports (a vanished file, no permission, a failing disk) passes
as `OSError`: that is for the workflow to judge, since it may concern more than this one file.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.messages import Message, Option
from lpisearch.settings import MEBIBYTE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lpisearch.readers.base import SourceFile

CHUNK_BYTES = 256 * 1024

EXPANSION_RATIO = 200
"""Unpacked to packed bytes, of gzip and of zip. Honest text and XML reach about 30."""

EXPANSION_FREE_BYTES = 10 * MEBIBYTE
"""Not counted: a small file may pack very well without being an attack."""

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
    """Yield the bytes of a source piece by piece.

    Raises
    ------
    ReaderError
        The gzip data is damaged, or unpacks to too much; everything before was yielded.
    OSError
        The file cannot be read.
    """
    packed_bytes = source.path.stat().st_size if source.gzipped else 0
    unpacked_bytes = 0
    with stated_gzip_damage(), source.open() as stream:
        # read1, since read would drop the last whole bytes before the damage.
        read = getattr(stream, "read1", stream.read)
        while chunk := read(CHUNK_BYTES):
            if source.gzipped:
                unpacked_bytes += len(chunk)
                refuse_bomb(unpacked_bytes, packed_bytes)
            yield chunk


def refuse_bomb(unpacked_bytes: int, packed_bytes: int) -> None:
    """Raise ReaderError for what unpacks to far more than honest text does."""
    if unpacked_bytes > EXPANSION_FREE_BYTES + EXPANSION_RATIO * packed_bytes:
        raise ReaderError(f"unpacks to more than {EXPANSION_RATIO} times its size (a zip bomb?)")


def whole(source: SourceFile, limit: int) -> bytes:
    """Return all bytes of a source that holds one document.

    Raises
    ------
    ReaderError
        There is nothing, or more than `limit` bytes (which are then not kept in memory), or
        the gzip data is damaged.
    OSError
        The file cannot be read.
    """
    if not source.gzipped and (size := source.path.stat().st_size) > limit:
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
    r"""Yield each line with its number from 1, without its b"\n".

    A line longer than `limit` yields None in its place and is never held in memory.
    """
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
    """Say that a document, or one record of a file, is over the limit."""
    stated = "" if size is None else f"{about}{size / MEBIBYTE:.1f} MiB, "
    return Message(
        f"is {stated}over the limit of {limit / MEBIBYTE:.1f} MiB for one document (raise it with ",
        Option("max_document_bytes"),
        ")",
    )
