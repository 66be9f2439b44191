"""DOC (old binary Word), converted with antiword or catdoc."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.archives import open_seekable
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import clean
from lpisearch.readers.streams import NO_TEXT
from lpisearch.readers.text import first_line_title
from lpisearch.records import Document
from lpisearch.settings import MEBIBYTE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem
    from lpisearch.settings import ReadOptions

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CONVERTERS = (("antiword", "-m", "UTF-8.txt", "-w", "0"), ("catdoc", "-d", "utf-8", "-w"))
# Two converters one after the other must not take what a file may take: see `limits`.
_SECONDS = 25
_PROCESSOR_SECONDS = 10
_MEMORY_BYTES = 128 * MEBIBYTE


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document; the second converter is asked where the first fails."""
    del options  # the worker bounds the size of the answer
    found = [each for each in _CONVERTERS if shutil.which(each[0])]
    with open_seekable(source) as stream:
        data = stream.read()
    if not data.startswith(_OLE):
        raise ReaderError("is not a Word DOC file")
    if not found:
        raise ReaderError("is in the old Word format; install antiword or catdoc to read it")
    text = next(filter(None, (_converted(data, command) for command in found)), "")
    if not text:
        raise ReaderError(NO_TEXT)
    yield Document(first_line_title(text) or source.stem, text, media_type="application/msword")


def _converted(data: bytes, command: tuple[str, ...]) -> str:
    """Return what a converter makes of a file, or "" if it fails."""
    with tempfile.TemporaryDirectory(prefix="lpisearch-") as folder:
        path = Path(folder) / "file.doc"
        path.write_bytes(data)
        try:
            done = subprocess.run(  # noqa: S603 (a fixed command, no shell; one thread)
                [*command, str(path)],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=True,
                timeout=_SECONDS,
                env={**os.environ, "HOME": folder},
                preexec_fn=_limit_itself if os.name == "posix" else None,
            )
        except (OSError, subprocess.SubprocessError):
            return ""
    return clean(done.stdout.decode(errors="replace")).replace("\f", "\n").strip()


def _limit_itself() -> None:
    """Bound a converter before it begins: it would outlive a worker that is ended."""
    import resource

    for kind, most in (
        (resource.RLIMIT_CPU, _PROCESSOR_SECONDS),
        (resource.RLIMIT_AS, _MEMORY_BYTES),
    ):
        with suppress(OSError, ValueError):  # macOS refuses some limits
            resource.setrlimit(kind, (most, most))


READER = Reader(
    name="doc",
    suffixes=(".doc", ".dot"),  # RTF and HTML are called so too, and graphs for Graphviz
    read=read,
    owns=lambda head: head.startswith(_OLE),
    isolated=True,
)
