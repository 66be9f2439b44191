"""Reader interface: the bytes of one file in, documents and problems out.

A reader is one module with one constant `READER`. It never touches the database, never decides
on labels from folders, never stops a run: it yields what it can, yields a `Problem` for a record
it cannot read, and raises `ReaderError` when the whole file is of no use.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lpisearch.records import Document, Problem
    from lpisearch.settings import ReadOptions

HEAD_BYTES = 8192


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read, unpacked on the way if it is gzipped.

    Attributes
    ----------
    path
        Where the bytes are.
    name
        The name that tells the format: without ".gz", or the name given to standard input.
    gzipped
        Whether the bytes begin with the gzip magic.
    """

    path: Path
    name: str
    gzipped: bool = False
    _opened: list[BinaryIO] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def at(cls, path: Path, name: str = "") -> SourceFile:
        """Look at the first bytes of a file; raises OSError if it cannot be opened."""
        with path.open("rb") as stream:
            gzipped = stream.read(2) == b"\x1f\x8b"
        shown = name or path.name
        return cls(path, PurePath(shown).stem if shown.lower().endswith(".gz") else shown, gzipped)

    @property
    def size(self) -> int:
        """Bytes of the file as it lies on disk; 0 if it is gone."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    @property
    def suffix(self) -> str:
        """The suffix in lower case, such as ".md"."""
        return PurePath(self.name).suffix.lower()

    @property
    def stem(self) -> str:
        """The name without its suffix: the title of a document that has no other."""
        return PurePath(self.name).stem

    def open(self) -> BinaryIO:
        """Open the (unpacked) bytes for reading."""
        opener = gzip.open if self.gzipped else open
        self._opened[:] = [cast("BinaryIO", opener(self.path, "rb"))]
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
        with self.open() as stream:
            return stream.read(HEAD_BYTES)


class ReadFunction(Protocol):
    """What a reader does with a file."""

    def __call__(self, source: SourceFile, options: ReadOptions, /) -> Iterator[Document | Problem]:
        """Yield the documents of the file, and a problem for each record that has none."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One format.

    Attributes
    ----------
    name
        What `--format` calls it.
    suffixes
        File name endings in lower case, the dot included.
    read
        Yields the documents.
    sniff
        Tells from the first bytes whether a file of unknown or ambiguous name is of this
        format; None for a format that is told by name alone.
    owns
        Tells from the first bytes whether a file with one of the suffixes is of this format, where
        other formats have the suffix too; None for a format that has its suffixes alone.
    isolated
        True when the extractor may crash, hang or swell, however small the file: it then runs
        in a worker process with limits on time and memory. Large and gzipped files of any
        format do.
    many
        True when one file holds many documents; those without an id of their own are then
        called `path#1`, `path#2`, …
    """

    name: str
    suffixes: tuple[str, ...]
    read: ReadFunction
    sniff: Callable[[bytes], bool] | None = None
    owns: Callable[[bytes], bool] | None = None
    isolated: bool = False
    many: bool = False
